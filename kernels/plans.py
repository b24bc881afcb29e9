"""What modules plan once for all calls of a kind."""

from typing import TypeVar

Plan = TypeVar("Plan")


class CallPlans(dict[tuple, Plan]):
    """The plans of a module by kind of call; a copy of the module makes new ones."""

    def __deepcopy__(self, memo) -> "CallPlans[Plan]":
        return CallPlans()

    def __reduce__(self):
        return CallPlans, ()
