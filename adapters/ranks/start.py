"""What ranks are started with."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from snnbench.core.contract import MemoryProbe


@dataclass(frozen=True)
class Start:
    """What ranks are started with: `count` of them, the reference of their adapter, the numbers of
    the cores that they share out, and seconds after which who does not come is given up.
    `confine(parent)` limits the process that calls it; `probe` makes a probe of its memory, and
    `returned` is `measure.memory.freed_memory_returned`."""

    count: int
    reference: str
    cores: Sequence[int]
    patience: float
    confine: Callable[[int], None]
    probe: Callable[[], MemoryProbe | None]
    returned: Callable[[], AbstractContextManager[Callable[[], None]]]
