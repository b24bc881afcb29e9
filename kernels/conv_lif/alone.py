"""A convolution of spikes without a neuron, in an autograd function of its own.

oneDNN writes beyond its workspace in the gradient by the weight of a strided 1 × 1 convolution if
images are channels-last and channels are few (uxlfoundation/oneDNN#6035). `ConvLIF` returns
channels-last spikes, so a convolution behind it must be this one.
"""

import torch
from torch import Tensor

from ..build import cpp
from ..lif.autograd import suffices
from ..register import no_second_derivative
from .images import by_images
from .spikes import Pair, Spikes, spikes_of
from .strides import Taps, selected_pixels, taps_inside


def spikes_of_images(images: Tensor, weight: Tensor, bias: Tensor | None) -> Spikes | None:
    """Returns the spikes of images (N, C, H, W), channels last, as (1, N, H, W, C); None if torch
    must convolve them."""
    tensors = [t for t in (images, weight, bias) if t is not None]
    plain = all(t.dtype == torch.float32 and t.device.type == "cpu" for t in tensors)
    if not plain or not suffices(tensors) or torch.is_autocast_enabled("cpu"):
        return None
    pixels = images.permute(0, 2, 3, 1)[None]
    if not images.numel() or not pixels.is_contiguous() or cpp.unusable() is not None:
        return None
    return spikes_of(pixels, weight, 0)


class SpikeConvolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx, images, weight, bias, spikes: Spikes, stride: Pair, taps: Taps) -> Tensor:
        """Returns the sums (N, C', H', W') of images (N, C, H, W)."""
        ctx.taps, ctx.weight, weight = taps, weight.shape, taps.of(weight)
        sums = spikes.sums(weight, stride, taps.padding)[0]
        if bias is not None:
            sums += bias
        ctx.save_for_backward(weight, spikes.fields)
        ctx.spikes, ctx.window, ctx.images = spikes.of(None), (stride, taps.padding), images.shape
        return sums.permute(0, 3, 1, 2)

    @staticmethod
    def backward(ctx, g):
        if torch.is_grad_enabled():
            raise no_second_derivative("a convolution of spikes")
        weight, fields = ctx.saved_tensors
        needs_images, needs_weight, needs_bias, *_ = ctx.needs_input_grad
        by_pixels = by_weight = by_bias = None
        pixels = g.permute(0, 2, 3, 1).contiguous()[None]
        stride, padding = ctx.window
        if needs_images:
            _, channels, *sides = ctx.images
            image = torch.Size((*sides, channels))
            found = by_images(pixels, image, weight, stride, padding)
            if found is not None:
                by_pixels = found[0].permute(0, 3, 1, 2)
            else:
                shape = stride, padding, (1, 1), False, (0, 0), 1
                images = weight.new_empty(ctx.images)
                by_pixels = torch.ops.aten.convolution_backward(
                    g, images, weight, None, *shape, (True, False, False)
                )[0]
        if needs_weight:
            by_taps = ctx.spikes.of(fields).by_weight(pixels, weight, stride, padding)
            by_weight = ctx.taps.whole(by_taps, ctx.weight)
        if needs_bias:
            by_bias = g.sum((0, 2, 3))
        return by_pixels, by_weight, by_bias, None, None, None


class Conv2d(torch.nn.Conv2d):
    """`torch.nn.Conv2d` that skips the zeros of channels-last spikes on CPUs, else on
    `selected_pixels`."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if input.dim() != 4:
            return super()._conv_forward(input, weight, bias)
        plain = (self.padding_mode, self.groups, self.dilation) == ("zeros", 1, (1, 1))
        if plain and not isinstance(self.padding, str):
            spikes = spikes_of_images(input, weight, bias)
            if spikes is not None:
                window = input.shape[2:], self.stride, self.padding
                taps = taps_inside(weight.shape[2:], *window)
                return SpikeConvolution.apply(input, weight, bias, spikes, self.stride, taps)
        pixels, stride = selected_pixels(input, weight, self.stride, self.padding)
        if pixels is input:
            return super()._conv_forward(input, weight, bias)
        return torch.conv2d(pixels, weight, bias, stride, groups=self.groups)
