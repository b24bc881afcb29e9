"""Workers report what is installed: one worker in each environment answers all questions."""

import pytest
from support.paths import FAULTY, ROOT

from snnbench.adapters.registry import BUILT_IN, FRAMEWORKS
from snnbench.common.mistakes import ConfigError
from snnbench.core.case import NATIVE, Case
from snnbench.core.jobs import Inquiry
from snnbench.core.variant import VariantPattern, parse_variants
from snnbench.environments import inventory
from snnbench.environments.inventory import take_inventory
from snnbench.executors.launch import Outcome
from snnbench.experiment.grid import resolve_variants
from snnbench.kernels.spec import NEURONS
from snnbench.runner.planning import load_plan

NUMPY = f"{FAULTY / 'numpy_network.py'}:NumpyNetwork"
SOFT_UNDECAYED = Case("", neuron=NEURONS["soft-undecayed"], neurons=97)
POINTS = (Case("", neurons=97), SOFT_UNDECAYED, Case("", neuron=NATIVE))


@pytest.fixture
def none_made(monkeypatch, tmp_path):
    """No environment is made."""
    monkeypatch.setenv("SNNBENCH_ENVIRONMENTS", str(tmp_path))


@pytest.fixture
def launched(none_made, monkeypatch):
    """The jobs of started workers, in order."""
    jobs, launch = [], inventory.launch_apart
    monkeypatch.setattr(
        inventory,
        "launch_apart",
        lambda verb, job, *rest: (jobs.append(job), launch(verb, job, *rest))[1],
    )
    return jobs


def test_each_environment_is_asked_once_and_each_third_party_adapter_apart(launched):
    there = take_inventory(
        [NUMPY], Inquiry(frameworks=tuple(parse_variants(["norse:lif", "torch:*"])), points=POINTS)
    )
    assert [job["references"] for job in launched] == [
        (FRAMEWORKS["torch"], FRAMEWORKS["norse"]),
        (NUMPY,),
    ]
    assert list(there.adapters) == [*BUILT_IN, "numpy"], (
        "names of all, for messages about unknown ones"
    )
    assert there.adapters["norse"].version and there.adapters["jax"].version is None
    assert (there.default.name, there.default.devices[0]) == ("default", "cpu")
    numpy = there.adapters["numpy"]
    assert (numpy.reference, numpy.error, numpy.lacking, len(numpy.source_sha256)) == (
        NUMPY,
        None,
        None,
        64,
    )
    assert there.environment_of(numpy) is there.default
    refused = {
        case.id
        for case in (
            Case("numpy", neuron=SOFT_UNDECAYED.neuron, neurons=97),
            Case("numpy", neuron=NATIVE),
        )
    }
    assert there.refusals["numpy"].keys() == refused, (
        "a third-party adapter is asked even if the inquiry does not name it"
    )
    assert there.refusals["torch"][Case("torch", neuron=NATIVE).id] == "torch has no native neuron"
    assert (
        there.refusals["torch"][Case("torch", "stepwise", neuron=NATIVE).id]
        == "torch has no native neuron"
    )
    assert Case("torch", mode="compile", neuron=NATIVE).id not in there.refusals["torch"], (
        "the inquiry does not name that mode"
    )


def test_a_plan_needs_no_second_question(launched, snnbench):
    config = snnbench.config(
        ["numpy"], ["numpy_network.py:NumpyNetwork"], 'neuron = ["soft", "soft-undecayed"]'
    )
    plan = load_plan(config, [], "", [])
    assert len(launched) == 2
    assert [planned.status for planned in plan.cases] == [None, "unsupported"]


@pytest.mark.parametrize(
    ("reference", "name", "words"),
    [
        ("import_raises.py:ImportRaises", "import-raises", "this framework wants another NumPy"),
        ("nowhere.py:Mine", "Mine", "No such file"),
    ],
)
def test_an_adapter_that_cannot_be_asked_is_listed_with_the_error(launched, reference, name, words):
    adapter = take_inventory([f"{FAULTY / reference}"]).adapters[name]
    assert words in adapter.error and adapter.constructions == ("default",)
    assert (
        adapter.as_dict()["error"] == adapter.error
        and adapter.as_dict()["environment"] == "default"
    )


