"""The augmentation of frames: each recording is shifted by some places; counts that leave the frame
are lost."""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from ..epoch import LARGEST_SHIFT, Epoch


def shifted(frames: Tensor, by: Tensor, width: int) -> Tensor:
    """Shifts frames (B, T, channels), each by its number of places in `by` (B,), in each row of
    `width` channels."""
    rows = frames.reshape(len(frames), -1, width)
    wide = torch.nn.functional.pad(rows, (LARGEST_SHIFT, LARGEST_SHIFT))
    places = torch.arange(LARGEST_SHIFT, LARGEST_SHIFT + width, device=frames.device)
    return wide.gather(2, (places - by[:, None])[:, None].expand_as(rows)).view(frames.shape)


def shifted_one(frames: np.ndarray, by: int) -> np.ndarray:
    moved = np.zeros_like(frames)
    width = frames.shape[-1]
    moved[..., max(by, 0) : width + min(by, 0)] = frames[..., max(-by, 0) : width - max(by, 0)]
    return moved


class Augmented(Dataset[tuple[np.ndarray, Any]]):
    """A data set with pairs of a recording's number and its shift as keys. Each recording is
    shifted on access, as by the second transform behind tonic's caches."""

    def __init__(self, items: Any) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, key: tuple[int, int]) -> tuple[np.ndarray, Any]:
        frames, label = self.items[key[0]]
        return shifted_one(frames, key[1]), label


def keys(epoch: Epoch) -> list[Any]:
    """Returns the keys for a DataLoader's sampler: numbers, or pairs of numbers and shifts."""
    return list(zip(epoch.numbers, epoch.shifts, strict=True)) if epoch.shifts else epoch.numbers
