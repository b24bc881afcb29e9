"""Neurons and surrogates by the names that their frameworks give them, as equations of this
project. No framework is imported here.

A file per framework has a function for each of its neurons and surrogates: its name, its arguments
and their defaults are those of the framework, its result is the equation. `NAMES` has them all, and
`WITHOUT` the reasons why no neuron of a framework is an equation here.
"""

from collections.abc import Callable, Mapping
from typing import Any

from . import snntorch
from .meaning import Meaning as Meaning
from .meaning import Surrogate as Surrogate

NAMES: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "snntorch": snntorch.NAMES,
}
"""By framework its neurons, whose functions return a `Meaning`, its surrogates, and other values
that its neurons take by name."""

WITHOUT: Mapping[str, str] = {}
"""By framework the reason why none of its neurons is an equation here."""
