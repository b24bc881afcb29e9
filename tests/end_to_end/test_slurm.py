"""An array job of a real SLURM: its results, its faults, and that nothing is lost or doubled."""

import signal
import sys

import pytest
from support.slurm import wait_for
from support.trees import tree

ADAPTERS = ["numpy_network.py:NumpyNetwork", "raising.py:RefusesLate", "dying.py:Segfaults"]


def assert_whole(site, ended, count=2):
    assert ended.exit_code == 0, ended.stderr
    assert [record["status"] for record in ended.records] == ["ok"] * count
    parts = [path.name for path in site.out.glob("parts/*/records/[!.]*.json")]
    assert len(parts) == len(set(parts)) == count
    wait_for(lambda: not site.cluster.jobs() and not site.processes(), 30)


@pytest.mark.slow
def test_two_parts_are_the_run_without_slurm_and_failures_are_retried(site):
    config = site.config(
        ["numpy", "refuses-late", "segfaults"], ADAPTERS, prelude="echo from the prelude"
    )
    ended = site.run(config, "--set", "seed=97")
    local = site.snnbench.run(config, "--set", "seed=97", out="local")
    assert ended.exit_code == local.exit_code == 3, ended.stderr
    statuses = [{(r["case_id"], r["status"]) for r in run.records} for run in (ended, local)]
    assert statuses[0] == statuses[1] and len(ended.records) == len(ended.rows) == 6
    nodes = {(r["case"]["neurons"], r["machine"]["node"]) for r in ended.records}
    assert len(nodes) == 2, "what is ranked together runs on one node"
    assert ended.stderr.splitlines()[0].endswith("is submitted: 2 parts, into out")
    assert "from the prelude" in (site.out / "log" / "1.log").read_text()
    files = ("report.html", "experiment.json")
    assert (site.out / files[0]).exists()
    assert (site.out / files[1]).read_bytes() == (local.folder / files[1]).read_bytes()
    before = {path: path.read_bytes() for path in site.out.glob("records/*.json")}
    site.run(config, "--set", "seed=97")
    changed = {path for path in before if path.read_bytes() != before[path]}
    assert len(changed) == 2 and all(b'"crash"' in path.read_bytes() for path in changed)


def test_a_killed_submitter_and_a_second_command_share_one_job(site):
    config = site.config()
    site.hold()
    process = site.start(config)
    site.wait_until_held()
    process.kill()
    process.communicate()
    job = site.job
    (site.out / "slurm.json").unlink()  # as if the kill came between sbatch and this file
    two = [site.start(config) for _ in range(2)]
    wait_for(lambda: (site.out / "slurm.json").exists() and site.job == job)
    site.release()
    for again in two:
        ended = site.end(again)
        assert f"job {job} was there already" in ended.stderr
        assert_whole(site, ended)


@pytest.mark.slow
def test_a_detached_job_is_followed_and_collected_but_not_by_another_experiment(site):
    config = site.config()
    site.hold()
    assert site.run(config, "--detach").exit_code == 0
    job = site.job
    site.wait_until_held()
    other = site.run(config, "--set", "measure.passes=3")
    fault = f"job {job} runs there, of another config or other options; wait for it, scancel {job}"
    assert other.exit_code == 2 and fault in other.message
    assert f"job {job} was there already" in site.run(config, "--detach").stderr
    site.release()
    wait_for(lambda: not site.cluster.jobs())
    assert_whole(site, site.run(config))
    assert site.job == job


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["killed", "requeued", "node", "time limit", "Ctrl-C"])
def test_after_a_fault_the_job_or_the_same_command_continues(site, fault):
    limits = {"time limit": ["--time=00:01:00"], "node": ["--exclusive"]}.get(fault, [])
    config = site.config(options=["--mem=3G", *limits])
    site.hold()
    process = site.start(config)
    site.wait_until_held()
    task = f"{site.job}_{site.held_part}"
    if fault == "killed":
        site.cluster("scancel", "--full", "--signal=KILL", task)
    elif fault == "requeued":
        site.cluster("scontrol", "requeue", task)
    elif fault == "node":
        node = site.cluster("squeue", "-h", "-r", "-j", task, "-o", "%N").strip()
        site.cluster.kill_node(node)
        site.release()
        wait_for(lambda: site.cluster.states()[node].startswith("down"), 180)
    elif fault == "Ctrl-C":
        process.send_signal(signal.SIGINT)
    if fault in ("requeued", "node"):
        site.release()
        return assert_whole(site, site.end(process))
    ended = site.end(process)
    assert ended.exit_code == (130 if fault == "Ctrl-C" else 3), ended.stderr
    assert [record["status"] for record in ended.records].count("ok") == 1
    if fault == "time limit":
        assert "DUE TO TIME LIMIT" in ended.stderr
    assert "the same command goes on from there" in ended.stderr
    site.release()
    assert_whole(site, site.run(config))


