"""The verbs beside `run`: one JSON document where it is asked for, one sentence for a mistake, help for a newcomer."""

import json
import tomllib

import pytest
from support.paths import FAULTY, WRONG

from snnbench import __version__
from snnbench.adapters.base.case import Case
from snnbench.adapters.registry import BUILT_IN
from snnbench.kernels.spec import NEURONS

NUMPY = FAULTY / "numpy_network.py"
TINY = ["--neurons", 31, "--time-steps", 41, "--batch", 3]
EAGER_ONLY = ("jax", "spyx", "rockpool-jax", "bindsnet", "snntorch-ipu")
VERBS = ["env", "run", "plan", "check", "adapters", "doctor", "report", "init"]
IN_ENVIRONMENTS = {"lava-dl", "spikingjelly-cupy", "sinabs-exodus", "rockpool-exodus"}


def document(ended):
    assert ended.exit_code == 0, ended.stdout + ended.stderr
    assert ended.stderr == ""
    return json.loads(ended.stdout)


# -- check ------------------------------------------------------------------------------------------------------


def test_check_is_one_json_document(snnbench):
    (found,) = document(snnbench("check", "torch", "--neuron", "soft", "--json", *TINY))
    assert found["status"] == "ok"
    assert found["case"]["framework"] == "torch"
    assert found["proof"]["passed"] is True
    own_size = found["proof"]["stages"][-1]
    assert (own_size["name"], own_size["neurons"]) == ("own size, fp32", 31)
    assert 0 <= own_size["grad_error"] <= 1e-5


def test_check_of_any_adapter_shows_every_neuron(snnbench):
    found = document(snnbench("check", "--adapter", f"{NUMPY}:NumpyNetwork", "--json", *TINY))
    statuses = {entry["case"]["neuron"]["reset"]: entry["status"] for entry in found}
    assert statuses == dict.fromkeys(("soft", "hard", "none"), "ok") | dict.fromkeys(
        ("soft-undecayed", "hard-straight"), "unsupported"
    )
    assert all(entry["reason"] for entry in found if entry["status"] == "unsupported")


def test_check_of_a_variant(snnbench):
    (found,) = document(snnbench("check", "torch:stepwise", "--neuron", "soft", "--json", *TINY))
    assert (found["status"], found["case"]["construction"], found["case"]["mode"]) == ("ok", "stepwise", "eager")
    ended = snnbench("check", "torch:graph", "--neuron", "soft", *TINY)
    assert ended.exit_code == 6
    assert "CUDA graph" in ended.stdout
    ended = snnbench("check", "torch:stepwise+compiled", "--neuron", "soft", *TINY)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "torch has no 'compiled'" in ended.message
    assert "did you mean 'compile'" in ended.message


@pytest.mark.parametrize("reference", ["time_axis.py:Late", "constants.py:DecayOff", "gradients.py:OtherSurrogate"])
def test_a_wrong_adapter_ends_with_4_and_its_fault_is_named(snnbench, reference):
    fault = tomllib.loads((WRONG / "faults.toml").read_text())["faults"][reference]
    ended = snnbench("check", "--adapter", f"{WRONG / reference}", "--neuron", "soft")
    assert ended.exit_code == 4
    assert fault in ended.stdout
    assert "check_failed" in ended.stdout


def test_a_framework_that_is_not_installed_matters_to_who_asked_for_it(snnbench):
    given = ["--adapter", f"{NUMPY.parent / 'raising.py'}:NotInstalled", "--neuron", "soft"]
    assert snnbench("check", "not-installed", *given).exit_code == 3
    assert snnbench("check", *given).exit_code == 6


