"""The docker executor on a real engine: outcomes, limits, and removed containers."""

import json
import os
import select
import signal
import subprocess
import sys
import time

import psutil
import pytest
from docker.errors import APIError

from snnbench.executors import docker_engine
from snnbench.executors.docker import DockerWorker, ending_of, sources_of
from snnbench.executors.executor import Ending

IMAGE = os.environ.get("SNNBENCH_IMAGE", "snnbench")
FAULTY = [
    "numpy_network.py:NumpyNetwork",
    "dying.py:Hangs",
    "dying.py:Segfaults",
    "dying.py:Exits",
    "contained.py:Full",
]
NAMES = ["numpy", "hangs", "segfaults", "exits", "full"]


@pytest.fixture(scope="module")
def client():
    """An engine with the image; without it tests skip unless SNNBENCH_NEEDS_ENGINE is set."""
    import docker

    try:
        engine = docker.from_env(timeout=60)
        engine.images.get(IMAGE)
    except docker.errors.DockerException as error:
        (pytest.fail if os.environ.get("SNNBENCH_NEEDS_ENGINE") else pytest.skip)(
            f"no engine with image {IMAGE}: {error}"
        )
    return engine


def containers_of(client) -> list[str]:
    return [
        entry["Id"]
        for entry in client.api.containers(all=True, filters={"label": docker_engine.OWNER})
    ]


def until(condition, what, seconds=30.0):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        select.select([], [], [], 0.02)
    return value


def contained(snnbench, names, adapters, grid="", measure="", container=""):
    config = snnbench.config(names, adapters, grid, measure)
    config.write_text(f'{config.read_text()}\n[container]\nimage = "{IMAGE}"\n{container}\n')
    return config


@pytest.mark.engine
def test_each_case_ends_as_it_should_and_nothing_is_left(snnbench, client):
    """One ends well, one hangs, two die, one fills the container but no process limit."""
    measure = 'timeout = "16s"\nhost_memory = "700MiB"'
    config = contained(snnbench, NAMES, FAULTY, measure=measure)
    ended = snnbench.run(config, "--executor", "docker")
    endings = {
        record["case"]["framework"]: (record["status"], record["signal"])
        for record in ended.records
    }
    assert endings == {
        "numpy": ("ok", None),
        "hangs": ("timeout", signal.SIGKILL),
        "segfaults": ("crash", signal.SIGSEGV),
        "exits": ("crash", None),
        "full": ("oom_host", signal.SIGKILL),
    }, [(record["status"], record["reason"], record["stderr_tail"]) for record in ended.records]
    assert "killed by the kernel for want of memory" in ended.record("full")["reason"]
    digest = client.images.get(IMAGE).id
    assert {record["environment"]["image"]["digest"] for record in ended.records} == {digest}
    assert ended.record("numpy")["proof"]["passed"]
    assert not containers_of(client)


@pytest.mark.engine
def test_the_sandbox_of_a_worker(snnbench, client):
    config = contained(
        snnbench,
        ["reports-container", "forking"],
        ["contained.py:ReportsContainer", "contained.py:Forking"],
        container="pids = 40",
    )
    ended = snnbench.run(config, "--executor", "docker")
    seen = json.loads(ended.record("reports-container")["reason"].removeprefix("RuntimeError: "))
    assert seen == {
        "root_writable": False,
        "interfaces": ["lo"],
        "cores": 1,
        "capabilities": 0,
        "new_privileges": False,
        "user": [os.getuid(), os.getgid()],
        "environment": [],
    }
    assert ended.record("forking")["reason"].startswith("BlockingIOError")
    assert not containers_of(client)


@pytest.mark.engine
@pytest.mark.parametrize("also_the_watcher", [False, True], ids=["alone", "with its watcher"])
def test_a_killed_command_leaves_no_container(snnbench, client, also_the_watcher):
    """Its watcher removes them at once, or the next start does."""
    config = contained(snnbench, ["hangs"], ["dying.py:Hangs"])
    process = snnbench.start("run", "--config", config, "--out", "out", "--executor", "docker")
    until(lambda: "first_call" in running(snnbench), "the hanging case")
    (watcher,) = [
        child
        for child in psutil.Process(process.pid).children()
        if "snnbench.executors.docker_engine" in child.cmdline()
    ]
    assert containers_of(client)
    if also_the_watcher:
        watcher.kill()
    process.kill()
    process.communicate()
    if also_the_watcher:
        assert containers_of(client)
        docker_engine.remove_orphans(client)
    else:
        until(lambda: not containers_of(client), "the watcher")
    assert not containers_of(client)


def running(snnbench) -> str:
    """The events of the running worker."""
    try:
        return "".join(
            path.read_text() for path in (snnbench.folder / "out").rglob("workers/run-*/events")
        )
    except FileNotFoundError:  # a scratch folder is removed meanwhile
        return ""


@pytest.mark.engine
def test_an_interrupted_command_leaves_no_container(snnbench, client):
    config = contained(snnbench, ["hangs"], ["dying.py:Hangs"])
    process = snnbench.start("run", "--config", config, "--out", "out", "--executor", "docker")
    until(lambda: "first_call" in running(snnbench), "the hanging case")
    process.send_signal(signal.SIGINT)
    ended = snnbench.end(process)
    assert (ended.exit_code, ended.records[0]["status"]) == (130, "interrupted")
    assert not containers_of(client)


