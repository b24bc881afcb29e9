"""Convolutions on the pixels that they read, and with the taps that read pixels.

oneDNN writes beyond its workspace in the gradient by the weight of a strided 1 × 1 convolution if
images are channels-last and channels are few (uxlfoundation/oneDNN#6035). `ConvLIF` returns
channels-last spikes, so a convolution behind it must be this one.
"""

from collections.abc import Sequence
from functools import lru_cache

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


def taps_inside(
    weight: Tensor, image: Sequence[int], stride: Sequence[int], padding: Sequence[int]
) -> tuple[Tensor, tuple[int, int]]:
    """Returns the taps of a weight (N, C, ky, kx) that ever lie inside an image (H, W), and the
    padding that they need.

    Of a 3 × 3 kernel over a single pixel only the middle remains.
    """
    inside, paddings = _inside(image, weight.shape[2:], tuple(stride), tuple(padding))
    return weight if inside is None else weight[:, :, inside[0], inside[1]], paddings


@lru_cache(maxsize=1024)
def _inside(
    image: Sequence[int], kernels: Sequence[int], strides: Sequence[int], pads: Sequence[int]
) -> tuple[list[slice] | None, tuple[int, int]]:
    """Returns the ranges of taps inside, None for all, and the padding that they need."""
    ranges, paddings = [], []
    for side, kernel, step, pad in zip(image, kernels, strides, pads, strict=True):
        places = (side + 2 * pad - kernel) // step + 1
        first, last = max(0, pad - (places - 1) * step), min(kernel, pad + side)
        equal = (side + 2 * (pad - first) - (last - first)) // step + 1 == places > 0
        first, last = (first, last) if equal and first < last else (0, kernel)
        ranges.append(slice(first, last))
        paddings.append(pad - first)
    unchanged = paddings == list(pads) and all(
        r.stop == kernel for r, kernel in zip(ranges, kernels, strict=True)
    )
    return None if unchanged else ranges, (paddings[0], paddings[1])


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
                taps, padding = taps_inside(weight, *window)
                return SpikeConvolution.apply(input, taps, bias, spikes, self.stride, padding)
        pixels, stride = selected_pixels(input, weight, self.stride, self.padding)
        if pixels is input:
            return super()._conv_forward(input, weight, bias)
        return torch.conv2d(pixels, weight, bias, stride, groups=self.groups)
