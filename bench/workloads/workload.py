"""A named network: a function from a case to its network, and the axes of a case that mean something for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.case import SPIKE_SHARE, WORKLOAD_AXES, Case
from ..core.network import Network
from ..core.training import PLAIN

Build = Callable[[Case], Network]


@dataclass(frozen=True)
class Workload:
    """What a case's `workload` names.

    `network` builds the network of a case, and `axes` are the fields of the case that it depends on. `fixed` are fields that
    have one value in every case of this workload. `small` are the odd sizes at which every proof begins, time steps and batch
    among them. `samples` are those of an epoch of the data set that a network was published with.
    """

    name: str
    network: Build
    axes: tuple[str, ...]
    small: Mapping[str, int]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    samples: int | None = None

    @property
    def summary(self) -> str:
        """What the network is, in a sentence: the first paragraph of the function's docstring."""
        return " ".join((self.network.__doc__ or "").partition("\n\n")[0].split())

    def canonical(self, case: Case) -> Case:
        """`case` with what this workload fixes, and None for axes that it or its input does not have, and for the usual `firing`:
        no case is measured twice under two names."""
        values: dict[str, Any] = {axis: None for axis in WORKLOAD_AXES if axis not in self.axes} | {
            **self.fixed
        }
        if case.input != "spikes" or case.firing == SPIKE_SHARE:
            values["firing"] = None
        if case.ranks == 1:
            values |= {"parallel": None, "ranks": None}
        values |= {axis: None for axis, plain in PLAIN.items() if getattr(case, axis) == plain}
        return replace(case, **values)

    def ignores(self, axis: str, values: Sequence[Any]) -> bool:
        """Whether these values of a case's field come to nothing here: the field means nothing, or is always another."""
        absent = axis in WORKLOAD_AXES and axis not in self.axes
        return (absent or axis in self.fixed) and list(values) != [self.fixed.get(axis)]

    def small_case(self, case: Case, input: str = "spikes") -> Case:
        """`case` at the small odd sizes, with another kind of input, in which enough spikes are to show something. Ranks have
        uneven parts of what they share, none of them empty."""
        sizes: dict[str, Any] = {**self.small, "input": input, "firing": None}
        if case.ranks:
            shared = {"data": "batch", "time": "time_steps"}[case.parallel]
            sizes[shared] = max(self.small[shared], case.ranks + 1)
        return replace(case, **sizes)


def workload(name: str, **facts: Any) -> Callable[[Build], Workload]:
    """Makes a function from a case to its network the workload `name`; `facts` are the other fields of `Workload`.

    @workload("linear-lif", axes=("layers", "neurons", "bias"), small={"time_steps": 37, "batch": 3, "neurons": 97})
    def linear_lif(case):
        return Network((case.neurons,), …)
    """
    return lambda network: Workload(name, network, **facts)
