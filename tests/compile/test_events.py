"""What the compiler makes of the kernel for packed frames for sm_90, read from SASS: no GPU is
needed."""

from collections import Counter
from pathlib import Path

import pytest
import torch

triton = pytest.importorskip("triton")

import triton.language as tl
from support import sass
from support.slow import representatives

from snnbench.kernels.events import PackedFrames
from snnbench.kernels.events.storage import TILE, BatchDelivery
from snnbench.kernels.events.triton import launch as events_launch

pytestmark = [
    pytest.mark.skipif(sass.tool("cuobjdump") is None, reason="cuobjdump is not installed"),
    pytest.mark.usefixtures("driver"),
]


def compiled(
    kernel, arguments: tuple, options: dict, folder: Path
) -> tuple[list[sass.Instruction], sass.Usage]:
    cubin = folder / "kernel.cubin"
    cubin.write_bytes(kernel.warmup(*arguments, **options, grid=(1,)).asm["cubin"])
    (usage,) = sass.usages(sass.resource_usage(cubin)).values()
    return sass.parse(sass.disassemble(cubin)), usage


def check_written_once(
    instructions: list[sass.Instruction], bits_of_a_thread: int, width: int
) -> None:
    """A thread writes its part of the tile once, in stores of `width` bits, and there are no
    atomics on global memory."""
    stores = [instruction for instruction in instructions if instruction.opcode in sass.STORES]
    assert {store.opcode for store in stores} == {"STG"}
    assert {store.width for store in stores} == {width}
    assert sum(store.width for store in stores) == bits_of_a_thread
    assert not any(store in loop for store in stores for loop in sass.loops(instructions))


@pytest.mark.parametrize(
    ("dtype", "shifted", "channels", "width", "registers"),
    representatives(
        [
            (torch.float32, False, 100, 128, 128),
            (torch.float32, True, 100, 128, 128),
            (torch.bfloat16, False, 100, 128, 128),
            (torch.bfloat16, True, 700, 128, 168),
            (torch.float32, True, 97, 64, 168),
        ],
        quick=(1,),
    ),
    ids=str,
)
def test_the_machine_code(dtype, shifted, channels, width, registers, tmp_path):
    """The list is added on tensor cores. At least three blocks fit the registers of a
    multiprocessor, so that some load while others write."""
    kept = PackedFrames([torch.zeros(1, channels)], 250)
    shift = torch.zeros(3, dtype=torch.int32) if shifted else None
    out = torch.empty(3, 250 * channels, dtype=dtype)
    call = BatchDelivery(kept.stored, torch.tensor([0, 0, 0]), shift, out)
    arguments = (*events_launch.tensors(call), *events_launch.numbers(call))
    instructions, usage = compiled(
        events_launch.deliver_kernel, arguments, events_launch.OPTIONS, tmp_path
    )
    threads = 32 * events_launch.WARPS
    check_written_once(instructions, 8 * dtype.itemsize * TILE // threads, width)
    counted = Counter(instruction.opcode for instruction in instructions)
    assert counted["HGMMA"] > 0
    assert not sass.uses_local_memory(instructions)
    assert usage.stack == usage.local == 0
    assert usage.registers <= registers


@triton.jit
def in_two_passes(places, out, count, SIZE: tl.constexpr):
    """A slow kernel: zeros are written, and events are added to them in memory."""
    n = tl.arange(0, SIZE)
    tl.store(out + n, tl.zeros((SIZE,), tl.float32))
    tl.debug_barrier()
    tl.atomic_add(out + tl.load(places + n, mask=n < count), 1.0, mask=n < count)


def test_a_second_pass_with_atomics_is_found_out(tmp_path):
    arguments = (torch.zeros(100, dtype=torch.int32), torch.empty(512), 100, 512)
    instructions, _ = compiled(in_two_passes, arguments, events_launch.OPTIONS, tmp_path)
    with pytest.raises(AssertionError):
        check_written_once(instructions, 4 * 8 * 512 // 128, 128)
