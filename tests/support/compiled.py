"""What our C++ kernels keep in a process."""

from snnbench.kernels.build import cpp
from snnbench.kernels.conv_lif import layouts, spikes, taps, winograd
from snnbench.kernels.linear import dense
from snnbench.kernels.linear import launch as linear_launch
from snnbench.kernels.linear_lif import fused
from snnbench.kernels.recurrent import launch as recurrent_launch

KEPT = (
    *(cpp.library, dense._tile, linear_launch._plan, recurrent_launch._plan),
    *(spikes._call, spikes._library, layouts._function, taps._function, winograd._function),
)


def forget() -> None:
    """Forgets what was compiled in this process, and plans with it."""
    fused._plans.clear()
    for function in KEPT:
        function.cache_clear()
