"""What the compiler makes of the Triton kernels for sm_90, read from SASS: no GPU is needed.

A correct kernel can be slow. These tests check that loads are in flight together and wide, and that
none is from local memory.
"""

from pathlib import Path

import pytest
import torch

triton = pytest.importorskip("triton")

import triton.language as tl
from support import sass
from support.slow import representatives

from snnbench.kernels.lif.contract import CHECKPOINT_STEPS, Backward, Forward
from snnbench.kernels.lif.triton import launch as triton_launch
from snnbench.kernels.spec import NEURONS, NeuronSpec

pytestmark = [
    pytest.mark.skipif(sass.tool("cuobjdump") is None, reason="cuobjdump is not installed"),
    pytest.mark.usefixtures("driver"),
]

BATCH, STEPS = 16, 100
FEW, MANY = 256, 16384
"""Neurons: 4096 sequences, which are all in flight, and 262144."""


class Compiled:
    """A kernel as it would be launched: `instructions` and `usage`."""

    def __init__(self, kernel, arguments: dict, folder: Path):
        cubin = folder / "kernel.cubin"
        cubin.write_bytes(kernel.warmup(**arguments, grid=(1,)).asm["cubin"])
        self.instructions = sass.parse(sass.disassemble(cubin))
        (self.usage,) = sass.usages(sass.resource_usage(cubin)).values()

    def steps_in_flight(self, element_bytes: int, sequences: int, streams: int = 1) -> float:
        """Time steps with loads that the time loop issues before its first store, if a thread
        has so many sequences."""
        loads = sass.loads_before_first_store(sass.time_loop(self.instructions))
        return sum(load.width for load in loads) / 8 / (element_bytes * sequences * streams)

    def check_memory(self, registers: int):
        assert not sass.uses_local_memory(self.instructions)
        assert self.usage.stack == self.usage.local == 0
        assert self.usage.registers <= registers


def sequences_of_a_thread(launch) -> int:
    return launch.arguments["BLOCK"] // (32 * launch.arguments["num_warps"])


