"""Exact counts of events, stored as a bit for each bin and lists of further events."""

from collections.abc import Iterable

import torch
from torch import Tensor

from . import backends
from .storage import BatchDelivery, stored


class PackedFrames:
    """Frames (steps, *features) of many recordings: counts of events, delivered in batches.

    frames   one array or tensor of counts (t, *features) for each recording, whole numbers, t at
             most `steps`; zeros fill the end.
    steps    time steps of a delivered recording.

    Raises ValueError for frames that are longer, of another shape than the first, or no counts. A
    recording of SSC at 4 ms and 100 channels takes about 6 kB, as dense uint8 25 kB.

    Example:

        >>> frames = [torch.randint(0, 3, (time, 100)) for time in (211, 250, 199)]
        >>> packed = PackedFrames(frames, 250)
        >>> packed.batch(torch.tensor([2, 0]), shift=torch.tensor([-3, 5])).shape
        torch.Size([2, 250, 100])
    """

    def __init__(self, frames: Iterable[Tensor], steps: int) -> None:
        self.stored = stored(frames, steps)

    def __len__(self) -> int:
        return len(self.stored.bits)

    @property
    def shape(self) -> tuple[int, ...]:
        """(steps, *features) of a delivered recording."""
        return self.stored.shape

    @property
    def bytes(self) -> int:
        """Bytes of all recordings on their device."""
        return self.stored.bytes

    def to(self, device: torch.device | str) -> "PackedFrames":
        """Moves all recordings to `device` and returns self."""
        self.stored = self.stored.to(device)
        return self

    def batch(
        self,
        chosen: Tensor,
        shift: Tensor | None = None,
        *,
        dtype: torch.dtype = torch.float32,
        backend: str | None = None,
    ) -> Tensor:
        """Returns counts (B, steps, *features) of the recordings `chosen`, without waiting for a
        GPU.

        chosen    whole numbers (B,) from 0 on.
        shift     whole numbers (B,): places by which counts move up the last feature; zeros enter
                  at the border.
        dtype     any type that holds the counts.
        backend   "reference", "cpp" or "triton"; default: the best that runs here.

        Raises IndexError for an unknown recording (the Triton kernel returns NaN instead),
        ValueError for a shift of another shape or an unknown backend, and RuntimeError for a
        backend that cannot run.
        """
        device = self.stored.bits.device
        chosen = chosen.to(device, torch.int64).contiguous()
        if (
            device.type == "cpu"
            and len(chosen)
            and not 0 <= int(chosen.min()) <= int(chosen.max()) < len(self)
        ):
            raise IndexError(f"there are {len(self)} recordings, from 0 on")
        if shift is not None:
            if shift.shape != chosen.shape:
                raise ValueError(
                    f"shift has the shape {tuple(shift.shape)}: one for each of {len(chosen)}"
                    " recordings is required"
                )
            shift = shift.to(device, torch.int32).contiguous()
        out = torch.empty(len(chosen), self.stored.bins, dtype=dtype, device=device)
        if out.numel():
            backends.module(backends.choose(device.type, dtype, backend)).deliver(
                BatchDelivery(self.stored, chosen, shift, out)
            )
        return out.view(len(chosen), *self.shape)
