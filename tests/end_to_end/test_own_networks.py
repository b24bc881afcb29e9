"""Networks that a config brings, with the real command: NIR files of three libraries, a Python
function, and what is none."""

import csv
import json
import shutil
import time
import tomllib

import pytest
from support.nir_files import GOLDEN, affine, chain, lif, write_nir
from support.slow import representatives

from snnbench.machine.energy import EnergyMeter
from snnbench.records.store import ResultFolder
from snnbench.report.page.reproduce import result_set
from snnbench.runner import block

NIR = {
    "snntorch": 'dt = 1e-4\ndecay = "euler"\nreset = "hard"',
    "norse": 'dt = 1e-6\ndecay = "exact"\nreset = "hard"',
    "sinabs": 'dt = 1.0\ndecay = "exact"\nreset = "soft"\ngain = "unit"',
}
HOW = """
[grid]
framework = ["torch", "jax"]
time_steps = [41]
batch = [3]
[measure]
blocks = 1
most_blocks = 1
passes = 1
slot = "5ms"
phases = ["step"]
threads = 1
"""
FUNCTION = """
from snnbench.adapters import Network, NeuronSpec, Node

def net():
    neuron = Node("b", "neuron", ("a",), {"neuron": NeuronSpec()})
    return Network((13,), (Node("a", "linear", ("input",), {"outputs": 11}), neuron))

def broken():
    return net() / 0

def silent():
    return Network((13,), (Node("a", "linear", ("input",), {"outputs": 11}),))

def other():
    return 7

def leaves():
    raise SystemExit(0)

def other_size():
    neuron = Node("b", "neuron", ("a",), {"neuron": NeuronSpec()})
    return Network((13,), (Node("a", "linear", ("input",), {"outputs": 7}), neuron))

def unflattened():
    return Network((3, 9, 8), (Node("a", "linear", ("input",), {"outputs": 11}),))

def turned():
    import numpy as np
    return Network((13,), net().nodes, {"a": {"weight": np.zeros((13, 11)), "bias": np.zeros(11)}})

def halves():
    return Network((13,), (Node("a", "linear", ("input",), {"outputs": 13 / 2}),))

def unordered():
    return Network({13}, net().nodes)

text = "no function"
"""


def config(folder, *tables, how=HOW):
    (folder / "own.toml").write_text(
        'name = "own"\n' + "".join(f"[[network]]\n{table}\n" for table in tables) + how
    )
    return folder / "own.toml"


def rows(folder):
    with (folder / "results.csv").open() as stream:
        return list(csv.DictReader(stream))


@pytest.mark.frameworks
@pytest.mark.parametrize("libraries", representatives([["norse"], [*NIR]], []), ids="_".join)
def test_files_of_three_libraries_are_proved_and_measured(snnbench, libraries):
    folder = snnbench.folder
    for library in libraries:
        shutil.copy(GOLDEN / f"{library}.nir", folder)
    path = config(folder, *(f'nir = "{library}.nir"\n{NIR[library]}' for library in libraries))
    assert snnbench("run", "--config", path, "--out", "out").exit_code == 0
    found = rows(folder / "out")
    assert {(row["framework"], row["network"].partition("@")[0]) for row in found} == {
        (f, n) for f in ("torch", "jax") for n in libraries
    }
    assert all(
        row["proved"] == "true" and float(row["step_s"]) > 0 and row["workload"] == "network"
        for row in found
    )
    weights = {row["network"].partition("@")[0]: row["weights"] for row in found}
    begins = {"norse": "its own times", "snntorch": "", "sinabs": "seeded"}
    assert all(weights[library].startswith(begins[library]) for library in libraries)
    assert len({row["group"] for row in found}) == len(libraries)
    again = snnbench("plan", "--config", path, "--out", "out", "--json")
    assert {case["state"] for case in json.loads(again.stdout)["cases"]} == {"done"}
    write_nir(folder / "norse.nir", **chain(affine(7, 13), lif(), shape=(13,)))
    config(folder, 'nir = "norse.nir"\ndt = 1e-4\ndecay = "euler"\nreset = "soft"')
    again = snnbench("plan", "--config", path, "--out", "out", "--json")
    assert {case["state"] for case in json.loads(again.stdout)["cases"]} == {"to do"}, (
        "another file is another network"
    )


@pytest.mark.frameworks
def test_the_network_of_a_function_is_proved_and_measured(snnbench, monkeypatch):
    monkeypatch.setattr(
        block, "meter_of", lambda device: EnergyMeter("a clock", time.perf_counter)
    )  # a watt
    (snnbench.folder / "mine.py").write_text(FUNCTION)
    path = config(
        snnbench.folder,
        'python = "mine.py:net"\nname = "small"',
        how=HOW.replace('"torch", "jax"', '"torch"'),
    )
    assert snnbench("run", "--config", path, "--out", "out").exit_code == 0
    (row,) = rows(snnbench.folder / "out")
    assert (row["status"], row["proved"], row["network"].partition("@")[0]) == (
        "ok",
        "true",
        "small",
    )
    assert row["weights"] == "", "seeded, as those of every named workload"
    seconds, joules = float(row["step_s"]), float(row["step_energy_j"])
    assert 0.02 * seconds < joules < 50 * seconds and row["energy_of"] == "a clock"
    spikes, sparse, dense = (
        int(row[name]) for name in ("spikes", "synaptic_operations", "dense_operations")
    )
    assert (
        0 < spikes < 41 * 3 * 11
        and dense == 41 * 3 * 13 * 11
        and sparse == pytest.approx(0.3 * dense, rel=0.1)
    )
    ended = snnbench.installed(
        "report", snnbench.folder / "out", "--out", snnbench.folder / "again"
    )
    assert ended.exit_code == 0, "a report needs no network"
    (again,) = rows(snnbench.folder / "again")
    assert again == row
    told = result_set(ResultFolder(snnbench.folder / "out"), [row["started_at"]]).config
    assert tomllib.loads(told)["network"][0]["name"] == "small"
    assert "small@" in (snnbench.folder / "out" / "report.html").read_text()