def forward_launch(spec: NeuronSpec, neurons: int, dtype: torch.dtype):
    x = torch.empty(STEPS, BATCH, neurons, dtype=dtype)
    final = torch.empty(BATCH, neurons)
    checkpoints = torch.empty(-(-STEPS // CHECKPOINT_STEPS), BATCH, neurons)
    call = Forward(
        spec=spec,
        currents=x,
        spikes=torch.empty_like(x),
        final_state=final,
        checkpoints=checkpoints,
    )
    return triton_launch.forward_launch(call)


def backward_launch(
    spec: NeuronSpec,
    neurons: int,
    dtype: torch.dtype,
    everything: bool = False,
    parts: bool = False,
):
    x = torch.empty(STEPS, BATCH, neurons, dtype=dtype)
    checkpoints = torch.empty(-(-STEPS // CHECKPOINT_STEPS), BATCH, neurons)
    channel, inner = (
        (torch.empty(neurons).expand(BATCH, neurons), torch.empty(BATCH, neurons))
        if everything
        else (None, None)
    )
    return triton_launch.backward_launch(
        Backward(
            spec=spec,
            currents=x,
            scale=channel,
            shift=channel,
            checkpoints=checkpoints,
            grad_spikes=torch.empty_like(x),
            grad_final=inner,
            grad_currents=torch.empty_like(x),
            grad_state=inner,
            sum_error=inner,
            sum_by_current=inner,
            grad_parts=x.new_empty((3, *x.shape), dtype=torch.bfloat16) if parts else None,
        )
    )


@pytest.mark.parametrize(
    ("reset", "neurons", "dtype", "steps", "loads", "registers"),
    representatives(
        [
            ("soft", FEW, torch.float32, 32, 8, 144),
            ("hard", FEW, torch.bfloat16, 32, 4, 104),
            ("soft", MANY, torch.float32, 8, 8, 128),
            ("hard", MANY, torch.float32, 8, 8, 128),
            ("soft", MANY, torch.bfloat16, 8, 8, 168),
            ("hard", MANY, torch.bfloat16, 8, 8, 168),
        ],
        quick=(),
    ),
    ids=str,
)
def test_forward(reset, neurons, dtype, steps, loads, registers, tmp_path):
    """All loads are 128 bits wide. (32 steps of one bfloat16 sequence take four loads.)"""
    launch = forward_launch(NEURONS[reset], neurons, dtype)
    compiled = Compiled(launch.kernel, launch.arguments, tmp_path)
    body = sass.time_loop(compiled.instructions)
    assert compiled.steps_in_flight(dtype.itemsize, sequences_of_a_thread(launch)) == steps
    assert sass.loads_before_first_store_in_loop(compiled.instructions) >= loads
    assert sass.loads_in_flight(body) >= loads
    assert {load.width for load in body if load.opcode in sass.LOADS} == {128}
    assert sass.widest_store(body) == 128
    compiled.check_memory(registers)
    assert not any(instruction.opcode == "FFMA" for instruction in compiled.instructions)


@pytest.mark.parametrize(
    ("spec", "neurons", "dtype", "everything", "registers"),
    representatives(
        [
            (NeuronSpec("hard"), FEW, torch.float32, False, 208),
            (NeuronSpec("hard"), FEW, torch.float32, True, 208),
            (NEURONS["soft"], FEW, torch.bfloat16, False, 160),
            (NEURONS["soft"], MANY, torch.float32, False, 184),
            (NEURONS["hard"], MANY, torch.bfloat16, False, 144),
        ],
        quick=(),
    ),
    ids=lambda value: value.label() if isinstance(value, NeuronSpec) else str(value),
)
def test_backward(spec, neurons, dtype, everything, registers, tmp_path):
    """Currents and gradients of all steps between two checkpoints are in flight together."""
    launch = backward_launch(spec, neurons, dtype, everything)
    compiled = Compiled(launch.kernel, launch.arguments, tmp_path)
    body = sass.time_loop(compiled.instructions)
    assert compiled.steps_in_flight(dtype.itemsize, sequences=1, streams=2) >= CHECKPOINT_STEPS
    assert sass.loads_before_first_store_in_loop(compiled.instructions) >= 8
    assert sass.loads_in_flight(body) >= 8
    assert sass.widest_load(body) == sass.widest_store(body) == 128
    compiled.check_memory(registers)


@pytest.mark.parametrize(
    ("neurons", "registers"), representatives([(FEW, 240), (MANY, 200)], quick=())
)
def test_backward_that_splits_its_gradient(neurons, registers, tmp_path):
    """Loads are as without parts, with four more stores for each part. With few sequences a
    processor runs one warp, which may use all registers."""
    launch = backward_launch(NEURONS["soft"], neurons, torch.float32, parts=True)
    compiled = Compiled(launch.kernel, launch.arguments, tmp_path)
    body = sass.time_loop(compiled.instructions)
    assert compiled.steps_in_flight(4, sequences=1, streams=2) >= CHECKPOINT_STEPS
    assert sass.loads_before_first_store_in_loop(compiled.instructions) >= 8
    assert sass.widest_load(body) == sass.widest_store(body) == 128
    stored = [store.width for store in body if store.opcode in sass.STORES]
    assert sum(stored) == 8 * CHECKPOINT_STEPS * (4 + 3 * 2)
    compiled.check_memory(registers)


@triton.jit
def step_by_step(x, spikes, count, steps, decay, BLOCK: tl.constexpr):
    """A slow kernel: each step is loaded, used and stored before the next."""
    n = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.zeros((BLOCK,), tl.float32)
    for t in range(steps):
        v = decay * v + tl.load(x + t * count + n, mask=n < count)
        fired = v >= 1.0
        tl.store(spikes + t * count + n, tl.where(fired, 1.0, 0.0), mask=n < count)
        v = tl.where(fired, 0.0, v)


def test_loading_step_by_step_is_found_out(tmp_path):
    x = torch.empty(STEPS, BATCH, FEW)
    arguments = {
        "x": x,
        "spikes": torch.empty_like(x),
        "count": BATCH * FEW,
        "steps": STEPS,
        "decay": 0.9,
    }
    compiled = Compiled(
        step_by_step,
        {**arguments, "BLOCK": 32, "num_warps": 1, "enable_fp_fusion": False},
        tmp_path,
    )
    assert compiled.steps_in_flight(4, sequences=1) == 1
    assert sass.loads_before_first_store_in_loop(compiled.instructions) == 1
    assert sass.loads_in_flight(sass.time_loop(compiled.instructions)) == 1
