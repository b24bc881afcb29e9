"""`snnbench site` on the command line: verified bundles become a folder of pages; what has a fault
is left out and told."""

import json

import pytest
from support.forgery import Forged, written
from support.paths import ROOT, committed


@pytest.fixture(scope="module")
def made(snnbench_module):
    for name in ("quickstart", "natives"):
        assert (
            snnbench_module(
                "bundle",
                committed(name),
                "--by",
                "neuro",
                "--out",
                f"b/{name}.bundle.jsonl",
            ).exit_code
            == 0
        )
    return snnbench_module("site", "b", "--out", "site", out="site")


def test_a_site_is_made_of_bundles(made):
    assert made.exit_code == 0, made.stderr
    assert "site/index.html" in made.stdout
    assert {path.name for path in made.folder.iterdir()} >= {
        "index.html",
        "framework",
        "machine",
        "badge",
        "data",
        "coverage.html",
    }
    assert (made.folder / "framework" / "norse.html").is_file()
    for path in made.folder.rglob("*"):
        if path.is_file():
            assert str(ROOT) not in path.read_text()


def test_a_faulty_bundle_is_left_out(made, snnbench_module):
    forged = Forged((snnbench_module.folder / "b" / "quickstart.bundle.jsonl").read_text())
    forged.results[0]["step_s"] *= 0.5
    path = written(snnbench_module.folder, forged.text())
    (made.folder / "framework" / "gone.html").write_text("of a framework that is no more")
    ended = snnbench_module(
        "site", path, "b/natives.bundle.jsonl", "--out", "site", "--json", out="site"
    )
    assert ended.exit_code == 4
    assert "forged.bundle.jsonl is left out: time: " in ended.stderr
    assert json.loads(ended.stdout)["left_out"] == [str(path)]
    assert not (ended.folder / "framework" / "gone.html").exists(), (
        "what was there before is replaced"
    )
    alone = snnbench_module("site", path, "--out", "other", out="other")
    assert (alone.exit_code, alone.folder.exists()) == (4, False)


def test_somebodys_files_are_not_replaced(snnbench_module, made):
    (snnbench_module.folder / "theirs").mkdir()
    (snnbench_module.folder / "theirs" / "thesis.tex").write_text("…")
    refused = snnbench_module("site", "b", "--out", "theirs")
    assert (refused.exit_code, (snnbench_module.folder / "theirs" / "thesis.tex").read_text()) == (
        2,
        "…",
    )
    assert "has files that are no site of snnbench" in refused.message
    assert "is a file" in snnbench_module("site", "b", "--out", "b/natives.bundle.jsonl").message
    below = snnbench_module("site", "b", "--out", "b/natives.bundle.jsonl/site")
    said = "Not a directory: b/natives.bundle.jsonl/site; a file is where a folder must be"
    assert (below.exit_code, below.message) == (2, f"snnbench: {said}")


def test_the_same_bundles_give_the_same_site(snnbench_module, made):
    assert snnbench_module("site", "b", "--out", "one").exit_code == 0
    assert snnbench_module.installed("site", "b", "--out", "two").exit_code == 0, (
        "in another process"
    )
    one, two = (
        {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
        for folder in (snnbench_module.folder / "one", snnbench_module.folder / "two")
    )
    assert one == two


def test_a_site_can_be_made_behind_a_link_and_where_one_is(snnbench, made):
    (snnbench.folder / "there").mkdir()
    (snnbench.folder / "link").symlink_to("there")
    for folder, out in (("", "link"), ("there", ".")):
        snnbench.folder /= folder
        ended = snnbench(
            "site", made.folder.parent / "b" / "natives.bundle.jsonl", "--out", out, out=out
        )
        assert ended.exit_code == 0, ended.stderr
        assert (ended.folder / "index.html").is_file() and not list(
            ended.folder.glob("snnbench-scratch-*")
        )
