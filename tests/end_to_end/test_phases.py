"""What of a case is weighed and timed, by the settings `phases` and `timed`."""

import pytest

NUMPY = ["numpy_network.py:NumpyNetwork"]


def test_only_the_phases_that_are_asked_for_are_weighed_and_timed(snnbench):
    ended = snnbench.run(
        snnbench.config(["numpy"], NUMPY, measure='phases = ["step", "inference"]')
    )
    assert ended.exit_code == 0, ended.stderr
    record = ended.record("numpy")
    assert set(record["memory"]) == {"step", "inference"} and record["proof"]["passed"]
    assert {name for name, part in record["parts"].items() if part["timing"]} == {
        "step",
        "inference",
    }
    (row,) = ended.rows
    assert (
        row["rank_low"] == "1"
        and row["step_s"]
        and not row["forward_s"]
        and not row["backward_extra_memory_bytes"]
    )


@pytest.mark.slow
def test_untimed_is_proved_and_weighed(snnbench):
    ended = snnbench.run(
        snnbench.config(["numpy"], NUMPY, measure='timed = false\nphases = ["forward", "step"]')
    )
    assert ended.exit_code == 0, ended.stderr
    record = ended.record("numpy")
    assert (
        record["status"] == "ok"
        and record["proof"]["passed"]
        and set(record["memory"]) == {"forward", "step"}
    )
    assert not any(part["timing"] for part in record["parts"].values())
    (row,) = ended.rows
    assert (
        row["proved"] == "true"
        and row["extra_memory_bytes"]
        and not row["rank_low"]
        and not row["step_s"]
    )
    assert "proved and weighed, as asked, and not timed" in " ".join(ended.stdout.split())
    again = snnbench.run(snnbench.folder / "odd.toml")
    assert again.exit_code == 0 and again.records == ended.records, "it is through"


@pytest.mark.slow
@pytest.mark.frameworks
def test_an_inference_is_timed_with_the_running_statistics_of_norms(snnbench):
    axes = 'workload = ["cifar-small"]\nwidth = [8]\nimage = [8]\nnorm = [true]\n'
    (snnbench.folder / "norms.toml").write_text(
        f'name = "norms"\n[grid]\nframework = ["torch", "jax"]\n{axes}time_steps = [5]\n'
        'batch = [3]\ndevice = ["cpu"]\n[measure]\nblocks = 1\nmost_blocks = 1\npasses = 1\n'
        'slot = "5ms"\nthreads = 1\nphases = ["step", "inference"]\n'
    )
    ended = snnbench.run(snnbench.folder / "norms.toml")
    assert ended.exit_code == 0, ended.stderr
    for record in ended.records:
        assert record["parts"]["inference"]["timing"]["slots"]
        names = [stage["name"] for stage in record["proof"]["stages"]]
        assert "small problem, fp32, inference" in names


def test_a_run_of_inference_alone_is_ranked_by_it(snnbench):
    adapters = [*NUMPY, "held.py:Held"]
    measure = 'phases = ["inference"]\npasses = 3\n'
    config = snnbench.config(["numpy", "held"], adapters, measure=measure)
    ended = snnbench.run(config)
    assert ended.exit_code == 0, ended.stderr
    assert {row["ranked_by"] for row in ended.rows} == {"inference"}
    assert all(row["rank_low"] and row["inference_s"] and not row["step_s"] for row in ended.rows)
    assert "ranked by inference" in " ".join(ended.stdout.split())
    for record in ended.records:
        assert [slot["pass"] for slot in record["parts"]["inference"]["timing"]["slots"]] == [
            0,
            1,
            2,
        ]
    bundle = snnbench.folder / "mine.bundle.jsonl"
    assert snnbench("bundle", ended.folder, "--out", bundle).exit_code == 0
    verified = snnbench("verify", bundle)
    assert verified.exit_code == 0, verified.stdout
    assert snnbench("report", bundle, "--format", "latex").stdout.count("inference") > 1
