"""The version of an adapter, as a worker tells it."""

from importlib.metadata import version

import pytest

from snnbench.adapters.registry import FRAMEWORKS
from snnbench.core.jobs import Inquiry
from snnbench.worker.describe import describe_adapter


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("", None),
        ("requires = ('torch',)", None),
        ("distribution = 'norse'", version("norse")),
        ("requires = ('torch', 'norse')", version("norse")),
        ("distribution = 'no-such-package'", None),
        ("distribution = 'torch'", version("torch")),
    ],
)
def test_an_adapter_from_outside_has_no_version_of_torch_unless_it_says_so(
    tmp_path, declared, told
):
    file = tmp_path / "pulsar.py"
    body = ["name = 'pulsar'", declared, "def neuron(self, spec, features): ..."]
    lines = [
        "from snnbench.adapters import TorchAdapter",
        "class Pulsar(TorchAdapter):",
        *(f"    {line}" for line in body),
    ]
    file.write_text("\n".join(lines))
    assert describe_adapter(f"{file}:Pulsar", Inquiry())["version"] == told


@pytest.mark.parametrize(
    ("name", "package"),
    [("torch", "torch"), ("jax", "jax"), ("norse", "norse"), ("fused", "snnbench")],
)
def test_a_built_in_one_has_that_of_its_package(name, package):
    assert describe_adapter(FRAMEWORKS[name], Inquiry())["version"] == version(package)
