"""An experiment as an array job of a real SLURM: what it finds, to whom it attaches, and what
goes wrong on the way."""

import json
import shutil
import sys

import pytest
from support.paths import ROOT
from support.slurm import wait_for
from support.slurm_site import ON_SLURM, doubled, statuses
from support.trees import tree

ADAPTERS = ["numpy_network.py:NumpyNetwork", "raising.py:RefusesLate", "dying.py:Segfaults"]
NAMES = ["numpy", "refuses-late", "segfaults"]


@pytest.fixture(scope="module")
def ended(site_module):
    """Two parts, of which each has a case that crashes; and the same without SLURM."""
    config = site_module.config(*NAMES, adapters=ADAPTERS, prelude="echo the prelude was here")
    return site_module.run(config, "--set", "seed=97"), site_module.snnbench.run(
        config, "--set", "seed=97", out="local"
    )


def test_two_parts_are_the_run_without_slurm(ended):
    there, local = ended
    assert there.exit_code == local.exit_code == 3, there.stderr
    assert statuses(there) == statuses(local) and len(there.records) == 6
    assert {record["status"] for record in there.records} == {"ok", "unsupported", "crash"}
    assert doubled(there) == [] and {part.name for part in there.folder.glob("parts/*")} == {
        "1",
        "2",
    }
    assert all(list(part.glob("records/*.json")) for part in there.folder.glob("parts/*"))
    assert (there.folder / "report.html").exists() and len(there.rows) == 6
    assert (there.folder / "experiment.json").read_bytes() == (
        local.folder / "experiment.json"
    ).read_bytes()


def test_it_is_told_what_happens(ended):
    lines = ended[0].stderr.splitlines()
    assert lines[0].endswith("is submitted: 2 parts, into out")
    assert any("running on n" in line or "pending" in line for line in lines[1:])
    assert "the prelude was here" in (ended[0].folder / "log" / "1.log").read_text()


def test_what_is_ranked_together_ran_on_one_node(ended):
    sizes = {}
    for record in ended[0].records:
        sizes.setdefault(record["case"]["neurons"], set()).add(record["machine"]["node"])
    assert {size: len(nodes) for size, nodes in sizes.items()} == {41: 1, 61: 1}


def test_another_node_is_another_machine_in_the_report(site_module, ended):
    """Of the same kind: only its name tells them apart."""
    parts = site_module.snnbench.folder / "two-nodes"
    shutil.copytree(ended[0].folder / "parts", parts)
    for path in parts.glob("2/records/*.json"):
        record = json.loads(path.read_text())
        record["machine"]["node"] = "9" * 12
        path.write_text(json.dumps(record))
    merged = site_module.snnbench("merge", parts / "1", parts / "2", "--out", "apart", out="apart")
    assert len({row["machine"] for row in merged.rows}) == 2
    assert {row["machine"].rpartition("-")[2] for row in merged.rows} >= {"9" * 12}
    assert "machine 1" in merged.stdout and "machine 2" in merged.stdout


@pytest.mark.slow
def test_a_second_run_keeps_what_is_done_and_tries_again_what_failed(site_module, ended):
    before = {path.name: path.read_bytes() for path in ended[0].folder.glob("records/*.json")}
    again = site_module.run(site_module.snnbench.folder / "odd.toml", "--set", "seed=97")
    after = {path.name: path.read_bytes() for path in again.folder.glob("records/*.json")}
    crashed = {
        path.name
        for path in again.folder.glob("records/*.json")
        if json.loads(path.read_text())["status"] == "crash"
    }
    assert (
        before.keys() == after.keys()
        and {name for name in after if after[name] != before[name]} == crashed
    )


@pytest.mark.slow
def test_a_job_that_was_left_behind_is_followed_and_then_collected(site):
    config = site.config()
    site.hold()
    left = site.run(config, "--detach")
    assert left.exit_code == 0 and left.records == [], left.stderr
    job = site.job()
    site.wait_until_held()
    seen = site.run(config, "--detach")
    assert f"job {job} was there already" in seen.stderr
    site.release()
    wait_for(lambda: not site.cluster.jobs(), 60)
    ended = site.run(config)
    assert (ended.exit_code, site.job()) == (0, job), "nothing was left to submit"
    assert set(statuses(ended).values()) == {"ok"} and len(ended.records) == 2
    assert doubled(ended) == []


def test_two_commands_at_once_are_one_job(site):
    config = site.config()
    site.hold()
    two = [site.start(config) for _ in range(2)]
    site.wait_until_held()
    assert len(set(site.cluster("squeue", "-h", "-o", "%F").split())) == 1
    site.release()
    results = [site.end(process) for process in two]
    assert [result.exit_code for result in results] == [0, 0], [result.stderr for result in results]
    assert sorted("was there already" in result.stderr for result in results) == [False, True]
    assert len(results[0].records) == 2 and doubled(results[0]) == []


@pytest.mark.slow
def test_another_experiment_does_not_attach(site):
    site.hold()
    site.run(site.config(), "--detach")
    site.wait_until_held()
    other = site.run(site.config(), "--set", "measure.passes=3")
    sentence = f"job {site.job()} runs there, of another config or other options; wait for it, scancel {site.job()}, or choose"
    assert other.exit_code == 2 and sentence in other.message


@pytest.mark.slow
def test_a_job_that_a_kill_left_unnoted_is_found(site):
    """Killed between sbatch and slurm.json."""
    config = site.config()
    site.hold()
    site.run(config, "--detach")
    job = site.job()
    (site.snnbench.folder / "out" / "slurm.json").unlink()
    found = site.run(config, "--detach")
    assert f"job {job} was there already" in found.stderr and site.job() == job


