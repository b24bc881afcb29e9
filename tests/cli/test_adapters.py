"""`snnbench adapters`: what every adapter, built in or given as a file, says of itself."""

import json

import pytest
from support.expected import EXPECTED
from support.paths import FAULTY

from snnbench.adapters.registry import BUILT_IN, FRAMEWORKS
from snnbench.core.case import Case
from snnbench.kernels.spec import NEURONS

BROKEN = f"{FAULTY / 'import_raises.py'}:ImportRaises"
# Where a file cannot be run, the adapter's name is read from its source; if that is not plain, its
# class's name will do.
DECLARED = {
    "Annotated": ('name: str = "annotated"', "annotated"),
    "Computed": ('name = "mi" + "ne"', "Computed"),
    "Unpacked": ('names, name = (), "unpacked"', "Unpacked"),
}
EAGER_ONLY = ("jax", "spyx", "rockpool-jax", "snntorch-ipu")
IN_ENVIRONMENTS = {name for name, entry in EXPECTED.items() if entry.get("elsewhere")}
NEVER = {name for name, entry in EXPECTED.items() if "reason" in entry}


@pytest.fixture(scope="module")
def given(snnbench_module):
    """Options that add adapters from files that cannot be run."""
    files = [BROKEN]
    for name, (declared, _) in DECLARED.items():
        (snnbench_module.folder / f"{name}.py").write_text(
            f"class {name}:\n    {declared}\nraise RuntimeError('not today')\n"
        )
        files.append(f"{name}.py:{name}")
    return [word for file in files for word in ("--adapter", file)]


@pytest.fixture(scope="module")
def document(snnbench_module, given):
    ended = snnbench_module("adapters", "--json", *given)
    assert (ended.exit_code, ended.stderr) == (0, ""), ended.stdout
    return json.loads(ended.stdout)


@pytest.fixture(scope="module")
def adapters(document):
    return {entry["name"]: entry for entry in document["adapters"]}


def test_every_adapter_is_in_the_document(document, adapters):
    assert "cpu" in document["devices"]
    assert adapters["torch"]["constructions"] == ["default", "stepwise", "vanilla", "checkpointed"]
    assert adapters["torch"]["neurons"]["native"] == "torch has no native neuron"
    assert adapters["norse"]["neurons"]["native"] is None
    assert {name for name in BUILT_IN if adapters[name]["lacking"]} == IN_ENVIRONMENTS
    for name in FRAMEWORKS:
        entry = adapters[name]
        assert len(entry["source_sha256"]) == 64
        if entry["lacking"]:
            assert f"snnbench env create {entry['environment']}" in entry["lacking"]
            continue
        assert list(entry["neurons"]) == [*NEURONS, "native"]
        assert (entry["neurons"]["soft"] is None) == (name not in NEVER)
        assert entry["modes"][0] == "eager" and len(entry["modes"]) == (
            1 if name in EAGER_ONLY else 5
        )


def test_one_that_cannot_be_imported_is_shown_with_its_error(adapters):
    errors = {name: entry["error"] for name, entry in adapters.items() if "error" in entry}
    assert errors.pop("import-raises") == "RuntimeError: this framework wants another NumPy"
    assert errors == dict.fromkeys(
        [name for _, name in DECLARED.values()], "RuntimeError: not today"
    )
    assert adapters.keys() == {*BUILT_IN, "import-raises", *errors}


