"""The gradient by the images of a convolution on CPUs, by the fastest of our ways."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..build import cpp
from ..linear import dense
from . import taps, winograd


def by_images(
    g: Tensor, image: torch.Size, weight: Tensor, stride: Sequence[int], padding: Sequence[int]
) -> Tensor | None:
    """Returns the gradient (T, B, *image) from contiguous g (T, B, H', W', N) by the sums; None if
    torch's is faster. `image` is (H, W, C), the weight (N, C, ky, kx)."""
    kernel = weight.shape[2:]
    apart = kernel == image[:2] or kernel.numel() == max(stride) == 1
    if apart and not any(padding) and cpp.unusable() is None:
        # Windows do not overlap: a row of the product is the gradient of a window.
        by_windows = g.new_empty(*g.shape[:2], *image)
        rows, of_window = g.flatten(0, 3), weight.permute(0, 2, 3, 1).reshape(len(weight), -1)
        dense.product(rows, of_window, by_windows.view(len(rows), -1))
        return by_windows
    if winograd.takes(g, image, weight, stride, padding):
        return winograd.by_input(g, image[:2], weight, stride, padding)
    if taps.takes(g, image):
        return taps.by_input(g, image, weight, stride, padding)
    return None
