"""Batch normalisation of channels-last images without a neuron.

torch adds up the numbers of a channel one after another in float32 where images are channels-last.
Many equal numbers, as behind silent pixels, are then all rounded alike: the mean was off by up to
4·10⁻⁵ standard deviations over 588 pixels.
"""

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..lif.autograd import suffices
from . import compiled
from .module import BatchNormLIF
from .statistics import scale_and_shift


class Normalised(torch.autograd.Function):
    @staticmethod
    def forward(ctx, images, mean, variance, weight, bias, epsilon: float) -> Tensor:
        """Returns (N, C, H, W), normalised by statistics (C,) of the images themselves."""
        scale, shift = scale_and_shift(mean, variance, weight, bias, epsilon)
        ctx.save_for_backward(images, mean, torch.rsqrt(variance + epsilon), weight)
        ctx.epsilon = epsilon
        return torch.addcmul(shift[:, None, None], images, scale[:, None, None])

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        images, mean, rate, weight = ctx.saved_tensors
        needed = [ctx.needs_input_grad[place] for place in (0, 3, 4)]
        by_images, by_weight, by_bias = torch.ops.aten.native_batch_norm_backward(
            g.contiguous(memory_format=torch.channels_last),
            *(images, weight, None, None, mean, rate, True, ctx.epsilon, needed),
        )
        return by_images, None, None, by_weight, by_bias, None


class BatchNorm2d(torch.nn.BatchNorm2d):
    """`torch.nn.BatchNorm2d` with the statistics of `BatchNormLIF` for channels-last images on
    CPUs in training."""

    update_statistics = BatchNormLIF.update_statistics

    def forward(self, input: Tensor) -> Tensor:
        tensors = (input, self.weight, self.bias)
        pixels = input.permute(0, 2, 3, 1).flatten(0, 2)[None] if input.dim() == 4 else input
        if (
            not self.training
            or input.dim() != 4
            or any(t is not None and t.dtype != torch.float32 for t in tensors)
            or not input.is_contiguous(memory_format=torch.channels_last)
            or input.numel() <= self.num_features
            or not suffices(tensors)
            or not compiled.takes(pixels, 2)
        ):
            return super().forward(input)
        mean, variance = compiled.statistics(pixels.detach(), 2)
        if self.track_running_stats:
            self.update_statistics(mean, variance, pixels.shape[1])
        return Normalised.apply(input, mean, variance, self.weight, self.bias, self.eps)