def test_what_cannot_be_spelled_is_said_and_is_no_failure(snnbench):
    given = ["--adapter", f"{NUMPY}:NumpyNetwork", "--neuron", "soft", "--neuron", "hard-straight", *TINY]
    ended = snnbench("check", *given)
    assert ended.exit_code == 0
    assert "unsupported" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["torc"], ["unknown framework 'torc'", "did you mean 'torch'"]),
        (["torch", "--neuron", "sofd"], ["--neuron", "sofd", "did you mean 'soft'"]),
        (["torch", "--precision", "fp23"], ["--precision fp23", "fp32, tf32, bf16"]),
        (["torch", "--workload", "lfi"], ["--workload lfi", "linear-lif, lif"]),
        (["torch", "--input", "spike"], ["--input spike", "spikes, dense"]),
        (["torch", "--device", "gpu"], ["--device gpu", "cpu, cuda or cuda:0"]),
        (["--adapter", "nowhere.py:Mine"], ["--adapter = 'nowhere.py:Mine'", "there is no file"]),
    ],
)
def test_a_mistake_names_the_option_the_value_and_what_would_be_right(snnbench, arguments, words):
    ended = snnbench("check", *arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert [word for word in words if word not in ended.message] == [], ended.message


@pytest.mark.parametrize("arguments", [["--neurons", "0"], ["--batch", "-3"], ["--layers", "two"], ["--no-such-option"]])
def test_wrong_usage_ends_with_2(snnbench, arguments):
    ended = snnbench("check", "torch", *arguments)
    assert ended.exit_code == 2
    assert arguments[0] in ended.stderr
    assert "Traceback" not in ended.stderr


# -- adapters, doctor, plan -------------------------------------------------------------------------------------


def test_adapters_is_one_json_document(snnbench):
    found = document(snnbench("adapters", "--json"))
    adapters = {entry["name"]: entry for entry in found["adapters"]}
    assert set(adapters) == set(BUILT_IN)
    assert "cpu" in found["devices"]
    assert adapters["torch"]["constructions"] == ["default", "stepwise"]
    assert adapters["torch"]["neurons"]["native"] == "torch has no native neuron"
    assert adapters["norse"]["neurons"]["native"] is None
    assert {name for name, entry in adapters.items() if entry["lacking"]} == IN_ENVIRONMENTS
    for entry in adapters.values():
        assert len(entry["source_sha256"]) == 64
        if entry["lacking"]:
            assert f"snnbench env create {entry['environment']}" in entry["lacking"]
            continue
        assert list(entry["neurons"]) == [*NEURONS, "native"]
        assert (entry["neurons"]["soft"] is None) == (entry["name"] not in ("bindsnet", "snntorch-ipu"))
        assert entry["modes"][0] == "eager" and len(entry["modes"]) == (1 if entry["name"] in EAGER_ONLY else 5)


def test_adapters_lists_every_variant_with_its_neurons_or_what_it_lacks(snnbench):
    found = document(snnbench("adapters", "--json"))
    variants = {variant["variant"]: variant for variant in found["variants"]}
    wanted = {
        Case(entry["name"], construction, mode).framework_variant
        for entry in found["adapters"]
        for construction in entry["constructions"]
        for mode in entry["modes"]
    }
    assert set(variants) == wanted and len(wanted) >= 30
    for variant in variants.values():
        assert variant["ready"] == (None in variant["refusals"].values()) == (variant["lacks"] is None)
        assert variant["ready"] or "\n" not in variant["lacks"]
    on_cpu = {name: variant["lacks"] for name, variant in variants.items() if variant["device"] == "cpu"}
    expected = {
        "torch": None,
        "norse:lif": None,
        "snntorch:state-leaky": None,
        "spikingjelly:triton": "SpikingJelly's provider triton runs on CUDA devices only",
        "spikingjelly:sliding-psn+graph": "mode graph is a CUDA graph, which needs a CUDA device",
        "norse:lif+compile-max-autotune": "mode compile-max-autotune is for CUDA devices; on a CPU there is compile",
        "bindsnet": "BindsNET's spikes are v >= thresh, a tensor of bool: no gradient passes them, so no backward to prove",
        "snntorch-ipu": "snntorch-ipu needs an IPU and Graphcore's poptorch, which PyPI does not have",
    }
    assert expected.items() <= on_cpu.items() or found["devices"] != ["cpu"]
    assert variants["norse:lif"]["refusals"]["hard(detach_reset=False)"] is None


def test_adapters_prints_one_line_for_each_variant(snnbench):
    lines = [line.split() for line in snnbench("adapters").stdout.splitlines()]
    (ready,) = [line for line in lines if line[:1] == ["norse:lif-box-cell"]]
    assert ready[1:4] == ["ready", "soft,", "hard,"]
    (lacking,) = [line for line in lines if line[:1] == ["snntorch-ipu"] and line[1] != "environment"]
    assert " ".join(lacking[1:]) == "snntorch-ipu needs an IPU and Graphcore's poptorch, which PyPI does not have"


def test_adapters_shows_one_that_cannot_be_imported(snnbench):
    broken = f"{NUMPY.parent / 'import_raises.py'}:ImportRaises"
    ended = snnbench("adapters", "--adapter", broken)
    assert ended.exit_code == 0
    assert "import-raises" in ended.stdout
    found = document(snnbench("adapters", "--adapter", broken, "--json"))
    (entry,) = [entry for entry in found["adapters"] if entry["name"] == "import-raises"]
    assert entry["error"] == "RuntimeError: this framework wants another NumPy"


@pytest.mark.parametrize("declared", ['name: str = "mine"', 'name = "mi" + "ne"', 'names, name = (), "mine"'])
def test_an_adapter_may_declare_its_name_as_python_allows(snnbench, declared):
    """Where its file cannot be run its name is read from the source; if that is not plain, its class's will do."""
    (snnbench.folder / "mine.py").write_text(f"class Mine:\n    {declared}\nraise RuntimeError('not today')\n")
    found = document(snnbench("adapters", "--adapter", "mine.py:Mine", "--json"))
    wanted = "mine" if "str" in declared else "Mine"
    assert {entry["name"]: entry["error"] for entry in found["adapters"] if "error" in entry} == {
        wanted: "RuntimeError: not today"
    }


def test_doctor_is_one_json_document(snnbench):
    found = document(snnbench("doctor", "--json"))
    assert found["machine"]["memory_bytes"] > 0
    assert len(found["machine"]["hash"]) == 12
    assert isinstance(found["advice"], list)
    assert "ceilings" not in found


def test_plan_is_one_json_document_and_writes_nothing(snnbench):
    grid = 'neurons = [31, 97]\nneuron = ["soft", "soft-undecayed"]\ntime_steps = [37]\nbatch = [3]\ndevice = ["cpu"]'
    config = snnbench.config(["numpy"], [f"{NUMPY.name}:NumpyNetwork"], grid, "rounds = 2")
    before = sorted(snnbench.folder.rglob("*"))
    found = document(snnbench("plan", "--config", config, "--json"))
    assert sorted(snnbench.folder.rglob("*")) == before
    assert found["estimate_s"] > 0
    assert [(c["case"]["neurons"], c["case"]["neuron"]["reset"], c["state"], c["rounds_left"]) for c in found["cases"]] == [
        (31, "soft", "to do", 2),
        (97, "soft", "to do", 2),
        (31, "soft-undecayed", "unsupported", 0),
        (97, "soft-undecayed", "unsupported", 0),
    ]
    assert "NumPy is offered here" in found["cases"][-1]["reason"]
    table = snnbench("plan", "--config", config)
    assert table.exit_code == 0
    assert "4 cases, 2 rounds" in table.stdout


# -- init, report, help -----------------------------------------------------------------------------------------


def test_init_writes_a_config_that_plan_accepts_and_overwrites_nothing(snnbench):
    assert snnbench("init", "mine.toml").exit_code == 0
    text = (snnbench.folder / "mine.toml").read_text()
    assert document(snnbench("plan", "--config", "mine.toml", "--json"))["cases"]
    again = snnbench("init", "mine.toml")
    assert again.exit_code == 2
    assert "mine.toml: exists already" in again.message
    assert (snnbench.folder / "mine.toml").read_text() == text


@pytest.mark.parametrize("verb", [["init", "nowhere/mine.toml"], ["run", "--config", "mine.toml", "--out", "mine.toml"]])
def test_a_place_that_cannot_be_written_to_is_the_user_s_mistake(snnbench, verb):
    snnbench.config(["numpy"], [f"{NUMPY.name}:NumpyNetwork"], name="mine")
    ended = snnbench(*verb)
    assert ended.exit_code == 2
    assert verb[-1] in ended.message
    assert "What was finished is kept" not in ended.message


def test_the_starter_names_every_key(snnbench):
    schema = document(snnbench("init", "--schema"))
    assert list(snnbench.folder.glob("*.toml")) == []
    assert snnbench("init").exit_code == 0
    text = (snnbench.folder / "experiment.toml").read_text()
    keys = [*schema["properties"], *schema["$defs"]["Grid"]["properties"], *schema["$defs"]["Measure"]["properties"]]
    assert [key for key in keys if key not in text] == []


def test_a_report_of_nothing(snnbench):
    missing = snnbench("report", "nowhere")
    assert (missing.exit_code, missing.message) == (2, "snnbench: nowhere: there is no such folder")
    (snnbench.folder / "results.csv").touch()
    file = snnbench("compare", "results.csv", "nowhere")
    assert (file.exit_code, file.message.split("; ")[0]) == (2, "snnbench: results.csv: it is a file")
    (snnbench.folder / "empty").mkdir()
    empty = snnbench("report", "empty")
    assert empty.exit_code == 6
    assert "no records there" in empty.message
    assert list((snnbench.folder / "empty").iterdir()) == []


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(snnbench, verb):
    ended = snnbench(verb, "--help")
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert "Usage: snnbench" in ended.stdout


def test_help_and_version(snnbench):
    overview = snnbench("--help")
    assert overview.exit_code == 0
    assert [verb for verb in VERBS if verb not in overview.stdout] == []
    assert "Exit codes" in overview.stdout
    assert snnbench("--version").stdout == f"snnbench {__version__}\n"
