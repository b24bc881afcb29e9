"""How much of a run has ended, and how much is left."""

from collections.abc import Mapping


class Tally:
    """Counts cases, once for every block. `work`: by the id of a case in how many of its `blocks` it is still to be measured. Who
    leaves has ended in all of them, so that `ended` and `total` never fall."""

    def __init__(self, work: Mapping[str, int], blocks: int):
        self.work, self.blocks = dict(work), blocks
        self.ended, self.total = 0, blocks * len(work)

    def end(self, case_id: str, measured: bool, leaves: bool = False) -> None:
        """A case has ended in a block. `leaves`: it was the first one, and the case is in no other."""
        self.ended += self.blocks if leaves else 1
        self.work[case_id] = 0 if leaves else max(0, self.work[case_id] - measured)

    def add(self, case_id: str, blocks: int, work: int) -> None:
        """A case has further blocks, and is to be measured in so many of them."""
        self.total += blocks
        self.work[case_id] += work

    @property
    def to_measure(self) -> int:
        """Measurements that are left, as far as is known: those of cases that cannot run, or are done, are none."""
        return sum(self.work.values())