def test_two_files_of_one_name_are_refused_with_both(launched, tmp_path, monkeypatch):
    monkeypatch.setattr(
        inventory,
        "_describe_third_party",
        lambda reference, *rest: {"reference": reference, "name": "mine"},
    )
    files = [f"{tmp_path / folder / 'mine.py'}:Mine" for folder in "ab"]
    with pytest.raises(ConfigError) as caught:
        take_inventory(files)
    assert (
        str(caught.value)
        == f"{files[0]} and {files[1]}: both have the name 'mine'; give one of them another `name`"
    )
    assert take_inventory([files[0], files[0]]).adapters["mine"].reference == files[0], (
        "once more the same"
    )


HEIR = "from snnbench.adapters.torch_loop import TorchLoop\n\n\nclass Mine(TorchLoop):\n    pass\n"


def test_a_file_that_takes_the_name_of_a_built_in_adapter_is_refused(snnbench):
    (snnbench.folder / "mine.py").write_text(HEIR)
    for arguments in (["check"], ["quick"]):
        ended = snnbench(*arguments, "--adapter", "mine.py:Mine")
        assert ended.exit_code == 2
        assert (
            "mine.py:Mine: has the name 'torch', which is that of a built-in adapter; "
            "give it another `name`" in ended.message
        )
    (snnbench.folder / "mine.py").write_text("import nothing_of_it\n" + HEIR + "    name = 'jax'\n")
    ended = snnbench("check", "--adapter", "mine.py:Mine")
    assert ended.exit_code == 2 and "has the name 'jax'" in ended.message


@pytest.mark.usefixtures("none_made")
def test_the_shipped_file_of_a_built_in_adapter_has_its_name():
    reference = f"{ROOT / 'adapters' / 'torch_loop.py'}:TorchLoop"
    for each in (reference, BUILT_IN["torch"]):
        assert take_inventory([each], Inquiry(frameworks=())).adapters["torch"].reference == each


@pytest.mark.usefixtures("none_made")
def test_a_third_party_adapter_runs_where_its_modules_are(tmp_path):
    adapter = take_inventory(
        [f"{FAULTY / 'lava_dl_wrong.py'}:Late"], Inquiry(frameworks=())
    ).adapters["wrong-late-block"]
    if not adapter.missing:
        pytest.skip("lava-dl is installed in the default environment")
    assert adapter.environment == "lava-dl"
    assert "snnbench env create lava-dl" in adapter.lacking
    (tmp_path / "mine.py").write_text(HEIR + "    name = 'mine'\n    requires = ('no_such',)\n")
    adapter = take_inventory([f"{tmp_path / 'mine.py'}:Mine"], Inquiry(frameworks=())).adapters[
        "mine"
    ]
    assert (adapter.environment, adapter.lacking) == ("default", "no_such is not installed")


def test_an_import_that_hangs_is_reported_if_its_name_is_requested(launched, tmp_path, monkeypatch):
    monkeypatch.setattr(inventory, "TIMEOUT_S", 1.0)
    hanging = tmp_path / "hanging.py"
    hanging.write_text("import signal\nsignal.pause()\n")
    monkeypatch.setattr(inventory, "_describe", patient(inventory._describe))
    there = take_inventory([f"{hanging}:Hangs"], Inquiry(frameworks=()))
    with pytest.raises(
        ConfigError,
        match=rf"unknown framework .*; the import of {hanging}:Hangs did not end within 1 s",
    ):
        resolve_variants(VariantPattern("mine"), there.adapters, str)


def patient(answer):
    """The default environment has all the time that it needs."""

    def asked(inquiry, executor):
        if not any(reference.endswith(":Hangs") for reference in inquiry.references):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(inventory, "TIMEOUT_S", 60.0)
                return answer(inquiry, executor)
        return answer(inquiry, executor)

    return asked


def test_a_default_environment_that_takes_too_long_is_one_sentence(monkeypatch):
    late = Outcome(timed_out=True, duration_s=60.0)
    monkeypatch.setattr(inventory, "launch_apart", lambda *job: late)
    with pytest.raises(ConfigError, match="gave no answer within 60 s; try again when the machine"):
        take_inventory([])
