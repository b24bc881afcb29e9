"""BindsNET (https://github.com/BindsNET/bindsnet): a row without figures, for there is no backward to time.

Tried with version 0.3.4, which asks for torch 2.14: `LIFNodes(rest=0, reset=0, thresh=θ, refrac=0, tc_decay=-1/ln β)` gives
the spikes of `hard`, every decision right, as a tensor of bool, from `v >= thresh`. Its networks learn by local rules; nothing
hangs on a gradient.
"""

from .base.torch_adapter import TorchAdapter


class BindsNet(TorchAdapter):
    name = "bindsnet"
    distribution = "bindsnet"
    constructions = ("default",)
    modes = ("eager",)
    refusal = "BindsNET's spikes are v >= thresh, a tensor of bool: no gradient passes them, so no backward to prove"
