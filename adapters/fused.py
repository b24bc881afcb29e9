"""The project's own kernels (`snnbench.kernels`): one spelling of the neuron a construction, `default` the one chosen for the
device, and ways to multiply in front of it.

`linear-split` multiplies the short operands of the precision's tier (on CPUs in float32: proved there, not fast),
`linear-recompute` keeps bits of the spikes and no currents, `linear-split-recompute` does both.
"""

from .base.case import Case
from .base.torch_adapter import TorchAdapter

LINEAR = {
    "linear-split": {"emulate": True},
    "linear-recompute": {"recompute": True},
    "linear-split-recompute": {"emulate": True, "recompute": True},
}
"""Options of LinearLIF by construction."""

FLOATS = {"fp16": "float16", "bf16": "bfloat16", "amp-bf16": "bfloat16"}


class Fused(TorchAdapter):
    name = "fused"
    distribution = "snnbench"
    constructions = ("default", "reference", "cpp", "triton", "cuda", *LINEAR)

    def supports(self, case: Case) -> str | None:
        if case.neuron.max_spikes > 1 and case.neuron.reset.startswith("hard"):
            return "a hard reset after a count of spikes is not defined"
        if case.construction in LINEAR and case.workload == "lif":
            return f"{case.construction} is about the linear layer, and workload lif has none"
        if "split" in case.construction and case.precision not in ("fp32", "tf32"):
            return f"{case.precision} has short operands already: there is nothing to split"
        if _requested(case.construction) is None:
            return None
        from snnbench.kernels.lif import backends

        return backends.unavailable(case.construction, *_tensors_of(case))

    def lif(self, spec, features, construction):
        from snnbench.kernels import LIF

        return LIF(spec, backend=_requested(construction))

    def stack(self, case: Case):
        from snnbench.kernels import LinearLIF

        told = {"input": case.input, "backend": _requested(case.construction), **LINEAR.get(case.construction, {})}
        if "split" in case.construction:
            told["tier"] = case.precision
        return LinearLIF.stack([case.neurons] * (case.layers + 1), case.bias, case.neuron, **told)

    def handed_on(self, spikes, dtype):
        return spikes  # in the type that the next layer multiplies, which is not always that of its weights

    def facts(self, case: Case) -> dict:
        from snnbench.kernels.lif import backends

        backend = backends.choose(*_tensors_of(case), _requested(case.construction))
        return {"backend": backend, "state_dtype": "float32"}  # for every storage type, see kernels/lif/contract.py

    def compile_seconds(self) -> float:
        from snnbench.kernels.build import cache

        return cache.build_seconds


def _requested(construction: str) -> str | None:
    """The spelling of the neuron that a construction asks for; None: whichever runs."""
    return None if construction == "default" or construction in LINEAR else construction


def _tensors_of(case: Case):
    """Device type and dtype of the currents."""
    import torch

    return case.device.split(":")[0], getattr(torch, FLOATS.get(case.precision, "float32"))
