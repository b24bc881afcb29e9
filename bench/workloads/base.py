"""A named network: a function from a case to its network, and the axes of a case on which it
depends.

To add a workload: a function under `@workload` in a file of this folder, its name in `__init__.py`,
a line in `docs/networks.md`, and its wrong networks in `tests/faults/wrong/` with their words in
`faults.toml`. CONTRIBUTING.md has more on new axes and new kinds of nodes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.case import NO_NETWORK, RECIPES, SPIKE_SHARE, WORKLOAD_AXES, Case
from ..core.network import Network
from ..core.training import PLAIN

Build = Callable[[Case], Network]


@dataclass(frozen=True)
class Workload:
    """A named network.

    `network` builds the network of a case, and `axes` are the fields of the case on which it
    depends. `fixed` are fields with one value in every case of this workload. `small` are the odd
    sizes at which every proof begins, time steps and batch among them. `samples` is the size of an
    epoch of the data set that a network was published with.
    """

    name: str
    network: Build
    axes: tuple[str, ...]
    small: Mapping[str, int]
    fixed: Mapping[str, Any] = field(default_factory=dict)
    samples: int | None = None

    @property
    def summary(self) -> str:
        """A description of the network: the first paragraph of the function's docstring."""
        return " ".join((self.network.__doc__ or "").partition("\n\n")[0].split())

    def canonical(self, case: Case) -> Case:
        """Returns `case` with the fixed fields, and None for absent axes and the usual `firing` and
        `recipe`: no case is measured twice under two names."""
        values: dict[str, Any] = {axis: None for axis in WORKLOAD_AXES if axis not in self.axes} | {
            **self.fixed
        }
        if case.input != "spikes" or case.firing == SPIKE_SHARE:
            values["firing"] = None
        if case.recipe == RECIPES[0] or case.behind == NO_NETWORK:
            values["recipe"] = None
        if case.ranks == 1:
            values |= {"parallel": None, "ranks": None}
        values |= {axis: None for axis, plain in PLAIN.items() if getattr(case, axis) == plain}
        return replace(case, **values)

    def ignores(self, axis: str, values: Sequence[Any]) -> bool:
        """Returns whether `values` of a case's field have no effect: the field is absent, or fixed
        to another value."""
        absent = axis in WORKLOAD_AXES and axis not in self.axes
        return (absent or axis in self.fixed) and list(values) != [self.fixed.get(axis)]

    def small_case(self, case: Case, input: str = "spikes") -> Case:
        """Returns `case` at the small odd sizes, with another kind of input and enough spikes for a
        proof. Ranks get uneven parts, none of them empty."""
        sizes: dict[str, Any] = {**self.small, "input": input, "firing": None}
        if case.ranks:
            shared = {"data": "batch", "time": "time_steps"}[case.parallel]
            sizes[shared] = max(self.small[shared], case.ranks + 1)
        return replace(case, **sizes)


def workload(name: str, **facts: Any) -> Callable[[Build], Workload]:
    """Decorates a function from a case to its network as the workload `name`; `facts` are the other
    fields of `Workload`.

        @workload("linear-lif", axes=("layers", "neurons"), small={"time_steps": 37, "batch": 3, …})
        def linear_lif(case):
            return Network((case.neurons,), …)
    """
    return lambda network: Workload(name, network, **facts)
