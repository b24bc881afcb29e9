"""The project's own neuron (`snnbench.kernels`): one spelling a construction, `default` the one chosen for the device."""

from .base import Case
from .torch_adapter import TorchAdapter

FLOATS = {"fp16": "float16", "bf16": "bfloat16", "amp-bf16": "bfloat16"}


class Fused(TorchAdapter):
    name = "fused"
    distribution = "snnbench"
    constructions = ("default", "reference", "cpp", "triton", "cuda")

    def supports(self, case: Case) -> str | None:
        if case.neuron.max_spikes > 1 and case.neuron.reset.startswith("hard"):
            return "a hard reset after a count of spikes is not defined"
        if case.construction == "default":
            return None
        from snnbench.kernels.neuron import backends

        return backends.unavailable(case.construction, *_tensors_of(case))

    def lif(self, spec, features, construction):
        from snnbench.kernels import LIF

        return LIF(spec, backend=_requested(construction))

    def layer(self, spec, inputs, outputs, bias, construction):
        from snnbench.kernels import LinearLIF

        return LinearLIF(inputs, outputs, bias, spec, backend=_requested(construction))

    def facts(self, case: Case) -> dict:
        from snnbench.kernels.neuron import backends

        backend = backends.choose(*_tensors_of(case), _requested(case.construction))
        return {"backend": backend, "state_dtype": "float32"}  # whatever the formats in memory: see kernels/neuron

    def compile_seconds(self) -> float:
        from snnbench.kernels.neuron import cache

        return cache.build_seconds


def _requested(construction: str) -> str | None:
    return None if construction == "default" else construction


def _tensors_of(case: Case):
    """Device type and dtype of the currents."""
    import torch

    return case.device.split(":")[0], getattr(torch, FLOATS.get(case.precision, "float32"))
