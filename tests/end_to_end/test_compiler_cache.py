"""Every case has compiler caches of its own: empty in its first block, kept for the others, gone
with the run."""

import json
import select
import time

import pytest
from support.slow import representatives

ADAPTERS = ["caching.py:Caching", "numpy_network.py:NumpyNetwork"]


def seen(snnbench):
    """(variant, cold or warm, path) of every cache that a worker looked into, in the order of
    time."""
    return [line.split() for line in (snnbench.notes / "caches").read_text().splitlines()]


@pytest.fixture(scope="module")
def ended(snnbench_module):
    config = snnbench_module.config(
        ["caching:compile", "caching", "numpy"], ADAPTERS, measure="blocks = 2"
    )
    return snnbench_module.run(config)


@pytest.mark.slow
def test_the_first_block_is_cold_and_the_next_is_warm(snnbench_module, ended):
    assert ended.exit_code == 0, ended.stderr
    for variant in ("caching", "caching:compile"):
        assert [state for case, state, _ in seen(snnbench_module) if case == variant] == [
            "cold"
        ] * 2 + ["warm"] * 2
    assert len({path for _, _, path in seen(snnbench_module)}) == 4, (
        "two caches for each of two cases"
    )
    assert not list(ended.folder.rglob("compiled"))


@pytest.mark.slow
def test_what_compiling_cost_is_in_the_record_and_in_the_table(snnbench_module, ended):
    columns = {
        row["framework"] + row["mode"]: (row["compile_s"], row["graph_breaks"], row["recompiles"])
        for row in ended.rows
    }
    costs = ("0.25", "3", "2")
    assert columns == {"cachingcompile": costs, "cachingeager": costs, "numpyeager": ("", "", "")}
    facts = [
        record["facts"] for record in ended.records if record["case"]["framework"] == "caching"
    ]
    assert [
        (f["compile_s"], f["graph_breaks"], f["recompiles"], f["output_dtype"]) for f in facts
    ] == [(0.25, 3, 2, "float32")] * 4
    variables = json.dumps([record["environment"]["variables"] for record in ended.records])
    assert str(snnbench_module.folder) not in variables, "the place of the caches is private"


@pytest.mark.slow
def test_caches_of_a_killed_run_are_removed_by_the_next_and_its_first_block_is_cold(snnbench):
    config = snnbench.config(["caching:compile"], ADAPTERS)
    (snnbench.notes / "hold-97").touch()
    process = snnbench.start("run", "--config", config, "--out", snnbench.folder / "out")
    end = time.monotonic() + 60
    while not (snnbench.notes / "held").exists():
        assert time.monotonic() < end and process.poll() is None
        select.select([], [], [], 0.01)
    process.kill()
    process.communicate()
    assert list((snnbench.folder / "out").rglob("compiled"))
    for path in snnbench.notes.iterdir():
        path.unlink()
    ended = snnbench.run(config)
    assert ended.exit_code == 0, ended.stderr
    assert [state for _, state, _ in seen(snnbench)] == ["cold"] * 2
    assert not list(ended.folder.rglob("compiled"))


@pytest.mark.parametrize(
    "variable", representatives(["SNNBENCH_SCRATCH", "SLURM_TMPDIR", "TMPDIR"], [0])
)
def test_compiled_files_lie_on_the_node_and_their_place_is_private(snnbench, variable):
    """The result folder may be on a disk that many nodes share."""
    node = snnbench.folder / "disk-of-the-node"
    node.mkdir()
    snnbench.environment |= {"TMPDIR": str(snnbench.folder / "nowhere"), variable: str(node)}
    ended = snnbench.run(snnbench.config(["caching"], ADAPTERS))
    assert ended.exit_code == 0, ended.stderr
    assert seen(snnbench) and all(path.startswith(f"{node}/") for _, _, path in seen(snnbench))
    assert list(node.iterdir()) == [] and "disk-of-the-node" not in json.dumps(ended.records)


def test_a_folder_for_workers_that_cannot_be_made_is_named(snnbench):
    (snnbench.folder / "file").touch()
    snnbench.environment["SNNBENCH_SCRATCH"] = str(snnbench.folder / "file" / "below")
    ended = snnbench.run(snnbench.config(["caching"], ADAPTERS))
    assert (ended.exit_code, ended.records) == (
        2,
        [],
    ) and f"Not a directory: {snnbench.folder}/file/below" in ended.stderr
