"""The candidate kernel for spikes times a split weight: tensor cores in its code for sm_90."""

import pytest
import torch

triton = pytest.importorskip("triton")


from support import sass, tensor_core
from support.slow import representatives

from snnbench.kernels.linear_lif import triton_gemm
from snnbench.kernels.linear_lif.split_formats import TIERS


@pytest.mark.usefixtures("driver")
@pytest.mark.skipif(sass.tool("cuobjdump") is None, reason="cuobjdump is not installed")
@pytest.mark.parametrize("tier", representatives(TIERS, quick=(0,)))  # three parts
def test_the_machine_code(tier, tmp_path):
    """Products run on tensor cores (HGMMA) out of shared memory that is filled asynchronously,
    and nothing is spilled."""
    form = TIERS[tier]
    split = form.split(tensor_core.matrix("normal", 256, 512))
    _, arguments = triton_gemm.launch(
        torch.zeros(1600, 512, dtype=form.dtype), split, torch.empty(1600, 256)
    )
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
