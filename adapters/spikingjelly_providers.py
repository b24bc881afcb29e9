"""Who computes SpikingJelly's neurons on a CUDA device: what keeps a provider from running, forcing one, asking which ran."""

import os
from importlib.util import find_spec
from pathlib import Path

from .base.case import Case
from .base.contract import Unsupported

PROVIDERS = ("cuda", "triton", "torch")
SHORT = ("bf16", "fp16", "amp-bf16")


def lacks(provider: str, case: Case) -> str | None:
    """Why `provider` cannot be forced here. Looks at files only: importing the package would fix its choice."""
    if case.device == "cpu":
        return None if provider == "torch" else f"SpikingJelly's provider {provider} runs on CUDA devices only"
    if case.precision in SHORT:
        return f"SpikingJelly refuses a forced provider where the state is not float32, as in {case.precision}"
    if provider == "triton" and find_spec("triton") is None:
        return "SpikingJelly's provider triton needs Triton, which is not installed"
    package = find_spec("spikingjelly")
    if provider == "cuda" and package and not list(Path(package.origin).parent.glob("_ops/lif/_C*")):
        return "this SpikingJelly was installed without its CUDA kernels (SJ_BUILD_NATIVE_CUDA=1 at a build from source)"
    return None


def force(provider: str) -> None:
    """Bind `LIFNode` to one provider. The package reads the variable once, when its operator is first imported."""
    os.environ["SJ_LIF_CUDA_IMPLEMENTATION"] = provider
    from spikingjelly._ops.lif import _selection

    if _selection._requested != provider:
        raise Unsupported(f"this process has already bound SpikingJelly to its provider {_selection._requested!r}")


def running(kind: str, case: Case) -> str:
    """Who computes the neuron `kind`, "lif" or "plif", in multi-step mode."""
    import torch
    from spikingjelly.activation_based.functional import neuron_implementation

    execution = "compile" if case.mode.startswith("compile") else "eager"
    chosen = neuron_implementation(kind, torch.device(case.device), execution=execution)["implementation"]
    # A state in a short format leaves the fused kernels, and `neuron_implementation` does not know of it.
    return "torch-reference" if case.precision in SHORT else chosen
