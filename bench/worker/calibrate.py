"""What a device can do at best, for `snnbench doctor --calibrate`."""

from snnbench.adapters import registry
from snnbench.adapters.base.case import Case

from ..cores import usable_cores
from ..measure.ceilings import best_seconds

COPIED = [2**k for k in range(12, 28, 3)]  # numbers: 16 KiB to 512 MiB
WIDTH = {"cpu": 1024, "cuda": 8192}


def calibrate_device(device: str) -> dict:
    """Copy rates by working-set size in bytes per second, and square matrix products by format in flops per second."""
    case = Case("torch", device=device, neurons=8)
    adapter = registry.load(registry.BUILT_IN["torch"])
    adapter.prepare(case, len(usable_cores()))
    program = adapter.program(case)
    width = WIDTH[device.split(":")[0]]
    return {
        "copy_bytes_per_s": {8 * count: 8 * count / best_seconds(program.copy(count), 5) for count in COPIED},
        "matmul_flops_per_s": {
            name: 2.0 * width**3 / best_seconds(program.matmul(width, width, width, name), 3) for name in ("fp32", "bf16")
        },
    }
