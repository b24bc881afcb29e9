"""What every built-in adapter is expected to do: tests/adapters/expected.toml, and a
construction of one by its name."""

import functools
import tomllib

import pytest
from support.paths import TESTS
from support.proofs import proof_of, refusal_of

from snnbench.adapters import JaxAdapter, registry
from snnbench.core.case import Case
from snnbench.runner.variants import twins

EXPECTED = tomllib.loads((TESTS / "adapters" / "expected.toml").read_text())

HERE = {name: entry for name, entry in EXPECTED.items() if "proves" in entry}
"""Entries of the frameworks that run in the default environment."""

PROVED = {
    name if construction == "default" else f"{name}:{construction}": tuple(neurons)
    for name, entry in HERE.items()
    for construction, neurons in entry["proves"].items()
}
"""`framework:construction` → the neurons that it is proved with."""

NATIVES = {name: entry["native"] for name, entry in HERE.items() if "native" in entry}


def variants(key: str) -> list[str]:
    """`framework` or `framework:construction` of every construction that an entry lists, or has,
    under `key`."""
    return [
        name if construction == "default" else f"{name}:{construction}"
        for name, entry in HERE.items()
        for construction in entry[key]
    ]


@functools.cache
def adapter_of(name: str):
    """The built-in adapter of a `framework` or `framework:construction`."""
    return registry.load(registry.FRAMEWORKS[name.partition(":")[0]])


def on_jax(name: str) -> bool:
    return isinstance(adapter_of(name), JaxAdapter)


def case_of(name: str, neuron="soft", **changes) -> Case:
    """A case of `framework:construction`, `neuron` by its name or as a spec."""
    framework, _, construction = name.partition(":")
    spec = twins()[neuron] if isinstance(neuron, str) else neuron
    first = next(iter(adapter_of(name).constructions))
    return Case(framework, construction or first, neuron=spec, **changes)


def of_frameworks(pairs):
    """Marks a test of frameworks that takes the `name` and the `spec` of each pair."""
    label = lambda value: value if isinstance(value, str) else value.label()
    each = pytest.mark.parametrize(("name", "spec"), pairs, ids=label)
    return lambda test: pytest.mark.frameworks(each(test))


def proved(name: str, neuron="soft", **changes):
    """The proof of a `case_of` these, which the adapter must offer and pass."""
    adapter, case = adapter_of(name), case_of(name, neuron, **changes)
    assert (reason := refusal_of(adapter, case)) is None, reason
    proof = proof_of(adapter, case)
    assert proof.passed, proof.reason
    return proof


def representatives(pairs: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Of (variant, neuron or variation) so many that each variant and, where it can be, each
    second word is there once."""
    chosen: set[tuple[str, str]] = set()
    for name in dict.fromkeys(name for name, _ in pairs):
        mine = [pair for pair in pairs if pair[0] == name]
        counts = {pair: sum(pair[1] == other for _, other in chosen) for pair in mine}
        chosen.add(min(mine, key=counts.__getitem__))
    return chosen | {
        next(pair for pair in pairs if pair[1] == word)
        for word in {w for _, w in pairs} - {w for _, w in chosen}
    }