@pytest.mark.engine
def test_a_gpu_that_is_not_there_is_refused(snnbench, client):
    config = contained(snnbench, ["torch"], [], grid='device = ["cuda"]\nneurons = [97]')
    ended = snnbench.run(config, "--executor", "docker")
    assert ended.exit_code == 2 and "Traceback" not in ended.stderr
    assert "cuda" in ended.stderr or "gpu" in ended.stderr


@pytest.mark.engine
def test_an_image_that_is_not_there(snnbench, client):
    config = snnbench.config(["torch"])
    ended = snnbench.run(config, "--executor", "docker", "--set", "container.image=no-such-image")
    advice = "the container engine has no such image: docker build -t no-such-image ."
    assert (ended.exit_code, ended.message) == (
        2,
        f"snnbench: container.image = 'no-such-image': {advice}",
    )


def test_no_engine_is_one_sentence(snnbench):
    snnbench.environment["DOCKER_HOST"] = f"unix://{snnbench.folder}/missing.sock"
    ended = snnbench.run(snnbench.config(["torch"]), "--executor", "docker")
    assert ended.exit_code == 2
    assert ended.message.endswith("(DOCKER_HOST): No such file or directory")
    assert f"no container engine answers at unix://{snnbench.folder}/missing.sock" in ended.message


def test_messages_of_the_system_are_preferred_to_those_of_the_engine():
    wrapped = RuntimeError("Error while fetching server API version")
    wrapped.__cause__ = PermissionError(13, "Permission denied")
    assert docker_engine.in_short(wrapped) == "Permission denied"
    refused = RuntimeError('400: "client version 1.24 is too old"')
    refused.__cause__ = ValueError("400 Client Error")
    assert docker_engine.in_short(refused) == str(refused)
    assert docker_engine.in_short(TimeoutError()) == "TimeoutError"


def test_which_containers_are_orphans():
    """Those of dead processes of this machine, boot and namespace."""
    own = docker_engine.owner()
    assert not docker_engine.is_orphan(own)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    label = docker_engine.owner(psutil.Process(child.pid))
    assert not docker_engine.is_orphan(label)
    child.communicate()
    assert docker_engine.is_orphan(label)
    before, _, started = own.rpartition(":")
    assert docker_engine.is_orphan(f"{before}:{float(started) - 60:.2f}"), (
        "another process had this id before"
    )
    assert (
        not docker_engine.is_orphan(f"other-boot{own}")
        and not docker_engine.is_orphan("")
        and not docker_engine.is_orphan("a:b:c:d")
    )


def test_a_missing_package_is_named(snnbench):
    (snnbench.folder / "docker.py").write_text("raise ModuleNotFoundError('docker')")
    snnbench.environment["PYTHONPATH"] = str(snnbench.folder)
    ended = snnbench.installed(
        "run", "--config", snnbench.config(["torch"]), "--executor", "docker"
    )
    assert (ended.exit_code, ended.message[-33:]) == (
        2,
        "docker: pip install 'snnbench[docker]'"[-33:],
    )


@pytest.mark.parametrize(
    "state, timed_out, kernel_killed, ending",
    [
        ({"ExitCode": 0, "OOMKilled": False}, False, False, Ending(0)),
        ({"ExitCode": 3, "OOMKilled": False}, False, True, Ending(3)),
        ({"ExitCode": 139, "OOMKilled": False}, False, False, Ending(None, signal.SIGSEGV)),
        (
            {"ExitCode": 137, "OOMKilled": True},
            False,
            True,
            Ending(None, signal.SIGKILL, host_ran_out=True),
        ),
        ({"ExitCode": 137, "OOMKilled": False}, False, False, Ending(None, signal.SIGKILL)),
        ({"ExitCode": 137}, False, True, Ending(None, signal.SIGKILL, host_ran_out=True)),
        (
            {"ExitCode": 137, "OOMKilled": False},
            True,
            True,
            Ending(None, signal.SIGKILL, timed_out=True),
        ),
        ({"ExitCode": 1, "OOMKilled": True}, False, True, Ending(1, host_ran_out=True)),
        ({"ExitCode": 255, "OOMKilled": False}, False, False, Ending(255)),
    ],
)
def test_how_a_container_ended(state, timed_out, kernel_killed, ending):
    assert ending_of(state, timed_out, kernel_killed) == ending


def test_a_container_may_end_before_it_is_killed():
    """The engine refuses to kill a container that has ended."""

    class Ends:
        status, attrs = "running", {"State": {"ExitCode": 3, "OOMKilled": False}}
        attach = start = wait = reload = remove = lambda self, **_: ()

        def kill(self):
            raise APIError("409: container is not running")

    assert DockerWorker(Ends(), "").end() == Ending(3)


def test_a_container_sees_only_what_the_adapter_imports(tmp_path):
    files = {
        "mine.py": "import helper\nimport package.part\nimport numpy\n",
        "helper.py": "import other\n",
        "other.py": "",
    }
    files |= {
        "package/__init__.py": "",
        "package/part.py": "",
        "secret.py": "",
        "secret/key.pem": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    seen = sources_of(f"{tmp_path / 'mine.py'}:Mine")
    assert {path.relative_to(tmp_path).as_posix() for path in seen} == {
        "mine.py",
        "helper.py",
        "other.py",
        "package",
    }
    assert sources_of("package.module:Mine") == set()
