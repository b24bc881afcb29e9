"""snnTorch on Graphcore's IPUs (https://snntorch.readthedocs.io): a row without figures, because
the hardware and its SDK are not available.

The package `snntorch-ipu` 0.5.18, of 2023 and the last, imports `poptorch` with its surrogates and
compiles them for IPUs when first imported. `poptorch` is not on PyPI: it comes with Graphcore's
Poplar SDK.
"""

from .base.torch_adapter import TorchAdapter


class SnnTorchIpu(TorchAdapter):
    name = "snntorch-ipu"
    distribution = "snntorch-ipu"
    constructions = {"default": set()}
    modes = ("eager",)
    refusal = "snntorch-ipu needs an IPU and Graphcore's poptorch, which PyPI does not have"
