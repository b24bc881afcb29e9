"""SpikingJelly 0.0.0.0.14, the last version with CuPy kernels
(https://spikingjelly.readthedocs.io), in multi-step mode.

On CUDA the backend is `cupy`, on a CPU `torch`. This version has no SuperSpike; its kernels take
any surrogate with CUDA code.
"""

from dataclasses import replace

from snnbench.core.case import Case
from snnbench.core.network import Network

from .base.spikes import torch_spike
from .spikingjelly import SpikingJelly


class SpikingJellyCupy(SpikingJelly):
    name = "spikingjelly-cupy"
    requires = ("torch", "cupy", "spikingjelly.activation_based.auto_cuda.neuron_kernel")
    constructions = {"default": {"uncut", "learning"}}
    modes = ("eager",)

    def refuses(self, case: Case, network: Network) -> str | None:
        if case.device != "cpu" and case.precision not in ("fp32", "tf32", "fp16"):
            return "the CuPy kernels are for float32 and float16"
        return super().refuses(case, network)

    def native(self, features):
        """LIFNode(tau=2, ATan()) of version 0.0.0.0.14: v + (x − v)/2, to zero with gradient,
        surrogate atan(2), CuPy on CUDA.

        Source: the tutorial's neuron of SpikingJelly (see `spikingjelly.py`). On CUDA all steps are
        given to CuPy at once (`step_mode="m"`, `backend="cupy"`), which its documentation calls the
        fastest.
        """
        return super().native(features)

    def facts(self, case: Case) -> dict:
        return {"backend": "torch" if case.device == "cpu" else "cupy"}

    def loop(self, node):
        from .base.time_loop import Uncut

        def spikes(node, currents):
            node.backend = "cupy" if currents.is_cuda else "torch"
            node.reset()
            return node(currents)

        return Uncut(node, spikes, state="v")

    def surrogate(self, spec):
        if (spec.surrogate, spec.slope) != ("superspike", 1):
            return super().surrogate(spec)
        from spikingjelly.activation_based import surrogate
        from spikingjelly.activation_based.auto_cuda import cfunction as c

        fires = torch_spike(replace(spec, threshold=1.0)).apply

        class SuperSpike(surrogate.SurrogateFunctionBase):
            """1/(1 + |u|)², for u = v − threshold."""

            def forward(self, x):
                return fires(x + 1.0)

            def cuda_codes(self, y, x, dtype):
                one = c.constant(None, 1.0, dtype)
                root = c.add(None, one, c.abs(None, x, dtype), dtype)
                return c.div(y, one, c.mul(None, root, root, dtype), dtype)

        return SuperSpike(1.0)
