"""Every built-in adapter has one entry in expected.toml, and every entry an adapter with these
constructions."""

import pytest
from support.expected import EXPECTED, HERE, adapter_of

from snnbench.adapters import registry
from snnbench.environments.recipes import load_recipes
from snnbench.runner.variants import twins


def test_every_adapter_has_an_entry_and_every_entry_an_adapter():
    without = registry.FRAMEWORKS.keys() - EXPECTED.keys()
    assert not without, (
        f"tests/adapters/expected.toml says nothing of {', '.join(sorted(without))}: add what is expected of it"
    )
    unknown = EXPECTED.keys() - registry.FRAMEWORKS.keys()
    assert not unknown, (
        f"tests/adapters/expected.toml has {', '.join(sorted(unknown))}, which adapters/registry.py has not"
    )


@pytest.mark.parametrize("name", HERE)
def test_an_entry_names_the_adapter_s_constructions_and_known_neurons(name):
    entry, adapter = HERE[name], adapter_of(name)
    assert adapter.name == name
    assert {*entry["proves"], *entry.get("never", [])} == {*adapter.constructions}
    assert {neuron for neurons in entry["proves"].values() for neuron in neurons} <= twins().keys()
    assert {*entry["counts"], *entry["compiles"]} <= set(adapter.constructions)


def test_only_those_with_an_environment_of_their_own_are_expected_elsewhere():
    in_environments = {
        name
        for home, recipe in load_recipes().items()
        if home != "standard"
        for name in recipe.adapters
    }
    assert {name for name, entry in EXPECTED.items() if entry.get("elsewhere")} == in_environments