FUNCTIONS = {
    "net_": "mine.py has no function 'net_'",
    "text": "mine.py has no function 'text'",
    "broken": "mine.py line 9: TypeError: unsupported operand",
    "silent": "mine.py silent returned a network without a neuron",
    "other": "mine.py other returned int, not a Network",
    "leaves": "mine.py line 18: SystemExit: 0",
    "unflattened": "ValueError: node a: linear reads features (N,), not (3, 9, 8)",
    "turned": "node a: the parameters that are given have the shapes {'weight': (13, 11), "
    "'bias': (11,)}, not {'weight': (11, 13), 'bias': (11,)}",
    "halves": "ValueError: node a: outputs = 6.5 must be a whole number from 1",
    "unordered": "ValueError: input = {13} must be features (N,) or (C, H, W), whole numbers",
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_that_returns_no_network_is_one_sentence(snnbench, name):
    (snnbench.folder / "mine.py").write_text(FUNCTION)
    ended = snnbench("plan", "--config", config(snnbench.folder, f'python = "mine.py:{name}"'))
    assert ended.exit_code == 2 and FUNCTIONS[name] in ended.message


def test_two_functions_of_a_file_are_two_networks(snnbench):
    (snnbench.folder / "mine.py").write_text(FUNCTION)
    path = config(
        snnbench.folder,
        *(f'python = "mine.py:{name}"' for name in ("net", "other_size")),
        how=HOW.replace('"torch", "jax"', '"torch"'),
    )
    ended = snnbench("plan", "--config", path, "--json")
    networks = [case["case"]["network"] for case in json.loads(ended.stdout)["cases"]]
    assert [name.partition("@")[0] for name in networks] == ["mine.net", "mine.other_size"]


def test_an_unsupported_node_is_refused_by_its_name(snnbench):
    write_nir(snnbench.folder / "a.nir", **chain(affine(7, 5), ("Delay", {"delay": 1.0}), lif()))
    ended = snnbench(
        "plan", "--config", config(snnbench.folder, f'nir = "a.nir"\n{NIR["snntorch"]}')
    )
    assert ended.exit_code == 2
    assert "network.nir: a.nir node b: delays are not imported" in ended.message


@pytest.mark.parametrize(
    "content",
    representatives([b"", b"no HDF5", (GOLDEN / "norse.nir").read_bytes()[:4096]], [2]),
    ids=["empty", "text", "cut"],
)
def test_a_file_that_is_no_nir_file_is_one_sentence(snnbench, content):
    (snnbench.folder / "a.nir").write_bytes(content)
    ended = snnbench(
        "plan", "--config", config(snnbench.folder, f'nir = "a.nir"\n{NIR["snntorch"]}')
    )
    assert ended.exit_code == 2 and "a.nir is no NIR file that HDF5 can read" in ended.message


TABLES = {
    'nir = "a.nir"\ndecay = "euler"\nreset = "soft"': "network.dt: is missing: a NIR file does not say dt, the time of a step",
    'nir = "a.nir"\ndt = 1.0\nreset = "soft"': "network.decay: is missing",
    'nir = "a.nir"\ndt = 1.0\ndecay = "euler"': "network.reset: is missing",
    'nir = "a.nir"\npython = "b.py:c"': "network: needs either nir = 'file.nir' or python",
    'name = "x"': "network: needs either nir = 'file.nir' or python",
    'python = "mine.py:net"\ndt = 1.0': "network.dt: is for nir",
    'python = "mine.py"': "network.python = 'mine.py': must look like 'file.py:function'",
    'nir = "none.nir"\ndt = 1.0\ndecay = "euler"\nreset = "soft"': "network.nir = 'none.nir': there is no file",
    'nir = "a.nir"\ndt = 0.0': "network.dt = 0.0: must be above 0",
    'nir = "a.nir"\nreset = "zero"': "network.reset = 'zero': must be one of soft, soft-undecayed, hard",
    'nir = "a.nir"\nsteps = 3': "network.steps: unknown key",
}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_that_says_too_little_or_too_much(snnbench, table):
    (snnbench.folder / "mine.py").write_text(FUNCTION)
    ended = snnbench("plan", "--config", config(snnbench.folder, table))
    assert ended.exit_code == 2 and TABLES[table] in ended.message


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        (
            'workload = ["lif"]',
            "grid.workload = ['lif']: has no 'network', which the table [network] is for",
        ),
        ('neuron = ["hard"]', "grid.neuron = "),
        ("neurons = [5]", "grid.neurons = [5]: means nothing for network"),
    ],
)
def test_axes_that_mean_nothing_for_a_network_of_ones_own(snnbench, grid, words):
    (snnbench.folder / "mine.py").write_text(FUNCTION)
    ended = snnbench(
        "plan",
        "--config",
        config(snnbench.folder, 'python = "mine.py:net"', how=f"[grid]\n{grid}\n"),
    )
    assert ended.exit_code == 2 and words in ended.message


def test_the_workload_needs_a_table(snnbench):
    (snnbench.folder / "own.toml").write_text('name = "own"\n[grid]\nworkload = ["network"]\n')
    ended = snnbench("plan", "--config", snnbench.folder / "own.toml")
    assert (
        ended.exit_code == 2
        and "grid.workload: 'network' needs a config with a table [network]" in ended.message
    )
    assert (
        "'network' needs a config with a table [network]"
        in snnbench("check", "torch", "--workload", "network").stderr
    )
