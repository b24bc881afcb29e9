"""Ranks are timed on cores of their own, and proved without."""

import json

import pytest

GRID = 'neurons = [23]\ntime_steps = [11]\nbatch = [5000]\ndevice = ["cpu"]\nranks = [1, 1000]'


@pytest.mark.parametrize("timed", [True, False])
def test_ranks_that_are_timed_need_a_core_each(snnbench, timed):
    config = snnbench.config(["torch"], grid=GRID, measure=f"timed = {str(timed).lower()}")
    alone, together = json.loads(snnbench("plan", "--config", config, "--json").stdout)["cases"]
    assert alone["reason"] is None and together["case"]["ranks"] == 1000
    assert together["reason"] == (
        "1000 ranks need 1000 cores to be timed, and this run has 1" if timed else None
    )


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ("ranks = [0]", "grid.ranks = 0: must be"),
        (
            'parallel = ["time"]',
            "grid.parallel = ['time']: means nothing for one rank (grid.ranks); leave it out",
        ),
        ('ranks = [2]\nparallel = ["space"]', "grid.parallel = 'space': must be"),
    ],
)
def test_what_means_nothing_is_refused(snnbench, grid, words):
    result = snnbench("plan", "--config", snnbench.config(["torch"], grid=grid))
    assert result.exit_code == 2 and words in result.message


def test_ids_of_cases_without_ranks_stay(snnbench):
    """One rank is no rank: the id is that of a case from before there were any."""
    config = snnbench.config(["torch"], grid="ranks = [1]")
    (case,) = json.loads(snnbench("plan", "--config", config, "--json").stdout)["cases"]
    assert not {"ranks", "parallel"} & case["case"].keys() and case["case_id"] == ID


ID = "7b25ac544fabfacd"