@pytest.mark.slow
def test_squeue_may_fail_three_times_in_a_row(site):
    """Then it forgets the job, and the records are believed."""
    asked = site.snnbench.notes / "questions"
    asked.touch()
    fails = 'if [ $n -ge 2 -a $n -le 4 ]; then echo "squeue: error: Unable to contact slurm controller" >&2; exit 1; fi'
    forgets = 'echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1'
    done = f'[ -z "$($REAL -h)" ] && {{ {forgets}; }}'
    followed = f'case "$*" in *" -j "*) echo >>{asked}; n=$(wc -l <{asked}); {fails}; {done};; esac'
    site.shim("squeue", f'{followed}\nexec $REAL "$@"')
    ended = site.run(site.config())
    assert "no answer, asking again: squeue: Unable to contact slurm controller" in ended.stderr
    assert (ended.exit_code, set(statuses(ended).values())) == (0, {"ok"}), ended.stderr
    assert len(asked.read_text().splitlines()) >= 5


@pytest.mark.parametrize(
    "options, words",
    [
        (["--partition=nowhere"], "invalid partition specified: nowhere"),
        (["--mem=97T"], "Memory specification can not be satisfied"),
    ],
)
def test_a_refused_job_is_one_sentence_and_nothing_is_left(site, options, words):
    config = site.config(options=options)
    before = tree(site.snnbench.folder)
    ended = site.run(config)
    assert ended.exit_code == 2 and ended.message.startswith(
        "snnbench: SLURM refuses the job: sbatch: "
    )
    assert words in ended.message and tree(site.snnbench.folder) == before


def test_without_slurm_it_says_where_to_start_it(snnbench):
    config = snnbench.config(["torch"])
    snnbench.environment["PATH"] = str(snnbench.folder)
    ended = snnbench.run(config, *ON_SLURM)
    sentence = (
        "snnbench: --executor slurm: there is no sbatch here; start it where jobs are submitted"
    )
    assert (ended.exit_code, ended.message) == (2, sentence.replace("sbatch", "squeue"))
    assert not ended.folder.exists()


@pytest.mark.parametrize(
    "prelude",
    ["module_that_nobody_has load cuda/12.4", pytest.param("false", marks=pytest.mark.slow)],
)
def test_a_prelude_that_fails_ends_its_part_and_its_log_is_named(site, prelude):
    ended = site.run(site.config(prelude=prelude, parts=1))
    assert ended.exit_code == 3 and ended.records == []
    said = next(line for line in ended.stderr.splitlines() if "has not come to its end" in line)
    assert f"its log is {ended.folder / 'log' / '1.log'}" in said
    assert ("command not found" in said) == (prelude != "false") and ("which is empty" in said) == (
        prelude == "false"
    )


def test_a_job_without_room_for_a_worker_is_refused_before_it_dies(site):
    ended = site.run(site.config(options=["--mem=420"], parts=1))
    assert (
        ended.exit_code == 3
        and "this job may use 420 MiB of memory, of which snnbench keeps 512 MiB" in ended.stderr
    )


@pytest.mark.slow
def test_records_of_another_run_are_not_replaced(site):
    config = site.config()
    local = site.snnbench.run(config)
    before = tree(local.folder / "records")
    ended = site.run(config)
    assert ended.exit_code == 2 and "has records of another run" in ended.message
    assert tree(local.folder / "records") == before


def test_the_gpu_that_is_watched_is_the_one_that_slurm_gave(site):
    """SLURM tells the job by CUDA_VISIBLE_DEVICES; the driver counts all GPUs of the node."""
    program = site.snnbench.folder / "which.py"
    program.write_text(
        "import pynvml\n"
        "from snnbench.machine.nvml import device_count, handle_of\n"
        "pynvml.nvmlInit, pynvml.nvmlDeviceGetHandleByIndex = (lambda: None), (lambda index: index)\n"
        "print(device_count(), handle_of(0))\n"
    )
    for number in (0, 1):  # together on one node: each is given another
        log = site.snnbench.folder / f"which-{number}.txt"
        both = f"until [ -s {site.snnbench.folder}/which-{1 - number}.txt ]; do sleep 0.1; done"
        asked = "--nodelist=n1", "--gres=gpu:1", "--cpus-per-task=1", "--mem=500", f"--output={log}"
        site.cluster("sbatch", *asked, "--wrap", f"{sys.executable} {program}; {both}")
    wait_for(lambda: not site.cluster.jobs(), 60)
    assert {(site.snnbench.folder / f"which-{number}.txt").read_text() for number in (0, 1)} == {
        "1 0\n",
        "1 1\n",
    }


@pytest.mark.slow
def test_the_ci_grid_on_real_frameworks_is_that_of_local(site):
    """torch and jax, of each size side by side, on one node."""
    config = site.snnbench.folder / "ci.toml"
    table = '[slurm]\nparts = 2\noptions = ["--mem=3G", "--exclusive"]\n'
    config.write_text(
        (ROOT / "configs" / "ci.toml").read_text().replace("neurons = [97]", "neurons = [61, 97]")
        + table
    )
    there, local = site.run(config), site.snnbench.run(config, out="local")
    assert there.exit_code == local.exit_code == 0, there.stderr
    assert statuses(there) == statuses(local) and list(statuses(there).values()) == ["ok"] * 4
    for size in (61, 97):
        of_size = [record for record in there.records if record["case"]["neurons"] == size]
        assert len(of_size) == 2 and len({record["live_set"] for record in of_size}) == 1
        assert len({record["machine"]["node"] for record in of_size}) == 1
