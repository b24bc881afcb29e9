"""Convolutions with a kernel of one pixel and a stride, without the pixels in between.

oneDNN, given all pixels, writes beyond its workspace in the gradient by such a weight, where the channels of a pixel lie side by
side and are few (uxlfoundation/oneDNN#6035). `ConvLIF` hands on spikes that lie so: a convolution behind it is to be this one.
"""

import torch
from torch import Tensor


def met_pixels(
    images: Tensor, weight: Tensor, stride: tuple[int, ...], padding: str | tuple[int, ...]
) -> tuple[Tensor, tuple[int, ...]]:
    """Of images (N, C, H, W) the pixels that a kernel of one pixel meets, and the stride from one to the next, which is 1; with
    any other kernel, with padding and without a stride the images and the stride as they are."""
    if max(stride) == 1 or any(padding) or weight.shape[2:].numel() > 1:
        return images, stride
    return images[:, :, :: stride[0], :: stride[1]], (1,) * len(stride)


class Conv2d(torch.nn.Conv2d):
    """`torch.nn.Conv2d`, of which only the pixels that a kernel of one pixel meets are computed with."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if input.dim() != 4:
            return super()._conv_forward(input, weight, bias)
        pixels, stride = met_pixels(input, weight, self.stride, self.padding)
        if pixels is input:
            return super()._conv_forward(input, weight, bias)
        return torch.conv2d(pixels, weight, bias, stride, groups=self.groups)
