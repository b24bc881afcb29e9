"""What a device says of its memory, the same of every library."""

from typing import Protocol


class MemoryProbe(Protocol):
    """Bytes on a device: `in_use` now, once everything is computed; `before`, in use at the last reset; the peak since."""

    meaning: str
    before: int

    def reset(self) -> None: ...
    def in_use(self) -> int: ...

    def peak(self) -> tuple[int, int, int | None]:
        """(bytes in use at reset, most bytes in use since, most bytes held by the allocator or None)."""