def test_every_variant_is_listed_with_its_neurons_or_what_it_lacks(document, adapters):
    variants = {variant["variant"]: variant for variant in document["variants"]}
    wanted = {
        Case(name, construction, mode).framework_variant
        for name in FRAMEWORKS
        for construction in adapters[name]["constructions"]
        for mode in adapters[name]["modes"]
    }
    assert set(variants) == wanted and len(wanted) >= 30
    for variant in variants.values():
        assert (
            variant["ready"] == (None in variant["refusals"].values()) == (variant["lacks"] is None)
        )
        assert variant["ready"] or "\n" not in variant["lacks"]
    on_cpu = {
        name: variant["lacks"] for name, variant in variants.items() if variant["device"] == "cpu"
    }
    expected = {
        "torch": None,
        "norse:lif": None,
        "snntorch:state-leaky": None,
        "spikingjelly:triton": "SpikingJelly's provider triton runs on CUDA devices only",
        "spikingjelly:sliding-psn+graph": "mode graph is a CUDA graph, which needs a CUDA device",
        "norse:lif+compile-max-autotune": "mode compile-max-autotune is for CUDA devices; on a CPU there is compile",
        "snntorch-ipu": "snntorch-ipu needs an IPU and Graphcore's poptorch, which PyPI does not have",
    }
    assert expected.items() <= on_cpu.items() or document["devices"] != ["cpu"]
    assert variants["norse:lif"]["refusals"]["hard(detach_reset=False)"] is None


def test_the_list_has_one_line_for_each_framework(snnbench_module, given):
    ended = snnbench_module("adapters", *given[:2])
    lines = {line.split()[0]: line for line in ended.stdout.splitlines()}
    assert ended.exit_code == 0 and len(ended.stdout.splitlines()) == len(BUILT_IN) + 2
    assert "4 constructions, 5 modes" in lines["torch"]
    assert lines["snntorch-ipu"].endswith(
        "snntorch-ipu needs an IPU and Graphcore's poptorch, which PyPI does not have"
    )
    assert lines["import-raises"].endswith("RuntimeError: this framework wants another NumPy")


@pytest.mark.slow
def test_only_those_that_can_be_run(snnbench_module):
    ended = snnbench_module("adapters", "snntorch", "snntorch-ipu", "--ready")
    assert (
        "snntorch:lapicque" in ended.stdout
        and "slstm" not in ended.stdout
        and "snntorch-ipu" not in ended.stdout
    )


def test_a_named_framework_has_one_line_for_each_ready_variant_and_reason(
    snnbench_module, document
):
    """Not for each variant: of 60 of snnTorch 46 cannot be on a CPU."""
    ended = snnbench_module("adapters", "norse", "snntorch", "snntorch-ipu")
    lines = ended.stdout.splitlines()
    variants = [v for v in document["variants"] if v["framework"] in ("norse", "snntorch")]
    for each in variants:
        ready = [line.split() for line in lines if line.split()[:2] == [each["variant"], "ready"]]
        assert [" ".join(words[2:]) for words in ready] == [
            ", ".join(name for name, reason in each["refusals"].items() if reason is None)
        ] * each["ready"]
    for framework in ("norse", "snntorch"):
        lacking = [v for v in variants if v["framework"] == framework and not v["ready"]]
        for reason in {v["lacks"] for v in lacking}:
            first, *others = [v["variant"] for v in lacking if v["lacks"] == reason]
            more = f" and {len(others)} more" * bool(others)
            assert lines.count(f"  {first}{more}: {reason}") == 1
    needs = "needs an IPU and Graphcore's poptorch, which PyPI does not have"
    assert f"  snntorch-ipu: snntorch-ipu {needs}" in lines
    assert any(line.startswith("snntorch-ipu – environment") for line in lines), (
        "a version that is not known is no empty place"
    )
    assert ended.exit_code == 0 and "sinabs" not in ended.stdout
    assert len(lines) <= 60, "three frameworks on one screen"


def test_an_unknown_name_is_told_with_the_nearest_one(snnbench_module):
    ended = snnbench_module("adapters", "nrose")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "no adapter 'nrose'; did you mean 'norse'?" in ended.stderr


@pytest.mark.slow
def test_an_adapter_that_loads_data_has_strategies(snnbench_module):
    told = snnbench_module("adapters", "tonic").stdout
    assert "tonic:naive, tonic:disk, tonic:memory, tonic:coo" in told and "0 variants" not in told
