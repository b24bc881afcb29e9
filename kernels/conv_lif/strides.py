"""Strided 1 × 1 convolutions on the selected pixels alone.

oneDNN writes beyond its workspace in the gradient by the weight of such a convolution if images are
channels-last and channels are few (uxlfoundation/oneDNN#6035). `ConvLIF` returns channels-last
spikes, so a convolution behind it must be this one.
"""

import torch
from torch import Tensor

from .alone import SpikeConvolution, spikes_of_images


def selected_pixels(
    images: Tensor, weight: Tensor, stride: tuple[int, ...], padding: str | tuple[int, ...]
) -> tuple[Tensor, tuple[int, ...]]:
    """Returns the pixels of images (N, C, H, W) that a strided 1 × 1 kernel reads, and stride 1.

    Any other kernel, padding or stride 1 returns images and stride unchanged.
    """
    if max(stride) == 1 or any(padding) or weight.shape[2:].numel() > 1:
        return images, stride
    return images[:, :, :: stride[0], :: stride[1]], (1,) * len(stride)


class Conv2d(torch.nn.Conv2d):
    """`torch.nn.Conv2d` that skips the zeros of channels-last spikes on CPUs, else on
    `selected_pixels`."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if input.dim() != 4:
            return super()._conv_forward(input, weight, bias)
        window = self.padding_mode, self.groups, self.dilation
        if window == ("zeros", 1, (1, 1)) and not isinstance(self.padding, str):
            spikes = spikes_of_images(input, weight, bias)
            if spikes is not None:
                options = spikes, self.stride, self.padding
                return SpikeConvolution.apply(input, weight, bias, *options)
        pixels, stride = selected_pixels(input, weight, self.stride, self.padding)
        if pixels is input:
            return super()._conv_forward(input, weight, bias)
        return torch.conv2d(pixels, weight, bias, stride, groups=self.groups)
