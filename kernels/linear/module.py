"""`nn.Linear` in which input spikes select rows of the weight, on CPUs."""

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..build import cpp
from ..lif import autograd
from ..spike_marks import words_of_spikes
from . import launch
from .operands import CpuOperands, multiply


class SpikesLinear(torch.nn.Linear):
    """An `nn.Linear` for spikes x (T, B, inputs) of 0 or 1, such as a readout.

    Plain eager calls in float32 on CPUs keep bits of them and multiply only with ones; all others,
    and inputs of anything but spikes, are torch's.

    Example:

        >>> readout = SpikesLinear(128, 20)
        >>> readout(torch.randint(0, 2, (100, 16, 128)).float()).shape
        torch.Size([100, 16, 20])
    """

    def forward(self, x: Tensor) -> Tensor:
        words = self._words(x)
        if words is None:
            return super().forward(x)
        return SelectedRows.apply(x, self.weight, self.bias, words)

    def _words(self, x: Tensor) -> Tensor | None:
        """Returns words of x if this call can take them, else None."""
        if not (
            x.dim() == 3
            and x.shape[2] == self.in_features
            and x.dtype == self.weight.dtype == torch.float32
            and autograd.suffices((x, self.weight, self.bias))
            and not torch.is_autocast_enabled(x.device.type)
            and launch.takes(x, self.weight, 1)
            and cpp.unusable() is None
        ):
            return None
        words = words_of_spikes(x)
        if words is None or words.numel() != launch.words_of(x.shape, 1) or words[0] < 0:
            words = CpuOperands(self.weight, 1).words(x)
        return words


class SelectedRows(torch.autograd.Function):
    """x (T, B, K) with its words, W (N, K), b (N,) or None → x·Wᵀ + b (T, B, N). x is not kept."""

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor, bias: Tensor | None, words: Tensor) -> Tensor:
        out = weight.new_empty((*x.shape[:2], len(weight)))
        CpuOperands(weight.contiguous(), 1).currents_of_words(words, out.flatten(0, 1))
        ctx.save_for_backward(weight, words)
        return out if bias is None else out.add_(bias)

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        (weight, words), needed = ctx.saved_tensors, ctx.needs_input_grad
        rows = gradient.flatten(0, 1)
        by_x = by_weight = by_bias = None
        if needed[0]:
            by_x = weight.new_empty((*gradient.shape[:2], weight.shape[1]))
            multiply(rows, weight, by_x.flatten(0, 1))
        if needed[1]:
            by_weight = weight.new_empty(weight.shape)
            CpuOperands(weight, 1).add_weight_of_words(by_weight, rows, words, True)
        if needed[2]:
            by_bias = rows.sum(0)
        return by_x, by_weight, by_bias, None