@pytest.mark.parametrize(
    "options, words",
    [
        (["--partition=nowhere"], "invalid partition specified: nowhere"),
        (["--mem=97T"], "Memory specification can not be satisfied"),
    ],
)
def test_a_queue_that_refuses_leaves_nothing_and_loses_nothing(site, options, words):
    before = tree(site.snnbench.folder)
    ended = site.run(config := site.config(options=options))
    config.unlink()
    assert ended.exit_code == 2 and words in ended.message
    assert ended.message.startswith("snnbench: SLURM refuses the job: sbatch: ")
    assert tree(site.snnbench.folder).keys() - before.keys() == set()


@pytest.mark.slow
def test_squeue_may_fail(site):
    calls = site.notes / "calls"
    shim = site.shims / "squeue"
    shim.write_text(
        f'#!/bin/bash\necho >>{calls}\nn=$(wc -l <{calls})\nif [ "$n" -ge 3 -a "$n" -le 5 ]; then\n'
        f'echo "squeue: error: no controller" >&2; exit 1; fi\nPATH=$PATH:/usr/bin\n'
        f'PATH=${{PATH#{site.shims}:}} exec squeue "$@"\n'
    )
    shim.chmod(0o755)
    ended = site.run(site.config())
    assert "no answer, asking again: squeue: no controller" in ended.stderr
    assert_whole(site, ended)


@pytest.mark.slow
@pytest.mark.parametrize(
    "slurm, words",
    [
        ({"prelude": "no_such_module load cuda"}, "no_such_module: command not found"),
        ({"options": ["--mem=420"]}, "this job may use 420 MiB of memory, of which snnbench keeps"),
    ],
)
def test_the_end_of_a_failed_part_s_log_is_printed(site, slurm, words):
    ended = site.run(site.config(parts=1, **slurm))
    assert ended.exit_code == 3 and ended.records == []
    assert f"part 1 has not come to its end; its log {site.out}/log/1.log ends: " in ended.stderr
    assert words in ended.stderr


HUNGRY = ["hungry", "numpy"], ["hungry.py:Hungry", "numpy_network.py:NumpyNetwork"]


@pytest.mark.slow
def test_a_case_that_needs_more_memory_than_the_job_is_oom_host(site):
    ended = site.run(site.config(*HUNGRY, parts=1, options=["--mem=1600"]))
    assert ended.exit_code == 0, ended.stderr
    assert sorted(record["status"] for record in ended.records) == ["ok", "ok", "ok", "oom_host"]


@pytest.mark.slow
def test_a_case_in_which_the_job_dies_twice_is_a_crash_and_is_not_retried(site):
    """The limit of the job is hidden from snnbench."""
    site.snnbench.environment["SNNBENCH_TEST_PAUSE"] = "0.4"
    prelude = "unset SLURM_MEM_PER_NODE"
    config = site.config(*HUNGRY, parts=1, options=["--mem=1600"], prelude=prelude)
    for _ in range(2):
        died = site.run(config)
        assert died.exit_code == 3 and "memory limit" in died.stderr, died.stderr
    ended = site.run(config)
    assert ended.exit_code == 3 and "has not come to its end" not in ended.stderr
    assert sorted(record["status"] for record in ended.records) == ["crash", "ok", "ok", "ok"]
    (crash,) = [r for r in ended.records if r["status"] == "crash"]
    assert crash["reason"] == "the job died twice in this case"
    before = tree(site.out / "parts" / "1" / "records")
    assert site.run(config).exit_code == 3
    assert tree(site.out / "parts" / "1" / "records") == before


def test_the_gpu_that_is_watched_is_the_one_that_slurm_gave(site):
    """The job knows its GPU by CUDA_VISIBLE_DEVICES; the driver counts all GPUs of the node."""
    folder = site.snnbench.folder
    (folder / "which.py").write_text(
        "import pynvml\n"
        "from snnbench.machine.nvml import device_count, handle_of\n"
        "pynvml.nvmlInit, pynvml.nvmlDeviceGetHandleByIndex = (lambda: None), (lambda i: i)\n"
        "print(device_count(), handle_of(0))\n"
    )
    for number in (0, 1):  # together on one node: each has another GPU
        wait = f"until [ -s {folder}/gpu-{1 - number}.txt ]; do sleep 0.1; done"
        options = ["--nodelist=n1", "--gres=gpu:1", "--cpus-per-task=1", "--mem=500"]
        options += [f"--output={folder}/gpu-{number}.txt", "--wrap"]
        site.cluster("sbatch", *options, f"{sys.executable} {folder}/which.py; {wait}")
    wait_for(lambda: not site.cluster.jobs())
    texts = {(folder / f"gpu-{number}.txt").read_text() for number in (0, 1)}
    assert texts == {"1 0\n", "1 1\n"}
