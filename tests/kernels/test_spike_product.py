"""The candidate kernel for spikes times a split weight: right in the interpreter, tensor cores in its code for sm_90."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

triton = pytest.importorskip("triton")

from triton.backends.compiler import GPUTarget

sys.path.insert(0, str(Path(__file__).parent))
import sass
import tensor_core

from snnbench.kernels.linear import triton_gemm
from snnbench.kernels.linear.splits import FORMATS

CASES = Path(__file__).parent / "interpreted" / "spike_product_cases.py"


def test_in_the_interpreter():
    """Triton decides on import whether it interprets, so this is a process of its own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", str(CASES)],
        env={**inherited, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout[-8000:] + result.stderr[-2000:]


class Driver:
    """Stands in for the driver of a GPU where there is none: all that compiling asks for."""

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def get_current_stream(self, device):
        return 0


@pytest.fixture(autouse=True)
def driver():
    before = triton.runtime.driver._active
    triton.runtime.driver.set_active(Driver())
    yield
    triton.runtime.driver._active = before


@pytest.mark.skipif(sass.tool("cuobjdump") is None, reason="cuobjdump is not installed")
@pytest.mark.parametrize("name", FORMATS)
def test_the_machine_code(name, tmp_path):
    """Products run on tensor cores (HGMMA) out of shared memory that is filled asynchronously, and nothing is spilled."""
    form = FORMATS[name]
    split = form.split(tensor_core.matrix("normal", 256, 512))
    _, arguments = triton_gemm.launch(torch.zeros(1600, 512, dtype=form.dtype), split, torch.empty(1600, 256))
    cubin = tmp_path / "kernel.cubin"
    cubin.write_bytes(triton_gemm.spike_product_kernel.warmup(**arguments, grid=(1,)).asm["cubin"])
    instructions = sass.parse(sass.disassemble(cubin))
    (usage,) = sass.usages(sass.resource_usage(cubin)).values()
    loops = [body for body in sass.loops(instructions) if any(i.opcode == "HGMMA" for i in body)]
    assert len(loops) >= len(split.parts)
    assert not any(i.opcode in ("HMMA", "FFMA") for body in loops for i in body)
    assert all(any(i.opcode in ("LDGSTS", "UTMALDG") for i in body) for body in loops)
    assert not sass.uses_local_memory(instructions)
    assert usage.stack == usage.local == 0 and usage.registers <= 255
