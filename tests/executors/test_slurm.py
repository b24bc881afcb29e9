"""The commands of SLURM are called and read as real ones behave; the table `slurm` is checked."""

import json
import os
import subprocess
from types import SimpleNamespace

import pytest
from support.paths import ROOT

from snnbench.common.mistakes import ConfigError
from snnbench.executors import slurm
from snnbench.executors.slurm import ArrayJob, SlurmError
from snnbench.experiment.config import load_config

ON_SLURM = "--executor", "slurm"


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Writes commands into an otherwise empty PATH; each notes its arguments."""
    folder = tmp_path / "commands"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr("sys.argv", [str(folder / "snnbench")])

    def write(name, script):
        (folder / name).write_text(f'#!/bin/bash\necho "$*" >>{folder}/{name}.calls\n{script}\n')
        (folder / name).chmod(0o755)
        return lambda: (folder / f"{name}.calls").read_text().splitlines()

    write("snnbench", "")
    write("squeue", "")
    return write


def array(folder, parts=2, **more):
    arguments = ["--only", "framework=norse,neurons=1*"]
    return ArrayJob(folder / "a folder", parts, b'name = "a"\n', arguments, **more)


def start(job):
    return job.start(lambda: job.folder.mkdir(exist_ok=True), lambda: False)


def test_what_is_submitted(commands, tmp_path, monkeypatch):
    for name in ("SLURM_MEM_PER_NODE", "SLURM_JOB_ID", "SLURM_CONF"):
        monkeypatch.setenv(name, "97")
    calls = commands(
        "sbatch", 'echo a remark of the site; echo "9${SLURM_JOB_ID:-7}$SLURM_CONF;east"'
    )
    job = array(tmp_path, options=["--mem=3G"], prelude="module load 'cuda'\nulimit", fresh=True)
    assert start(job) is False
    assert calls() == [
        f"--requeue --mem=3G --parsable --array=1-2 --comment={job.comment} --open-mode=append "
        f"--output={job.folder}/log/%a.log {job.folder}/job.sh"
    ]
    state = {"job": 9797, "cluster": "east", "parts": 2, "collected": False}
    assert json.loads((job.folder / "slurm.json").read_text()) == state
    assert job.script.read_text().splitlines()[2:5] == ["set -e", "module load 'cuda'", "ulimit"]
    script = job.script.read_text().replace("module", "echo")
    calls = commands("snnbench", "")
    for variables in ({}, {"SLURM_RESTART_COUNT": "0"}, {"SLURM_RESTART_COUNT": "1"}):
        variables |= {"SLURM_ARRAY_TASK_ID": "2", "PATH": os.defpath}
        subprocess.run(["/bin/bash", "-c", script], env=variables, check=True)
    run = f"run --config {job.folder}/experiment.toml --only framework=norse,neurons=1* --shard 2/2"
    run += f" --out {job.folder}/parts/2"
    assert calls() == [f"{run} --fresh", f"{run} --fresh", run]
    calls = commands("squeue", "echo CLUSTER: east; echo '9797|RUNNING|None|n1|(null)'")
    assert job.tasks() == ["running on n1"] and calls()[-1].startswith("--clusters east -h -r")


@pytest.mark.parametrize("number", ["PBS_ARRAY_INDEX", "LSB_JOBINDEX"])
def test_a_script_runs_on_pbs_and_lsf_with_the_prelude_of_the_docs(tmp_path, number):
    prelude = f"export SLURM_ARRAY_TASK_ID=${number}"
    documented = (ROOT / "docs" / "machines.md").read_text(encoding="utf-8")
    assert 'prelude = "export SLURM_ARRAY_TASK_ID=$PBS_ARRAY_INDEX"' in documented
    assert f"`${number}`" in documented or f'${number}"`' in documented
    job = array(tmp_path, prelude=prelude)
    job.folder.mkdir()
    job.write()
    shown = job.script.read_text().replace("exec ", "echo ")
    variables = {number: "2", "PATH": os.defpath}
    ended = subprocess.run(["/bin/bash", "-c", shown], env=variables, capture_output=True)
    assert ended.stdout.decode().endswith(f"--shard 2/2 --out {job.folder}/parts/2\n")


def test_a_dry_run_writes_the_script_without_slurm(snnbench, monkeypatch):
    monkeypatch.setenv("PATH", str(snnbench.folder))
    config = snnbench.config(["numpy"], ["numpy_network.py:NumpyNetwork"], "neurons = [31, 37]")
    slurm_run = ("run", "--config", config, "--executor", "slurm", "--set", "slurm.parts=2")
    ended = snnbench(*slurm_run, "--out", "out", "--dry-run", "--json")
    assert ended.exit_code == 0, ended.message
    folder = snnbench.folder / "out"
    document = json.loads(ended.stdout)
    assert (document["script"], document["parts"]) == (str(folder / "job.sh"), 2)
    assert f"--config {folder}/experiment.toml" in (folder / "job.sh").read_text()
    assert (folder / "experiment.toml").read_bytes() == config.read_bytes()
    assert f"snnbench merge {folder}/parts/* --out {folder}/merged" in ended.stderr
    assert not (folder / "slurm.json").exists()
    assert snnbench(*slurm_run, "--out", "out", "--dry-run").exit_code == 0, "once more"
    (folder / "job.sh").write_text("mine")
    ended = snnbench(*slurm_run, "--out", "out", "--dry-run")
    assert ended.exit_code == 2 and "has another job.sh, which is not replaced" in ended.message
    ended = snnbench("run", "--config", config, "--dry-run")
    assert ended.exit_code == 2 and "--dry-run: is for --executor slurm" in ended.message


@pytest.mark.parametrize("name", ["job.sh", "experiment.toml"])
def test_a_file_that_is_of_no_job_is_not_replaced(commands, tmp_path, name):
    commands("squeue", "")
    job = array(tmp_path)
    job.folder.mkdir()
    (job.folder / name).write_text("mine")
    with pytest.raises(ConfigError, match=f"has another {name}, which is not replaced; choose"):
        start(job)
    assert (job.folder / name).read_text() == "mine"
    assert len(list(job.folder.glob("*.*"))) == 1 + (job.folder / "submit.lock").exists()


def test_a_job_is_found_by_its_number_or_its_whole_comment(commands, tmp_path):
    job = array(tmp_path)
    job.folder.mkdir()
    lines = [f"96|RUNNING|||{job.comment}x", f"97|NODE_FAIL|NodeDown|n[2-3]|{job.comment}"]
    lines += ["97|PENDING|Resources||(null)", "junk"]
    commands("squeue", "".join(f"echo '{line}'\n" for line in lines))
    assert job.tasks() == ["node fail (NodeDown) on n[2-3]", "pending (Resources)"]
    assert json.loads((job.folder / "slurm.json").read_text())["job"] == 97


def test_questions_become_rare_and_no_failure_ends_them(commands, tmp_path, monkeypatch):
    job, pauses = array(tmp_path, number=97), []
    fails = "echo squeue: error: down >&2; exit 1"

    def sleep(seconds):
        pauses.append(seconds)
        runs = "echo '97|RUNNING|None|n1|'" if len(pauses) < 20 else ""
        commands("squeue", fails if len(pauses) < 4 else runs)

    monkeypatch.setattr(slurm, "time", SimpleNamespace(sleep=sleep))
    commands("squeue", "echo '97|PENDING|Priority||'; echo '97|PENDING|Priority||'")
    lines = list(job.follow())
    failures = ["no answer, asking again: squeue: down"] * 3
    assert lines[:5] == ["2 pending (Priority)", *failures, "1 running on n1"]
    assert pauses[:2] == [slurm.POLL_S, slurm.POLL_S * slurm.POLL_GROWTH]
    assert max(pauses) == pauses[-1] == slurm.MOST_POLL_S


@pytest.mark.parametrize(
    "squeue, sbatch, state, fault",
    [
        ("echo squeue: error: down >&2; exit 1", "", "", "does not say whether .*: squeue: down"),
        ("exit 3", "", "", "does not say whether this runs already: squeue: it exits with 3"),
        ("", "echo hello", "", "sbatch gave no job's number: hello"),
        ("", "echo sbatch: error: full >&2; exit 1", "", "SLURM refuses the job: sbatch: full"),
        ("", "", '{"job": 97, "parts": 3}', "set slurm.parts = 3 or choose another --out"),
        ("", "", "foreign", "has records of another run, such as a.json; choose another --out"),
        ("", "", "damaged", "cannot be read: .*; remove it if no job of this folder runs"),
    ],
)
def test_nothing_is_submitted_and_a_new_folder_is_removed(
    commands, tmp_path, squeue, sbatch, state, fault
):
    commands("squeue", squeue)
    commands("sbatch", sbatch)
    job = array(tmp_path)
    if state == "foreign":
        (job.folder / "records").mkdir(parents=True)
        (job.folder / "records" / "a.json").touch()
    elif state:
        job.folder.mkdir()
        job.state.write_text(state)
    with pytest.raises(ConfigError, match=fault):
        start(job)
    assert job.folder.exists() == bool(state)


def test_a_command_that_is_missing_or_fails(commands):
    with pytest.raises(ConfigError, match="there is no sbatch here; start it where jobs are"):
        slurm.call("sbatch")
    commands("scancel", "echo scancel: error: a >&2; echo b >&2; exit 1")
    with pytest.raises(SlurmError, match=r"^scancel: a; b$"):
        slurm.call("scancel")


@pytest.mark.parametrize(
    "table, words",
    [
        ("parts = 0", "slurm.parts = 0: must be above 0"),
        ('partition = "gpu"', "slurm.partition: unknown key"),
        ('options = ["gpu"]', "slurm.options = 'gpu': must look like '--partition=gpu'"),
        ('options = ["--array=1-9"]', "snnbench sets --array itself"),
        ('options = ["-omine.log"]', "snnbench sets -o itself"),
        ("prelude = ['a']", "must be a text"),
    ],
)
def test_a_mistake_in_the_table_is_named(tmp_path, table, words):
    path = tmp_path / "mine.toml"
    path.write_text(f'name = "a"\n[slurm]\n{table}')
    with pytest.raises(ConfigError) as error:
        load_config(path)
    assert str(error.value).startswith(f"{path}: slurm.") and words in str(error.value)


@pytest.mark.parametrize(
    "verb, arguments, sentence",
    [
        ("run", [*ON_SLURM, "--shard", "1/2"], "--shard 1/2: --executor slurm deals out the parts"),
        ("run", ["--detach"], "--detach: only --executor slurm has something to leave behind"),
        ("plan", ON_SLURM, "--executor slurm: only run has it; each part of it plans on its own"),
        ("run", [*ON_SLURM, "--only", "neurons=98"], "--only neurons=98: no case left"),
        ("run", [*ON_SLURM, "--set", "slurm.parts=5", "--out", "out"], "so the job has 1 part"),
    ],
)
def test_a_mistake_is_one_sentence_and_writes_nothing(snnbench, verb, arguments, sentence):
    snnbench.environment["PATH"] = str(snnbench.folder)
    config = snnbench.config(["torch"])
    before = {*snnbench.folder.rglob("*")}
    ended = snnbench(verb, "--config", config, *arguments)
    assert ended.exit_code == 2 and sentence in ended.stderr
    assert {*snnbench.folder.rglob("*")} == before
