"""The proof must be able to fail: every wrong adapter is rejected with a message that names what
is wrong with it."""

import importlib.util
import tomllib

import pytest
import torch
from support.paths import WRONG
from support.proofs import proof_of
from support.slow import COVERED, KINDS, PLANTED, one_of_each, without

from snnbench.adapters import registry
from snnbench.core.case import Case
from snnbench.kernels.spec import NEURONS

TABLE = tomllib.loads((WRONG / "faults.toml").read_text())
FAULTS, SOFT, NINE_ITEMS, STACKS = (
    TABLE[key] for key in ("faults", "soft", "nine_items", "stacks")
)
TIMED = [
    fault
    for kind in (
        *("timed", "timed_networks", "foreseeing", "timed_stacks", "timed_natives"),
        *("timed_steps", "weighed"),
    )
    for fault in TABLE[kind]
]
"""Tried in tests/proof/test_recheck.py, those that are `weighed` in tests/measure/test_memory.py."""
NETWORKS = [
    fault for kind in ("networks", "real") for faults in TABLE[kind].values() for fault in faults
]
"""Tried in tests/proof/test_wrong_networks.py."""
STEPS = [fault for faults in TABLE["steps"].values() for fault in faults]
"""Tried in tests/proof/test_wrong_steps.py."""

RESETS = ("soft", "hard", "none")
BY_RESET = [(fault, neuron) for fault in FAULTS for neuron in TABLE["only"].get(fault, RESETS)]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Proofs use all cores they may; these problems are too small for that."""
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0}, raising=False)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def case_of(name, neuron, **changes):
    return Case(
        name, **{"neuron": NEURONS[neuron], "neurons": 130, "time_steps": 40, "batch": 4, **changes}
    )


def proof_of_wrong(reference, neuron, **changes):
    source, _, name = reference.rpartition(":")
    adapter = registry.load(
        f"{WRONG / source}:{name}" if source.endswith(".py") and "/" not in source else reference
    )
    return proof_of(adapter, case_of(adapter.name, neuron, **changes))


@pytest.mark.parametrize(
    ("fault", "neuron"), one_of_each(BY_RESET, COVERED), ids=lambda value: value
)
def test_a_wrong_adapter_is_rejected_and_its_fault_named(fault, neuron):
    proof = proof_of_wrong(fault, neuron)
    assert not proof.passed
    assert FAULTS[fault] in proof.reason


@pytest.mark.parametrize("fault", without(COVERED, SOFT))
def test_so_is_one_with_a_fault_that_does_not_depend_on_the_reset(fault):
    proof = proof_of_wrong(fault, "soft")
    assert not proof.passed
    assert SOFT[fault] in proof.reason


@pytest.mark.parametrize("fault", without(COVERED, NINE_ITEMS))
def test_what_is_wrong_with_many_batch_items_alone_is_named(fault):
    proof = proof_of_wrong(fault, "soft", batch=9)
    assert not proof.passed
    assert NINE_ITEMS[fault] in proof.reason


@pytest.mark.parametrize(
    ("fault", "neuron"),
    one_of_each([(fault, neuron) for fault in STACKS for neuron in RESETS], COVERED),
)
def test_what_is_wrong_behind_the_first_layer_is_named_too(fault, neuron):
    proof = proof_of_wrong(fault, neuron, layers=3)
    assert not proof.passed
    assert STACKS[fault] in proof.reason


@pytest.mark.parametrize(
    ("reference", "neuron"),
    one_of_each(
        [(r, neuron) for r in (*TABLE["right"], registry.FRAMEWORKS["torch"]) for neuron in RESETS],
        COVERED,
    ),
)
def test_a_right_adapter_passes_every_stage(reference, neuron):
    proof = proof_of_wrong(reference, neuron)
    assert proof.passed, proof.reason
    assert [stage.name for stage in proof.stages] == [
        "small problem, fp32, spikes",
        "small problem, fp32, inference",
        "small problem, fp32, time axis",
        "own size, fp32",
    ]


@pytest.mark.parametrize("path", sorted(WRONG.glob("*.py")), ids=lambda path: path.name)
def test_every_adapter_in_the_folder_is_in_the_table_and_says_what_is_wrong(path, monkeypatch):
    monkeypatch.syspath_prepend(str(WRONG))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    own = {
        name: kind
        for name, kind in vars(module).items()
        if getattr(kind, "__module__", "") == path.stem
    }
    here = {name: kind for name, kind in own.items() if "name" in vars(kind)}
    natives = [*TABLE["natives"], *TABLE["natives_without_fault"]]
    in_processes = [*TABLE["malice"], *TABLE["rewrites_records"]]
    table = [
        *FAULTS,
        *SOFT,
        *NINE_ITEMS,
        *STACKS,
        *NETWORKS,
        *STEPS,
        *TABLE["synapses"],
        *TABLE["recurrent_synapses"],
        *TABLE["decays"],
        *TABLE["adaptation"],
        *TABLE["adaptation_currents"],
        *TABLE["rounding"],
        *TABLE["classes"],
        *TABLE["ranks"],
        *TABLE["devices"],
        *TIMED,
        *natives,
        *TABLE["right"],
        *TABLE["right_steps"],
        *in_processes,
    ]
    assert {f"{path.name}:{name}" for name in here} == {
        entry for entry in table if entry.startswith(f"{path.name}:")
    }
    assert all(kind.__doc__ and "\n" not in kind.__doc__ for kind in here.values())


def test_of_each_kind_a_fault_is_planted():
    assert KINDS <= PLANTED


def test_a_fault_that_shows_only_at_the_own_size_is_found_there():
    proof = proof_of_wrong("output.py:RightBelow128", "soft")
    assert [stage.verdict.passed for stage in proof.stages] == [True, True, True, False]


def test_the_first_failing_stage_ends_the_proof():
    assert len(proof_of_wrong("output.py:Silent", "soft").stages) == 1
