"""Damaged and hostile bundles: a sentence each, no traceback, no long wait."""

import json
from random import Random

import pytest
from support.forgery import Forged, claim_anew, renamed, written
from support.hostile import changed_text, changed_tree
from support.paths import committed
from support.slow import representatives

from snnbench.community.bundle import MOST_BYTES, bundle_of, line, text_of
from snnbench.community.site.pages import site_files
from snnbench.community.site.source import Source
from snnbench.community.verify.fault import KINDS
from snnbench.community.verify.form import NoBundle
from snnbench.community.verify.verify import verify
from snnbench.records.bundle import BundleFile

EXAMPLES = 60


@pytest.fixture(scope="module")
def small() -> str:
    """A bundle of two frameworks and one neuron."""
    forged = Forged(text_of(bundle_of(BundleFile(committed("quickstart")), "neuro")[0]))
    soft = forged.timed("rockpool")["case"]["neuron"]
    kept = [
        one
        for one in forged.records
        if one["case"]["framework"] in ("fused", "norse") and one["case"]["neuron"] == soft
    ]
    ids = {one["case_id"] for one in kept}
    forged.records, forged.results = kept, [one for one in forged.results if one["case_id"] in ids]
    return forged.text()


def judged(path) -> list[str] | None:
    """Returns the kinds of faults, None for a file that is no bundle."""
    try:
        (verdict,) = verify([path])
    except NoBundle as error:
        assert "\n" not in str(error)
        return None
    kinds = [fault.kind for fault in verdict.faults]
    assert {*kinds} <= KINDS.keys()
    assert all(str(fault).isprintable() for fault in verdict.faults)
    return kinds


@pytest.mark.parametrize(
    "part", representatives(["header", "first", "shared", "result", "record"], [0, 4])
)
def test_a_value_that_is_something_else(small, tmp_path, part):
    random = Random(part)
    lines = [json.loads(text) for text in small.splitlines()]
    kinds = ["header", "first", "shared", *(next(iter(value)) for value in lines[3:])]
    for _ in range(EXAMPLES):
        at = random.choice([number for number, kind in enumerate(kinds) if kind == part])
        changed = [*lines]
        changed[at] = changed_tree(random, lines[at])
        try:
            text = "".join(map(line, changed))
            path = written(tmp_path, text)
        except (ValueError, TypeError, UnicodeEncodeError):  # which no JSON line can hold
            continue
        assert judged(path) != [] or text == small, changed[at]


def test_bytes_that_are_cut_doubled_or_put_in(small, tmp_path):
    random, path = Random(7), tmp_path / "x.bundle.jsonl"
    for _ in range(EXAMPLES):
        content = changed_text(random, small.encode())
        path.write_bytes(content)
        assert judged(path) != [] or content == small.encode()


def test_what_is_sound_after_all_can_be_shown(small, tmp_path):
    forged = Forged(small)
    forged.records[0]["attempt"] = 3
    claim_anew(forged)
    (verdict,) = verify([written(tmp_path, forged.text())])
    assert verdict.faults == []
    assert "index.html" in site_files([Source(verdict.bundle)])


def test_a_case_of_millions_of_layers_is_not_built(small, tmp_path):
    forged = Forged(small)
    renamed(forged.records[0], layers=1 << 24)
    assert "schema" in judged(written(tmp_path, forged.text()))


def test_a_file_that_is_much_too_large_is_not_read(tmp_path):
    path = written(tmp_path, "")
    with path.open("wb") as stream:
        stream.truncate(100 * MOST_BYTES)
    with pytest.raises(NoBundle, match="is larger than 10 MB"):
        verify([path])


def test_a_folder_or_a_pipe_is_no_bundle(tmp_path):
    with pytest.raises(NoBundle, match="it is no file"):
        verify([tmp_path])
