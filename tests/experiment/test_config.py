"""A mistake in a config ends in one sentence that names file, key, value and what would be right."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paths import ROOT

from snnbench.common.mistakes import ConfigError
from snnbench.experiment.config import Experiment, check_reference, load_config
from snnbench.experiment.setting import parse_setting
from snnbench.experiment.values import parse_duration, parse_neuron, parse_size
from snnbench.kernels.spec import NEURONS, NeuronSpec

CONFIGS = sorted((ROOT / "configs").glob("*.toml"))

MISTAKES = {
    # what: (text of the config, words of the message)
    "unknown key": ('name = "a"\nsede = 1', ["sede", "did you mean 'seed'"]),
    "key of another table": (
        'name = "a"\n[grid]\nblocks = [1]',
        ["grid.blocks", "did you mean 'measure.blocks'"],
    ),
    "key of the top level": (
        'name = "a"\n[measure]\nseed = 1',
        ["measure.seed", "did you mean 'seed'"],
    ),
    "unknown table": ('name = "a"\n[gird]\nbatch = [1]', ["gird", "did you mean 'grid'"]),
    "unknown key in grid": (
        'name = "a"\n[grid]\nneuron_count = [1]',
        ["grid.neuron_count", "did you mean 'neuron' or 'neurons'?"],
    ),
    "unknown key in measure": (
        'name = "a"\n[measure]\nblock = 1',
        ["measure.block", "did you mean 'blocks'"],
    ),
    "a key like none": ('name = "a"\n[grid]\nxyz = [1]', ["grid.xyz", "[grid] has framework, "]),
    "no name": ("seed = 1", ["name", "is missing"]),
    "name with a slash": ('name = "a/b"', ["name = 'a/b'", "letters, digits"]),
    "name of the parent folder": ('name = ".."', ["name = '..'", "letters, digits"]),
    "seed is text": ('name = "a"\nseed = "one"', ["seed = 'one'", "whole number"]),
    "seed is negative": ('name = "a"\nseed = -1', ["seed = -1", "at least 0"]),
    "axis is no list": (
        'name = "a"\n[grid]\nneurons = 64',
        ["grid.neurons = 64", "must be a list"],
    ),
    "axis is empty": ('name = "a"\n[grid]\nneurons = []', ["grid.neurons = []", "is empty"]),
    "framework is empty": (
        'name = "a"\n[grid]\nframework = []',
        ["grid.framework = []", "is empty"],
    ),
    "device is empty": ('name = "a"\n[grid]\ndevice = []', ["grid.device = []", "is empty"]),
    "negative size": (
        'name = "a"\n[grid]\nbatch = [16, -4]',
        ["grid.batch = -4", "must be above 0"],
    ),
    "zero size": (
        'name = "a"\n[grid]\ntime_steps = [0]',
        ["grid.time_steps = 0", "must be above 0"],
    ),
    "a phase": (
        'name = "a"\n[measure]\nphases = ["stp"]',
        ["measure.phases = 'stp'", "did you mean 'step'"],
    ),
    "a rank by a phase that is not timed": (
        'name = "a"\n[measure]\nrank_by = "inference"\nphases = ["step"]',
        ["measure.phases = ['step']", "must have 'inference' among them"],
    ),
    "several phases and none that ranks": (
        'name = "a"\n[measure]\nphases = ["forward", "inference"]',
        ["measure.phases", "needs rank_by"],
    ),
    "no phase": ('name = "a"\n[measure]\nphases = []', ["measure.phases = []", "is empty"]),
    "zero layers": ('name = "a"\n[grid]\nlayers = [0]', ["grid.layers = 0", "must be above 0"]),
    "size is a boolean": (
        'name = "a"\n[grid]\nneurons = [true]',
        ["grid.neurons = True", "whole number"],
    ),
    "size is a fraction": (
        'name = "a"\n[grid]\nneurons = [64.5]',
        ["grid.neurons = 64.5", "whole number"],
    ),
    "size is a whole float": (
        'name = "a"\n[grid]\nneurons = [64.0]',
        ["grid.neurons = 64.0", "whole number"],
    ),
    "bias is a number": ('name = "a"\n[grid]\nbias = [1]', ["grid.bias = 1", "true or false"]),
    "grid is no table": ('name = "a"\ngrid = 3', ["grid = 3", "must be a table"]),
    "framework is a number": (
        'name = "a"\n[grid]\nframework = [3]',
        ["grid.framework = 3", "must be a text"],
    ),
    "framework is misspelt": (
        'name = "a"\n[grid]\nframework = ["norse:"]',
        ["grid.framework = 'norse:'", "norse:construction"],
    ),
    "neuron is unknown": (
        'name = "a"\n[grid]\nneuron = ["sofd"]',
        ["grid.neuron = 'sofd'", "did you mean 'soft'"],
    ),
    "neuron has no such field": (
        'name = "a"\n[grid]\nneuron = [{ decai = 0.5 }]',
        ["grid.neuron", "'decai'", "did you mean 'decay'"],
    ),
    "neuron has no such reset": (
        'name = "a"\n[grid]\nneuron = [{ reset = "hart" }]',
        ["'hart'", "did you mean 'hard'"],
    ),
    "neuron outside its domain": (
        'name = "a"\n[grid]\nneuron = [{ decay = 1.5 }]',
        ["grid.neuron", "decay = 1.5", "at most 1"],
    ),
    "neuron field of another kind": (
        'name = "a"\n[grid]\nneuron = [{ decay = "x" }]',
        ["grid.neuron", "a number for decay"],
    ),
    "neuron is a number": (
        'name = "a"\n[grid]\nneuron = [3]',
        ["grid.neuron = 3", "name of a neuron"],
    ),
    "precision": (
        'name = "a"\n[grid]\nprecision = ["fp23"]',
        ["grid.precision = 'fp23'", "did you mean 'fp32'", "bf16"],
    ),
    "workload": (
        'name = "a"\n[grid]\nworkload = ["linear-if"]',
        ["grid.workload = 'linear-if'", "did you mean 'linear-lif'"],
    ),
    "input": (
        'name = "a"\n[grid]\ninput = ["spike"]',
        ["grid.input = 'spike'", "did you mean 'spikes'"],
    ),
    "device": ('name = "a"\n[grid]\ndevice = ["gpu"]', ["grid.device = 'gpu'", "'cuda'"]),
    "duration without unit": (
        'name = "a"\n[measure]\nbudget = 60',
        ["measure.budget = 60", "'500ms', '60s' or '10m'"],
    ),
    "duration with unknown unit": (
        'name = "a"\n[measure]\nbudget = "3 days"',
        ["measure.budget = '3 days'", "'60s'"],
    ),
    "duration is negative": (
        'name = "a"\n[measure]\ntimeout = "-3s"',
        ["measure.timeout = '-3s'", "'60s'"],
    ),
    "duration is zero": (
        'name = "a"\n[measure]\nbudget = "0s"',
        ["measure.budget = '0s'", "'60s'"],
    ),
    "size without unit": (
        'name = "a"\n[measure]\nhost_memory = "16"',
        ["measure.host_memory = '16'", "'16GiB'"],
    ),
    "size with unknown unit": (
        'name = "a"\n[measure]\nhost_memory = "16 gigs"',
        ["measure.host_memory = '16 gigs'", "'16GiB'"],
    ),
    "a firing rate of no spikes": (
        'name = "a"\n[grid]\ninput = ["dense"]\nfiring = [0.1]',
        ["grid.firing = [0.1]: means nothing for input = ['dense']; leave it out"],
    ),
    "a firing rate above one": (
        'name = "a"\n[grid]\nfiring = [15]',
        ["grid.firing = 15", "at most 1"],
    ),
    "no blocks": ('name = "a"\n[measure]\nblocks = 0', ["measure.blocks = 0", "above 0"]),
    "no passes": ('name = "a"\n[measure]\npasses = 0', ["measure.passes = 0", "above 0"]),
    "threads": ('name = "a"\n[measure]\nthreads = -1', ["measure.threads = -1", "at least 0"]),
    "exclude is unknown": (
        'name = "a"\nexclude = [{ neurns = 4 }]',
        ["exclude", "'neurns'", "did you mean 'neurons'"],
    ),
    "exclude has an unknown neuron": (
        'name = "a"\nexclude = [{ neuron = "sofd" }]',
        ["exclude.neuron = 'sofd'", "did you mean 'soft'"],
    ),
    "include has a framework": (
        'name = "a"\n[[include]]\nframework = ["torch"]',
        ["include", "'framework' is no axis of a network"],
    ),
    "include has an unknown workload": (
        'name = "a"\n[[include]]\nworkload = ["mnist-mlq"]',
        ["include.workload = 'mnist-mlq'", "did you mean 'mnist-mlp'"],
    ),
    "include has an axis that its workload lacks": (
        'name = "a"\n[[include]]\nclasses = [10]',
        ["include.classes = [10]: means nothing for linear-lif"],
    ),
    "exclude is no table": (
        'name = "a"\nexclude = ["torch"]',
        ["exclude = 'torch'", "must be a table"],
    ),
    "adapter without class": (
        'name = "a"\nadapters = ["mine.py"]',
        ["adapters = 'mine.py'", "'file.py:Class'"],
    ),
    "adapter file is missing": (
        'name = "a"\nadapters = ["mine.py:Mine"]',
        ["adapters = 'mine.py:Mine'", "there is no file"],
    ),
    "not TOML": ("name = a", ["is not TOML", "a text without quotes", "line 1"]),
    "two keys": ('name = "a"\nname = "b"\nseed = 1\n', ["a key stands twice (at line 2"]),
    "two tables": ("[grid]\n[grid]", ["is not TOML: a table stands twice (at line 2"]),
    "an open text": ('name = "a\n', ["a text in quotes does not end on its line (at line 1"]),
    "an open list": ('name = "a"\n[grid]\nneurons = [1', ["a list does not end with ] (at end"]),
    "an open table": ("[grid\n", ["the name of a table does not end with its bracket (at line"]),
    "two on a line": ("name = 'a' b = 3", ["each key has a line of its own (at line 1"]),
    "no equals sign": ("name 'a'", ["a key has no = and no value (at line 1"]),
    **{
        f"{axis} of {workload}": (
            f'name = "a"\n[grid]\nworkload = {json.dumps([workload])}\n{axis} = {json.dumps(values)}',
            [f"grid.{axis} = {values}: means nothing for {workload}; leave it out"],
        )
        for workload, axis, values in (
            *(
                ("lif", "layers", [3]),
                ("lif", "bias", [True]),
                ("lif", "input_grad", [True, False]),
                ("linear-lif", "width", [8]),
            ),
            *(
                ("linear-lif", "norm", [False]),
                ("alexnet", "neurons", [64]),
                ("alexnet", "norm", [False]),
            ),
        )
    },
}


def message_of(path):
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    return str(caught.value)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_file_key_value_and_what_would_be_right(tmp_path, mistake):
    text, words = MISTAKES[mistake]
    path = tmp_path / "mine.toml"
    path.write_text(text)
    message = message_of(path)
    assert message.startswith(f"{path}: ")
    assert [word for word in words if word not in message] == [], message
    assert "\n" not in message


@pytest.mark.parametrize(
    "grid",
    ['workload = ["lif"]\nlayers = [1]', 'workload = ["lif", "linear-lif"]\nlayers = [1, 3]'],
)
def test_an_axis_may_stand_there_that_changes_nothing_or_is_another_workload_s(tmp_path, grid):
    (path := tmp_path / "mine.toml").write_text(f'name = "a"\n[grid]\n{grid}')
    assert load_config(path).grid.layers


def test_a_nir_file_is_no_config_and_belongs_into_one(tmp_path):
    with pytest.raises(ConfigError, match=r"net.nir: is no config; a NIR file .* \[network\]"):
        load_config(tmp_path / "net.nir")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'name = "\xe9"', ["is not UTF-8 text", "byte 8"]),
        ('name = "a"'.encode("utf-16"), ["is not UTF-8 text"]),
    ],
)
def test_a_file_that_is_not_utf8(tmp_path, content, words):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    assert all(word in message_of(path) for word in words)


def test_a_file_that_is_not_there_suggests_its_neighbour(tmp_path):
    (tmp_path / "scaling.toml").touch()
    assert message_of(tmp_path / "scalign.toml") == (
        f"{tmp_path / 'scalign.toml'}: there is no such file; did you mean 'scaling.toml'?"
    )
    assert "there is no such file" in message_of(tmp_path / "nowhere" / "mine.toml")


def test_a_folder_is_no_config(tmp_path):
    assert "cannot be read: Is a directory" in message_of(tmp_path)


def test_adapters_are_found_beside_the_config(tmp_path):
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "mine.py").touch()
    path = tmp_path / "here" / "mine.toml"
    path.write_text('name = "a"\nadapters = ["mine.py:Mine", "package.module:Other"]')
    assert load_config(path).adapters == [f"{tmp_path}/here/mine.py:Mine", "package.module:Other"]


@pytest.mark.parametrize(
    "reference", ["mine.py", "mine.py:", ":Mine", "mine.py:not a name", "nowhere.py:Mine"]
)
def test_a_wrong_adapter_reference_is_named(tmp_path, reference):
    with pytest.raises(ConfigError, match="--adapter = "):
        check_reference(reference, tmp_path, "--adapter")


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_shipped_configs_load(path):
    experiment = load_config(path)
    assert experiment.name == path.stem


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
def test_values_are_read_as_the_file_that_has_them_and_stay_as_they_are(path, monkeypatch):
    monkeypatch.chdir(path.parent)  # files in values are named relative to the current folder
    values, before = tomllib.loads(path.read_text()), tomllib.loads(path.read_text())
    settings = [parse_setting("grid.batch=3")]
    assert load_config(values, settings) == load_config(path, settings)
    assert values == before


def test_one_block_is_one_unless_further_ones_are_named_beside_it():
    values = {"name": "a", "measure": {"blocks": 3, "most_blocks": 5}}

    def most(values, *settings):
        return load_config(values, [*map(parse_setting, settings)]).measure.most_blocks

    assert most({"name": "a", "measure": {"blocks": 1}}) == 1
    assert most({"name": "a", "measure": {"blocks": 1, "most_blocks": 4}}) == 4
    assert most(values, "measure.blocks=1") == 1
    assert most(values, "measure.blocks=1", "measure.most_blocks=4") == 4
    assert most(values, "measure.blocks=2") == 5


def test_defaults_are_the_design_s(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "a"')
    experiment = load_config(path)
    assert experiment.grid.neuron == [NEURONS["soft"]]
    measure = experiment.measure
    assert (measure.blocks, measure.most_blocks, measure.passes, measure.slot, measure.budget) == (
        3,
        10,
        10,
        0.08,
        30.0,
    )
    assert (
        experiment.measure.timeout,
        experiment.measure.host_memory,
        experiment.measure.threads,
    ) == (600.0, 16 * 2**30, 0)


def test_an_inline_neuron_differs_from_the_named_one_with_its_reset():
    assert parse_neuron({"reset": "hard", "decay": 0.2}) == NeuronSpec(
        reset="hard", detach_reset=True, decay=0.2
    )
    assert parse_neuron({"threshold": 2}) == NeuronSpec(threshold=2.0)
    assert isinstance(parse_neuron({"threshold": 2}).threshold, float)


def test_the_schema_knows_every_key_and_forbids_others():
    schema = Experiment.model_json_schema()
    json.dumps(schema)
    assert schema["additionalProperties"] is False
    for path in CONFIGS:
        values = tomllib.loads(path.read_text())
        assert set(values) <= set(schema["properties"])
        assert set(values["grid"]) <= set(schema["$defs"]["Grid"]["properties"])
        assert set(values["measure"]) <= set(schema["$defs"]["Measure"]["properties"])


UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
BYTES = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}


@given(st.integers(1, 10**4), st.sampled_from(sorted(UNITS)), st.sampled_from(["", " "]))
def test_durations_are_read_as_written(count, unit, space):
    assert parse_duration(f"{count}{space}{unit}") == count * UNITS[unit]


@given(st.integers(1, 10**4), st.sampled_from(sorted(BYTES)))
def test_sizes_are_read_as_written(count, unit):
    assert parse_size(f"{count}{unit}") == count * BYTES[unit]


@given(st.one_of(st.text(max_size=8), st.integers(), st.floats(), st.none(), st.booleans()))
def test_anything_else_is_a_value_error_or_a_positive_number(value):
    for parse in (parse_duration, parse_size):
        try:
            assert parse(value) > 0
        except ValueError:
            continue


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"neurons": "256"}, "exclude.neurons = '256': must be a whole number"),
        ({"precision": ["fp32", "fp8"]}, "exclude.precision = 'fp8': must be one of"),
        ({"neuron": "sofd"}, "did you mean 'soft'"),
    ],
)
def test_values_of_exclude_are_checked(tmp_path, entry, words):
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\nexclude = [{ '
        + ", ".join(f"{k} = {json.dumps(v)}" for k, v in entry.items())
        + " }]\n"
    )
    with pytest.raises(ConfigError, match=re.escape(words)):
        load_config(path)


@pytest.mark.parametrize(
    ("measure", "ranked"),
    [
        ({}, "step"),
        ({"phases": ["inference"]}, "inference"),
        ({"phases": ["inference", "step"]}, "step"),
        ({"phases": ["inference", "step"], "rank_by": "inference"}, "inference"),
        ({"phases": ["forward", "inference"], "rank_by": "forward"}, "forward"),
    ],
)
def test_cases_are_ranked_by_the_step_or_the_phase_that_is_named_or_alone(measure, ranked):
    experiment = load_config({"name": "a", "measure": measure})
    assert experiment.measure.ranked("linear-lif") == ranked
    assert experiment.measure.ranked("data") == "step", "an epoch"
    assert ("rank_by" in experiment.measure.model_dump()) == ("rank_by" in measure), (
        "keys of earlier records stay as they are"
    )


def test_the_schema_takes_texts_where_configs_have_them():
    definitions = Experiment.model_json_schema()["$defs"]
    neuron = definitions["Grid"]["properties"]["neuron"]["items"]["anyOf"]
    assert {"enum": [*NEURONS, "native"], "type": "string"} in neuron
    measure = definitions["Measure"]["properties"]
    assert [measure[key]["type"] for key in ("slot", "timeout", "host_memory")] == ["string"] * 3


ENDLESS = {
    "digits": "[grid]\nneurons = [%s]" % ("9" * 5000),
    "hexadecimal digits": "[grid]\nneurons = [0x%s]" % ("f" * 6000),
    "nesting": "x = " + "[" * 5000,
    "memory": '[measure]\nhost_memory = "%sTiB"' % ("9" * 400),
    "duration": '[measure]\nslot = "%sh"' % ("9" * 400),
    "slope": "[grid]\nneuron = [{ slope = %s }]" % ("9" * 400),
    "neurons": f"[grid]\nneurons = [{10**18}]",
    "seed": "seed = %s" % ("9" * 400),
    "NUL": 'adapters = ["a\\u0000b.py:X"]',
    "file name": 'adapters = ["%s.py:X"]' % ("a" * 5000),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_what_is_endless_is_one_short_sentence(tmp_path, what):
    (tmp_path / "mine.toml").write_text(f'name = "a"\n{ENDLESS[what]}\n')
    message = message_of(tmp_path / "mine.toml")
    assert message.startswith(str(tmp_path)) and "\n" not in message and len(message) < 400


@pytest.mark.parametrize(("lists", "fits"), [(200, True), (201, False), (300, False)])
def test_nesting_ends_at_a_fixed_level_and_not_at_the_end_of_the_stack(tmp_path, lists, fits):
    (tmp_path / "mine.toml").write_text(f"adapters = {'[' * lists}{']' * lists}\n")
    message, limit = message_of(tmp_path / "mine.toml"), "is nested more than 201 levels deep"
    assert message.endswith(limit) != fits


def test_a_file_without_an_end_is_not_read_to_its_end():
    assert message_of(Path("/dev/zero")) == "/dev/zero: is larger than 1 MiB: that is no config"
