"""Which distributions a framework rests on."""

import sys

import pytest

from snnbench.worker import describe
from snnbench.worker.describe import closure_of


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Modules `a` and `odd`: a needs B_b and, for an extra, c; B_b needs a again, and something
    that is not there."""

    def make(name, module, requires=()):
        (tmp_path / f"{module}.py").touch()
        info = tmp_path / f"{name}-1.{len(requires)}.dist-info"
        info.mkdir()
        lines = [
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.{len(requires)}",
            *(f"Requires-Dist: {r}" for r in requires),
        ]
        (info / "METADATA").write_text("\n".join(lines) + "\n")
        (info / "RECORD").write_text(f"{module}.py,,\n")

    make(
        "a",
        "a",
        [
            "B_b (>=1.0) ; python_version > '3'",
            'c ; extra == "more"',
            "for-other-systems; sys_platform == 'x'",
        ],
    )
    make("B_b", "b", ["a"])
    make("c", "c")
    make("odd", "odd_module")
    make("damaged", "whole", ["a"])
    (tmp_path / "damaged-1.1.dist-info" / "RECORD").write_text("\n\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    describe._owners.cache_clear()
    yield
    describe._owners.cache_clear()


def test_it_follows_requirements_round_and_leaves_out_extras_and_what_is_not_there(installed):
    assert closure_of(["a"]) == {"a": "1.3", "b-b": "1.1"}
    assert list(closure_of(["odd_module.part", "c", "a"])) == ["a", "b-b", "c", "odd"]
    assert closure_of(["nobody"]) == closure_of(["whole"]) == {}


def test_a_real_framework():
    assert {"jax", "jaxlib", "numpy"} <= closure_of(["jax"]).keys()
    assert len(closure_of(["jax"])) < 12
