"""Dense products on CPUs: the project's tile against float64, and the choice of the fastest."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from snnbench.kernels.linear import dense

sizes = st.integers(1, 90)


def matrix(rows, columns, seed, turned):
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(columns, rows, generator=generator).t()
        if turned
        else torch.randn(rows, columns, generator=generator)
    )


@settings(derandomize=True, deadline=None, max_examples=60)
@given(sizes, sizes, st.one_of(sizes, st.integers(760, 1700)), st.booleans(), st.booleans())
def test_the_tile_is_within_the_error_of_sums(m, n, k, turned_left, turned_right):
    left, right = matrix(m, k, 1, turned_left), matrix(k, n, 2, turned_right)
    wide = torch.full((m, n + 3), 7.0)
    dense.WAYS["tile"](left, right, wide[:, :n])
    exact = left.double() @ right.double()
    limit = 2.0**-23 * 16 * (left.double().abs() @ right.double().abs())
    assert ((wide[:, :n] - exact).abs() <= limit).all()
    assert (wide[:, n:] == 7).all()


@pytest.mark.parametrize("way", dense.WAYS)
@pytest.mark.parametrize("turned", [False, True])
def test_all_ways_compute_the_same(way, turned):
    left, right = matrix(37, 61, 1, False), matrix(61, 45, 2, turned)
    out = torch.empty(37, 45)
    dense.WAYS[way](left, right, out)
    torch.testing.assert_close(out, left @ right)


def test_rows_far_apart_and_no_terms():
    left, right, out = torch.randn(30, 3000)[:, :1500], torch.randn(1500, 40), torch.empty(30, 40)
    dense.WAYS["tile"](left, right, out)
    torch.testing.assert_close(out, left @ right, rtol=1e-4, atol=1e-3)
    dense.WAYS["tile"](torch.empty(30, 0), torch.empty(0, 40), out)
    assert (out == 0).all()


def test_results_do_not_depend_on_the_number_of_threads():
    left, right, before, outs = (
        matrix(300, 900, 1, False),
        matrix(900, 200, 2, True),
        torch.get_num_threads(),
        [],
    )
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            dense.WAYS["tile"](left, right, out := torch.empty(300, 200))
            outs.append(out)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(outs[0], outs[1]) and torch.equal(outs[0], outs[2])


def check_few_rows():
    for rows in range(1, 31):
        left, right = matrix(rows, 45, 1, False), matrix(45, 70, 2, False)
        dense.WAYS["tile"](left, right, out := torch.empty(rows, 70))
        torch.testing.assert_close(out, left @ right, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_few_rows_with_other_instruction_sets(compile_for_other_processor):
    compile_for_other_processor()
    check_few_rows()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [("if (rows <= 2)", "if (rows <= 3)"), ("packed ? TILE_COLUMNS : b_k", "TILE_COLUMNS")],
    ids=["a last tile lacks a row", "rows in place are read as if packed"],
)
def test_planted_faults_are_seen(plant, compiled_anew, right, wrong):
    plant(dense, right, wrong, "dense.cpp")
    with pytest.raises(AssertionError):
        check_few_rows()


@pytest.fixture
def ways(monkeypatch):
    """Ways that take as many seconds as their number says, on a clock of their own."""
    now = [0.0]

    def way(seconds):
        def run(left, right, out):
            if seconds is None:
                raise RuntimeError("not in this build")
            now[0] += seconds

        return run

    def plant(**seconds):
        monkeypatch.setattr(dense, "WAYS", {name: way(taken) for name, taken in seconds.items()})

    return plant, lambda: now[0]


def test_the_fastest_is_chosen_and_what_is_missing_is_not(ways):
    plant, clock = ways
    for seconds, best in (
        ((3, 1, 2), "onednn"),
        ((1, 2, 3), "tile"),
        ((3, None, 2), "blas"),
        ((3, None, 2.9), "tile"),
    ):
        plant(**dict(zip(("tile", "onednn", "blas"), seconds, strict=True)))
        assert dense.fastest(torch.ones(2, 2), torch.ones(2, 2), clock) == best


def test_the_choice_is_kept_beside_the_compiled_kernels(tmp_path, monkeypatch):
    monkeypatch.setenv("SNNBENCH_CACHE", str(tmp_path))
    measured = []
    monkeypatch.setattr(
        dense, "_measured", lambda: (measured.append(1), {"rows": "blas", "columns": "tile"})[1]
    )
    dense.choices.cache_clear()
    try:
        assert dense.chosen("rows") == "blas" and dense.address_of_tile() == 0
        dense.choices.cache_clear()
        assert dense.chosen("columns") == "tile" and len(measured) == 1
        (kept,) = tmp_path.glob("dense-*.json")
        assert json.loads(kept.read_text()) == {"rows": "blas", "columns": "tile"}
    finally:
        dense.choices.cache_clear()
