"""SpikingJelly 0.0.0.0.14, the last version with CuPy kernels (https://spikingjelly.readthedocs.io), in multi-step mode.

On CUDA the backend is `cupy`, on a CPU `torch`: there are no CuPy kernels for it. This version has no SuperSpike; its
kernels take any surrogate that tells its CUDA code.
"""

from .base import Adapter, Case
from .spikingjelly import SpikingJelly
from .surrogates import torch_spike


class SpikingJellyCupy(SpikingJelly):
    name = "spikingjelly-cupy"
    requires = ("torch", "cupy", "spikingjelly.activation_based.auto_cuda.neuron_kernel")
    constructions = ("default",)
    modes = ("eager",)

    native = Adapter.native  # the tutorial's is measured as spikingjelly

    def supports(self, case: Case) -> str | None:
        if case.device != "cpu" and case.precision not in ("fp32", "tf32", "fp16"):
            return "the CuPy kernels are for float32 and float16"
        return super().supports(case)

    def neuron(self, spec, features):
        import torch
        from spikingjelly.activation_based import neuron

        gradient = _surrogate(spec)

        class Spikes(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.lif = neuron.LIFNode(
                    tau=1 / (1 - spec.decay),
                    decay_input=False,
                    v_threshold=float(spec.threshold),
                    v_reset=0.0 if spec.reset == "hard" else None,
                    detach_reset=spec.detach_reset,
                    surrogate_function=gradient,
                    step_mode="m",
                )

            def forward(self, currents):
                self.lif.backend = "cupy" if currents.is_cuda else "torch"
                self.lif.reset()
                return self.lif(currents)

        return Spikes()

    def facts(self, case: Case) -> dict:
        return {"backend": "torch" if case.device == "cpu" else "cupy"}


def _surrogate(spec):
    from dataclasses import replace

    from spikingjelly.activation_based import surrogate
    from spikingjelly.activation_based.auto_cuda import cfunction as c

    if spec.surrogate == "atan":
        return surrogate.ATan(alpha=2 * spec.slope)
    if spec.surrogate == "sigmoid":
        return surrogate.Sigmoid(alpha=spec.slope)
    fires = torch_spike(replace(spec, threshold=1.0)).apply

    class SuperSpike(surrogate.SurrogateFunctionBase):
        """1/(1 + |u|)², for u = v − threshold."""

        def forward(self, x):
            return fires(x + 1.0)

        def cuda_codes(self, y, x, dtype):
            one = c.constant(None, 1.0, dtype)
            root = c.add(None, one, c.abs(None, x, dtype), dtype)
            return c.div(y, one, c.mul(None, root, root, dtype), dtype)

    return SuperSpike(spec.slope)
