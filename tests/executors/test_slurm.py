"""What SLURM says, read, and what is asked of it: with commands that answer as real ones do."""

import json
import os
import stat

import pytest

from snnbench.common.mistakes import ConfigError
from snnbench.executors.slurm import Job, SlurmFails, Task, submitted, with_comment
from snnbench.executors.slurm_array import GROWTH, LONGEST_S, SHORTEST_S, ArrayRun, Wanted
from snnbench.experiment.slurm import Slurm


@pytest.fixture
def commands(tmp_path, monkeypatch):
    """Puts commands into an empty PATH; each writes down its arguments."""
    folder = tmp_path / "commands"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def put(name, script):
        path = folder / name
        path.write_text(f'#!/bin/bash\necho "$*" >>{folder}/{name}.asked\n{script}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return lambda: (folder / f"{name}.asked").read_text().splitlines()

    return put


def fails(text, code=1):
    return f"printf '%s\\n' {json.dumps(text)} >&2; exit {code}"


def test_tasks_of_an_array(commands):
    lines = [
        "97_1|RUNNING|None|n1",
        "97_2|PENDING|Resources|",
        "97_10|NODE_FAIL|NodeDown|n[2-3]",
        "97_11|COMPLETED|None|n1",
        "junk",
    ]
    asked = commands("squeue", "\n".join(f"echo '{line}'" for line in lines))
    tasks = Job(97).tasks()
    assert list(map(str, tasks)) == [
        "running on n1", "pending (Resources)", "node fail (NodeDown) on n[2-3]", "completed on n1"
    ]  # fmt: skip
    assert [(task.number, task.ended) for task in tasks] == [
        (1, False),
        (2, False),
        (10, True),
        (11, True),
    ]
    assert asked() == ["-h -r -t all -j 97 -o %i|%T|%r|%N"]


@pytest.mark.parametrize(
    "state", ["PENDING", "COMPLETING", "SUSPENDED", "REQUEUED", "STAGE_OUT", "A_STATE_OF_NEXT_YEAR"]
)
def test_whoever_may_run_again_has_not_ended(state):
    assert not Task(1, state, "", "").ended


def test_a_forgotten_job_is_no_failure_and_a_failure_is_no_end(commands):
    commands("squeue", fails("slurm_load_jobs error: Invalid job id specified"))
    assert Job(97).tasks() is None
    commands("squeue", fails("squeue: error: slurm_receive_msg: Connection refused"))
    with pytest.raises(SlurmFails, match=r"^squeue: slurm_receive_msg: Connection refused$"):
        Job(97).tasks()
    commands("squeue", "exit 3")
    with pytest.raises(SlurmFails, match="squeue: it exits with 3"):
        Job(97).tasks()


@pytest.mark.parametrize(
    "answer, job",
    [("97", Job(97)), ("97;east", Job(97, "east")), ("a remark of the site\\n97", Job(97))],
)
def test_a_submitted_job(commands, tmp_path, answer, job):
    asked = commands("sbatch", f"printf '{answer}\\n'")
    options = ["--mem=3G", "--no-requeue"]
    assert submitted(tmp_path / "job.sh", options, 3, "mine", tmp_path / "log") == job
    own = f"--parsable --array=1-3 --comment=mine --output={tmp_path}/log/%a.log --open-mode=append"
    assert asked() == [f"--requeue --mem=3G --no-requeue {own} {tmp_path}/job.sh"]


def test_the_limits_of_a_job_are_not_those_of_one_that_it_submits(commands, tmp_path, monkeypatch):
    for name in ("SLURM_MEM_PER_NODE", "SLURM_CPUS_PER_TASK", "SLURM_JOB_ID", "SLURM_CONF"):
        monkeypatch.setenv(name, "97")
    commands(
        "sbatch",
        'echo "${SLURM_MEM_PER_NODE:-1}${SLURM_CPUS_PER_TASK:-2}${SLURM_JOB_ID:-3}$SLURM_CONF"',
    )
    assert submitted(tmp_path / "job.sh", [], 1, "mine", tmp_path) == Job(12397)


def test_what_sbatch_refuses_is_the_users_to_put_right(commands, tmp_path):
    commands("sbatch", fails("sbatch: error: invalid partition specified: gpu"))
    with pytest.raises(
        ConfigError, match="SLURM refuses the job: sbatch: invalid partition specified: gpu"
    ):
        submitted(tmp_path / "job.sh", [], 3, "mine", tmp_path)
    commands("sbatch", "echo hello")
    with pytest.raises(ConfigError, match="sbatch gave no job's number: hello"):
        submitted(tmp_path / "job.sh", [], 3, "mine", tmp_path)


def test_a_job_of_another_cluster_is_asked_about_there(commands):
    asked, cancelled = (
        commands("squeue", "echo CLUSTER: east; echo '97_1|RUNNING|None|n1'"),
        commands("scancel", ""),
    )
    assert len(Job(97, "east").tasks()) == 1
    Job(97, "east").cancel()
    assert asked()[0].startswith("--clusters east -h") and cancelled() == ["--clusters east 97"]


def test_a_job_is_found_by_its_whole_comment(commands):
    commands("squeue", "echo '96|mine'; echo '97|mine'; echo '98|mine too'; echo '99|(null)'")
    assert with_comment("mine") == Job(97) and with_comment("yours") is None


def array(folder, parts=2, **wanted):
    return ArrayRun(
        folder,
        Wanted(
            **{"config": b'name = "a"\n', "arguments": ["--only", "framework=norse,neurons=1*"]}
            | wanted
        ),
        parts,
    )


@pytest.fixture
def run(tmp_path, commands, monkeypatch):
    commands("snnbench", "")
    monkeypatch.setattr("sys.argv", [str(tmp_path / "commands" / "snnbench")])
    return array(
        tmp_path / "a folder",
        slurm=Slurm(options=["--mem=3G"], prelude="module load 'cuda/12.4'\nulimit -l unlimited"),
    )


def test_the_script_that_each_task_runs(run, commands, tmp_path):
    commands("squeue", "")
    commands("sbatch", "echo 97")
    assert run.start(run.folder.mkdir, lambda: False) is False
    command = (
        f"exec {tmp_path}/commands/snnbench run --config '{tmp_path}/a folder/experiment.toml' "
        "--only 'framework=norse,neurons=1*' "
        f'--shard "$SLURM_ARRAY_TASK_ID/2" --out \'{tmp_path}/a folder/parts\'/"$SLURM_ARRAY_TASK_ID"'
    )
    lines = run.script.read_text().splitlines()
    assert lines[0] == "#!/bin/bash" and lines[2:] == [
        "set -e",
        "module load 'cuda/12.4'",
        "ulimit -l unlimited",
        command,
    ]
    assert json.loads(run.state_file.read_text()) == {
        "job": 97,
        "cluster": None,
        "parts": 2,
        "collected": False,
    }


@pytest.mark.parametrize("restarts, given", [("", "--fresh"), ("0", "--fresh"), ("1", "")])
def test_a_part_that_is_started_once_more_keeps_what_it_measured_afresh(
    run, commands, tmp_path, restarts, given
):
    commands("squeue", "")
    commands("sbatch", "echo 97")
    asked = commands("snnbench", "")
    fresh = array(tmp_path / "fresh", slurm=Slurm(), fresh=True)
    fresh.start(fresh.folder.mkdir, lambda: False)
    environment = {"SLURM_ARRAY_TASK_ID": "2", "PATH": os.defpath} | (
        {"SLURM_RESTART_COUNT": restarts} if restarts else {}
    )
    assert os.spawnve(os.P_WAIT, "/bin/bash", ["bash", str(fresh.script)], environment) == 0
    assert asked()[0].split("--shard ")[1].split() == [
        "2/2",
        "--out",
        f"{tmp_path}/fresh/parts/2",
        *given.split(),
    ]


def test_questions_become_rare_and_no_failure_ends_them(run, commands):
    run.job = Job(97)
    pauses, told = [], []

    def sleep(seconds):
        pauses.append(seconds)
        commands(
            "squeue",
            fails("squeue: error: down")
            if len(pauses) < 4
            else f"echo '97_1|{'RUNNING' if len(pauses) < 20 else 'FAILED'}||n1'",
        )

    commands("squeue", "echo '97_1|PENDING|Priority|'")
    ended = run.wait(lambda tasks, complaint: told.append(complaint or str(tasks[0])), sleep)
    assert list(map(str, ended)) == ["failed on n1"]
    assert told == ["pending (Priority)", *["squeue: down"] * 3, *["running on n1"] * 16]
    assert (
        pauses[:2] == [SHORTEST_S, SHORTEST_S * GROWTH] and max(pauses) == pauses[-1] == LONGEST_S
    )


def test_nothing_is_submitted_while_slurm_does_not_say_what_runs(run, commands, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    asked = commands("squeue", fails("squeue: error: down"))
    with pytest.raises(
        ConfigError, match="SLURM does not say whether this runs already: squeue: down"
    ):
        run.start(run.folder.mkdir, lambda: False)
    assert len(asked()) == 3 and not run.folder.exists()


def test_a_damaged_note_of_the_job_is_named(run, commands):
    run.folder.mkdir()
    run.state_file.write_text('{"job": "97"}')
    with pytest.raises(
        ConfigError,
        match=r"slurm.json: cannot be read: job = '97': must be a whole number; remove it if no job",
    ):
        run.start(lambda: None, lambda: False)


def test_another_number_of_parts_is_refused(run, commands):
    run.folder.mkdir()
    run.state_file.write_text('{"job": 97, "parts": 3}')
    with pytest.raises(
        ConfigError, match=r"was begun in 3 parts; set slurm.parts = 3 or choose another --out"
    ):
        run.start(lambda: None, lambda: False)
