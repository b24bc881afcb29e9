"""The pixels that a convolution reads, and the taps that read pixels."""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor


def selected_pixels(
    images: Tensor, weight: Tensor, stride: tuple[int, ...], padding: str | tuple[int, ...]
) -> tuple[Tensor, tuple[int, ...]]:
    """Returns the pixels of images (N, C, H, W) that a strided 1 × 1 kernel reads, and stride 1.

    Any other kernel, padding or stride 1 returns images and stride unchanged.
    """
    if max(stride) == 1 or any(padding) or weight.shape[2:].numel() > 1:
        return images, stride
    return images[:, :, :: stride[0], :: stride[1]], (1,) * len(stride)


@dataclass(frozen=True)
class Taps:
    """The taps of a kernel that ever lie inside an image, and the padding that they need."""

    ranges: tuple[slice, slice] | None
    """None: all."""
    padding: tuple[int, int]

    def of(self, weight: Tensor) -> Tensor:
        """Returns the taps of a weight (N, C, ky, kx), channels last."""
        if self.ranges is not None:
            weight = weight[:, :, self.ranges[0], self.ranges[1]]
        return weight.contiguous(memory_format=torch.channels_last)

    def whole(self, gradient: Tensor, weight: torch.Size) -> Tensor:
        """Returns the gradient by the weight, channels last, from that by its taps."""
        if self.ranges is None:
            return gradient
        outputs, channels, *kernel = weight
        whole = gradient.new_zeros(outputs, *kernel, channels).permute(0, 3, 1, 2)
        whole[:, :, self.ranges[0], self.ranges[1]] = gradient
        return whole


@lru_cache(maxsize=1024)
def taps_inside(
    kernel: torch.Size, image: torch.Size, stride: tuple[int, ...], padding: tuple[int, ...]
) -> Taps:
    """Returns the taps of a kernel (ky, kx) over images (H, W).

    Of a 3 × 3 kernel over a single pixel only the middle remains.
    """
    ranges, paddings = [], []
    for side, size, step, pad in zip(image, kernel, stride, padding, strict=True):
        places = (side + 2 * pad - size) // step + 1
        first, last = max(0, pad - (places - 1) * step), min(size, pad + side)
        equal = (side + 2 * (pad - first) - (last - first)) // step + 1 == places > 0
        first, last = (first, last) if equal and first < last else (0, size)
        ranges.append(slice(first, last))
        paddings.append(pad - first)
    unchanged = all(r.stop - r.start == size for r, size in zip(ranges, kernel, strict=True))
    return Taps(None if unchanged else (ranges[0], ranges[1]), (paddings[0], paddings[1]))
