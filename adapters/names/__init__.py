"""Neurons and surrogates by the names that their frameworks give them, as equations of this
project. No framework is imported here.

A file per framework has a function for each of its neurons and surrogates: its name, its arguments
and their defaults are those of the framework, its result is the equation.
"""

from collections.abc import Callable, Mapping
from typing import Any

from . import jaxpike, norse, sinabs, slax, snntorch, spikingjelly, spyx
from .meaning import Meaning as Meaning
from .meaning import Surrogate as Surrogate

NAMES: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "snntorch": snntorch.NAMES,
    "norse": norse.NAMES,
    "spikingjelly": spikingjelly.NAMES,
    "sinabs": sinabs.NAMES,
    "spyx": spyx.NAMES,
    "slax": slax.NAMES,
    "jaxpike": jaxpike.NAMES,
}
"""By framework its neurons, as functions that return a `Meaning`, its surrogates, and other values
that its neurons take by name."""

WITHOUT: Mapping[str, str] = {
    "rockpool": (
        "rockpool's neurons have the surrogate StepPWL, constant above θ − 0.5 and zero below,"
        " which is no equation here"
    ),
    "lava": (
        "lava-dl's neurons compute in integers, with weights of 8 bits and a flat surrogate, which"
        " is no equation here"
    ),
    "brainpy": "brainpy's neurons have times and potentials with units, which no config has",
    "jaxsnn": "jaxsnn has no class for its neuron in discrete time",
    "matterhorn_pytorch": "Matterhorn's neuron has a Gaussian surrogate, which is no equation here",
}
"""Reasons why a framework's neurons are not read, by the package's name."""
