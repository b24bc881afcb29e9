"""What counts as the source of an adapter: a record is done only while nothing of that has changed."""

import shutil

import pytest
from support.paths import ROOT

from snnbench.adapters import registry
from snnbench.core.fingerprint import files_of, source_hash
from snnbench.core.jobs import Inquiry
from snnbench.executors.launch import Surroundings, launch
from snnbench.executors.variables import worker_environment

DERIVED = {
    "sinabs-exodus": "sinabs.py",
    "spikingjelly-cupy": "spikingjelly.py",
    "rockpool-jax": "base/jax_program.py",
}


def names_of(reference):
    return {path.name for path in files_of(reference)}


@pytest.mark.parametrize("name", registry.FRAMEWORKS)
def test_a_built_in_adapter_is_its_file_and_what_drives_it(name):
    files = names_of(registry.FRAMEWORKS[name])
    assert {
        registry.FRAMEWORKS[name].partition(":")[0].rpartition(".")[2] + ".py",
        "contract.py",
        "network.py",
    } <= files
    drivers = {
        "torch_program.py",
        "torch_network.py",
        "torch_compile.py",
        "torch_graph.py",
        "time_loop.py",
    }
    assert drivers <= files or {"jax_program.py", "jax_network.py"} <= files
    others = {
        registry.FRAMEWORKS[other].partition(":")[0].rpartition(".")[2] + ".py"
        for other in registry.FRAMEWORKS
    }
    bases = {
        "brainevent": "jax_scan.py",
        "sinabs-exodus": "sinabs.py",
        "spikingjelly-cupy": "spikingjelly.py",
        "rockpool-exodus": "rockpool.py",
    }
    shared = {bases[name]} if name in bases else set()
    assert len(files & others) == 1 + len(shared) and shared <= files, (
        "of other frameworks only what it builds on"
    )


@pytest.mark.parametrize(("name", "base"), DERIVED.items())
def test_a_changed_base_is_another_source(name, base, tmp_path):
    """Hashed where it lies, in a copy of the package elsewhere, and in that copy with one comment
    more."""
    package = tmp_path / "snnbench"
    for folder in ("bench", "adapters", "kernels"):
        to = package if folder == "bench" else package / folder
        shutil.copytree(
            ROOT / folder, to, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
        )

    def described(scratch):
        job = Inquiry((registry.FRAMEWORKS[name],)).as_dict()
        variables = worker_environment("cpu", 1) | {"PYTHONPATH": str(tmp_path)}
        outcome = launch("describe", job, Surroundings(tmp_path / scratch, 30, variables=variables))
        return outcome.answer("describe")["adapters"][0]["source_sha256"]

    before = described("first")
    assert before == source_hash(registry.FRAMEWORKS[name])
    with open(package / "adapters" / base, "a") as stream:
        stream.write("# changed\n")
    assert described("second") != before


def test_a_user_s_file_brings_what_lies_beside_it(tmp_path):
    (tmp_path / "deeper").mkdir()
    (tmp_path / "deeper" / "__init__.py").write_text("")
    (tmp_path / "deeper" / "inner.py").write_text("import broken\n")
    (tmp_path / "broken.py").write_text("def (")
    (tmp_path / "helper.py").write_text("def late():\n    from deeper import inner\n")
    (tmp_path / "unrelated.py").write_text("")
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import helper, sys\nfrom snnbench.adapters.base.time_loop import TimeLoop\nfrom snnbench.adapters.base import spikes\n"
    )
    reference = f"{mine}:Mine"
    assert names_of(reference) == {
        "mine.py",
        "helper.py",
        "inner.py",
        "broken.py",
        "time_loop.py",
        "spikes.py",
    }
    before = source_hash(reference)
    (tmp_path / "unrelated.py").write_text("changed = True\n")
    assert source_hash(reference) == before
    (tmp_path / "broken.py").write_text("changed = True\n")
    assert source_hash(reference) != before


def test_what_a_base_class_drives_counts_for_a_user_s_file(tmp_path):
    (tmp_path / "mine.py").write_text("from snnbench.adapters import TorchAdapter\n")
    assert {"torch_adapter.py", "torch_program.py", "time_loop.py"} <= names_of(
        f"{tmp_path / 'mine.py'}:Mine"
    )
