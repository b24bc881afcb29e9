"""The version of an adapter, as a worker tells it."""

import json
import sys
from importlib.metadata import version

import pytest

from snnbench.adapters.registry import FRAMEWORKS
from snnbench.core.jobs import Inquiry
from snnbench.worker.describe import describe_adapter


def written(folder, declared, imported="", name="pulsar.py"):
    """The reference of a third-party adapter that imports a module in its neuron."""
    body = [
        "name = 'pulsar'",
        declared,
        "def neuron(self, spec, features):",
        f"    import {imported or 'math'}",
    ]
    lines = [
        "from snnbench.adapters import TorchAdapter",
        "class Pulsar(TorchAdapter):",
        *(f"    {line}" for line in body),
    ]
    (folder / name).write_text("\n".join(lines))
    return f"{folder / name}:Pulsar"


@pytest.mark.parametrize(
    ("declared", "imported", "reported"),
    [
        ("", "", None),
        ("requires = ('torch',)", "", None),
        ("distribution = 'norse'", "norse.torch", version("norse")),
        ("requires = ('torch', 'norse')", "norse", version("norse")),
        ("distribution = 'norse'", "", None),
        ("distribution = 'norse'", "snntorch", None),
        ("requires = ('torch', 'norse')", "", None),
        ("distribution = 'no-such-package'", "norse", None),
        ("distribution = 'snnbench'", "snnbench.kernels", None),
        ("distribution = 'torch'", "", version("torch")),
    ],
)
def test_a_third_party_adapter_has_the_version_of_what_it_imports(
    tmp_path, declared, imported, reported
):
    reference = written(tmp_path, declared, imported)
    assert describe_adapter(reference, Inquiry())["version"] == reported


def test_a_module_of_the_same_name_has_no_version(tmp_path, monkeypatch):
    (tmp_path / "norse.py").write_text("")
    monkeypatch.setitem(sys.modules, "norse", None)
    monkeypatch.delitem(sys.modules, "norse")  # also where an earlier test has imported Norse
    monkeypatch.syspath_prepend(tmp_path)
    reference = written(tmp_path, "distribution = 'norse'", "norse")
    assert describe_adapter(reference, Inquiry())["version"] is None


@pytest.mark.parametrize("folder", ["source", "elsewhere"])
def test_an_editable_distribution_has_its_version(tmp_path, monkeypatch, folder):
    described = tmp_path / "installed" / "pulsar_snn-1.2.dist-info"
    for place in (described, source := tmp_path / "source", tmp_path / "elsewhere"):
        place.mkdir(parents=True)
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: pulsar-snn\nVersion: 1.2\n")
    origin = {"url": source.as_uri(), "dir_info": {"editable": True}}
    (described / "direct_url.json").write_text(json.dumps(origin))
    (tmp_path / folder / "pulsar_snn.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path / "installed")
    monkeypatch.syspath_prepend(tmp_path / folder)
    reference = written(tmp_path, "distribution = 'pulsar-snn'", "pulsar_snn")
    expected = "1.2" if folder == "source" else None
    assert describe_adapter(reference, Inquiry())["version"] == expected


@pytest.mark.parametrize(
    ("name", "package"),
    [("torch", "torch"), ("jax", "jax"), ("norse", "norse"), ("fused", "snnbench")],
)
def test_a_built_in_one_has_that_of_its_package(name, package):
    assert describe_adapter(FRAMEWORKS[name], Inquiry())["version"] == version(package)
