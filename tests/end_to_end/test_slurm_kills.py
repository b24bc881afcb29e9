"""What may be killed on a cluster: nothing is lost, nothing doubled, and no process is left."""

import json
import signal
from pathlib import Path

import pytest
from support.slurm import wait_for
from support.slurm_site import doubled, statuses

HUNGRY = dict(adapters=["hungry.py:Hungry", "numpy_network.py:NumpyNetwork"], parts=1)


def all_is_there(site, ended, records=2):
    assert ended.exit_code == 0, ended.stderr
    assert list(statuses(ended).values()) == ["ok"] * records and doubled(ended) == []
    site.assert_nothing_left()


def workers_of(site, framework):
    """Processes that run its cases."""
    jobs = [(one, one.cmdline()) for one in site.processes()]
    jobs = [
        (one, Path(line[-1])) for one, line in jobs if line[-3:-1] == ["snnbench.worker", "run"]
    ]
    return [
        one for one, job in jobs if json.loads(job.read_text())["case"]["framework"] == framework
    ]


def test_the_command_that_submitted_is_killed(site):
    config = site.config()
    site.hold()
    process = site.start(config)
    site.wait_until_held()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    job = site.job()
    assert site.cluster.jobs()
    again = site.start(config)
    site.release()
    ended = site.end(again)
    assert f"job {job} was there already" in ended.stderr
    all_is_there(site, ended)


@pytest.mark.slow
def test_ctrl_c_ends_the_job_and_the_next_run_goes_on(site):
    config = site.config()
    site.hold()
    process = site.start(config)
    site.wait_until_held()
    wait_for(lambda: len(site.recorded()) == 1, 120)
    process.send_signal(signal.SIGINT)
    ended = site.end(process)
    assert ended.exit_code == 130 and "the same command goes on from there" in ended.stderr
    assert sorted(statuses(ended).values()) == ["interrupted", "ok"]
    site.assert_nothing_left()
    site.release()
    all_is_there(site, site.run(config))


@pytest.mark.slow
def test_a_part_that_is_requeued_goes_on(site):
    """As when another job takes its node."""
    config = site.config(measure="blocks = 2")
    site.hold()
    process = site.start(config)
    site.wait_until_held()
    wait_for(lambda: len(site.recorded()) == 2, 120)
    site.cluster("scontrol", "requeue", f"{site.job()}_{held_part(site)}")
    site.release()
    all_is_there(site, site.end(process), 4)


def held_part(site):
    """The number of the part that has no record yet."""
    return next(number for number in (1, 2) if not list(site.part(number).glob("records/*.json")))


@pytest.mark.slow
def test_a_worker_is_killed_and_the_others_go_on(site):
    config = site.config(
        "held", "numpy", adapters=["held.py:Held", "numpy_network.py:NumpyNetwork"]
    )
    site.hold()
    process = site.start(config)
    site.wait_until_held()
    wait_for(lambda: len(site.recorded()) == 2, 120)
    (held,) = workers_of(site, "held")
    held.kill()
    ended = site.end(process)
    assert ended.exit_code == 3
    found = {
        (record["case"]["framework"], record["case"]["neurons"]): record for record in ended.records
    }
    assert {key: record["status"] for key, record in found.items()} == {
        ("held", 41): "ok", ("numpy", 41): "ok", ("held", 61): "crash", ("numpy", 61): "ok"
    }  # fmt: skip
    assert "killed by SIGKILL" in found["held", 61]["reason"]
    site.assert_nothing_left()


@pytest.mark.slow
def test_a_node_dies_and_its_part_goes_on_elsewhere(site):
    config = site.config(options=["--mem=3G", "--exclusive"])
    site.hold()
    process = site.start(config)
    site.wait_until_held()
    part = held_part(site)
    node = site.cluster("squeue", "-h", "-r", "-j", f"{site.job()}_{part}", "-o", "%N").strip()
    site.cluster.kill_node(node)
    site.release()
    wait_for(lambda: site.cluster.states()[node].startswith("down"), 180)
    ended = site.end(process)
    assert any(
        f"running on {other}" in ended.stderr for other in site.cluster.nodes if other != node
    )
    all_is_there(site, ended)


@pytest.mark.slow
def test_a_part_that_its_time_limit_ends_goes_on_with_the_same_command(site):
    config = site.config(options=["--mem=3G", "--time=00:01:00"])
    site.hold()
    ended = site.run(config)
    assert ended.exit_code == 3 and "timeout (TimeLimit)" in ended.stderr, ended.stderr
    assert sorted(statuses(ended).values()) == ["interrupted", "ok"]
    site.assert_nothing_left()
    site.release()
    all_is_there(site, site.run(config))


@pytest.mark.slow
def test_a_case_that_wants_more_than_the_job_has_ends_before_the_job_does(site):
    config = site.config("hungry", "numpy", options=["--mem=1600"], **HUNGRY)
    ended = site.run(config)
    assert ended.exit_code == 0, ended.stderr
    found = {
        (record["case"]["framework"], record["case"]["neurons"]): record["status"]
        for record in ended.records
    }
    assert found == {
        ("hungry", 41): "ok",
        ("numpy", 41): "ok",
        ("hungry", 61): "oom_host",
        ("numpy", 61): "ok",
    }
    site.assert_nothing_left()


@pytest.mark.slow
def test_a_case_in_which_the_job_died_twice_is_a_record(site):
    """snnbench is not told how much memory the job has."""
    site.snnbench.environment["SNNBENCH_TEST_PAUSE"] = "0.4"
    config = site.config(
        "hungry", "numpy", options=["--mem=1600"], prelude="unset SLURM_MEM_PER_NODE", **HUNGRY
    )
    for _ in range(2):
        died = site.run(config)
        assert died.exit_code == 3 and "part 1 has not come to its end" in died.stderr, died.stderr
        assert "Exceeded job memory limit" in died.stderr
    ended = site.run(config)
    assert ended.exit_code == 3 and "has not come to its end" not in ended.stderr, ended.stderr
    found = {
        (record["case"]["framework"], record["case"]["neurons"]): record for record in ended.records
    }
    assert {key: record["status"] for key, record in found.items()} == {
        ("hungry", 41): "ok", ("numpy", 41): "ok", ("hungry", 61): "crash", ("numpy", 61): "ok"
    }  # fmt: skip
    assert found["hungry", 61]["reason"] == "the job died twice in this case"
    (path,) = (
        path
        for path in site.part(1).glob("records/*.json")
        if json.loads(path.read_text())["status"] == "crash"
    )
    before = path.read_bytes()
    again = site.run(config)
    assert again.exit_code == 3 and path.read_bytes() == before, "it is not tried again for ever"
    site.assert_nothing_left()
