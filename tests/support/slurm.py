"""A real SLURM for tests: munged, slurmctld and a few nodes, each a slurmd, all on this machine and
in a folder of their own.

No systemd, no cgroups, no accounting, and nothing below /etc, /var or /run. Memory is limited by
looking each second (a job that uses more is ended); cores are counted and not bound. Each node has
two GPUs that are none.
"""

import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

DAEMONS = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
NEEDED = (
    "munged",
    "mungekey",
    "munge",
    "slurmctld",
    "slurmd",
    "sbatch",
    "squeue",
    "scancel",
    "scontrol",
    "sinfo",
)
PACKAGES = "Debian: slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge"
TWO_GPUS = "/dev/null", "/dev/zero"


def lacking() -> str | None:
    """Why SLURM cannot be had here."""
    missing = [name for name in NEEDED if not shutil.which(name, path=DAEMONS)]
    if missing:
        return f"no {', '.join(missing)} here ({PACKAGES})"
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return f"it refuses a user without a name, {os.getuid()}"
    return None


def wait_for(what: Callable[[], object], seconds: float = 60.0) -> None:
    """Until `what` answers with something true."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.05)


class Cluster:
    """Nodes n1, n2 … with `cpus` and `memory` MiB each, in partition `test`. `start` before use,
    `stop` after."""

    def __init__(self, nodes: int = 2, cpus: int = 2, memory: int = 8000, settings: str = ""):
        self.folder = Path(
            tempfile.mkdtemp(prefix="slurm-", dir="/tmp")
        )  # a socket's path may have 107 bytes
        self.nodes = [f"n{number}" for number in range(1, nodes + 1)]
        self.conf, self.munge = self.folder / "slurm.conf", self.folder / "munge.sock"
        self.environment = {**os.environ, "PATH": DAEMONS, "SLURM_CONF": str(self.conf)}
        self.daemons: dict[str, subprocess.Popen] = {}
        controller, *ports = free_ports(nodes + 1)
        hostname = socket.gethostname().partition(".")[0]
        each = (
            f"NodeHostname={hostname} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} Gres=gpu:2"
        )
        lines = [
            "ClusterName=tests",
            f"SlurmctldHost={hostname}(127.0.0.1)",
            f"SlurmctldPort={controller}",
            f"SlurmUser={os.getuid()}",
            f"SlurmdUser={os.getuid()}",
            "AuthType=auth/munge",
            "CredType=cred/munge",
            f"AuthInfo=socket={self.munge},cred_expire=5",  # a requeued job waits for its old credential to expire
            f"StateSaveLocation={self.folder}/state",
            f"SlurmdSpoolDir={self.folder}/spool-%n",
            f"SlurmctldPidFile={self.folder}/slurmctld.pid",
            f"SlurmdPidFile={self.folder}/slurmd-%n.pid",
            f"SlurmctldLogFile={self.folder}/slurmctld.log",
            f"SlurmdLogFile={self.folder}/slurmd-%n.log",  # which steps hold open: by this they are found
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "MpiDefault=none",
            "JobAcctGatherType=jobacct_gather/linux",
            "JobAcctGatherFrequency=task=1",
            "JobAcctGatherParams=OverMemoryKill",
            "AccountingStorageType=accounting_storage/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_CPU_Memory",
            "SchedulerType=sched/backfill",
            "SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1",
            "KillWait=5",
            "ReturnToService=2",
            "SlurmctldTimeout=30",
            "SlurmdTimeout=30",
            "JobRequeue=1",
            f"MailProg={shutil.which('true')}",
            "SlurmdParameters=config_overrides",
            f"CommunicationParameters={_addresses(hostname)}",
            "GresTypes=gpu",
            *(
                f"NodeName={name} {each} Port={port}"
                for name, port in zip(self.nodes, ports, strict=True)
            ),
            "PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
            settings,
        ]
        self.conf.write_text("\n".join(lines) + "\n")
        gpus = (
            f"NodeName={name} Name=gpu File={file}\n" for name in self.nodes for file in TWO_GPUS
        )
        (self.folder / "gres.conf").write_text("".join(gpus))

    def start(self) -> None:
        (self.folder / "state").mkdir()
        key = self.folder / "munge.key"
        subprocess.run(["mungekey", "-c", "-k", key], env=self.environment, check=True)
        places = {
            "socket": self.munge,
            "pid-file": "munged.pid",
            "log-file": "munged.log",
            "seed-file": "munged.seed",
        }
        options = [f"--{name}={self.folder / place}" for name, place in places.items()]
        self._spawn("munged", "munged", "-F", "--force", f"--key-file={key}", *options)
        wait_for(lambda: self._answers("munge", "-S", self.munge, "-n"))
        self._spawn("slurmctld", "slurmctld", "-D", "-f", self.conf)
        wait_for(lambda: self._answers("scontrol", "ping"))
        for name in self.nodes:
            self.start_node(name)
        wait_for(
            lambda: len(self.states()) == len(self.nodes) and {*self.states().values()} == {"idle"}
        )

    def start_node(self, name: str) -> None:
        self._spawn(name, "slurmd", "-D", "-f", self.conf, "-N", name)

    def states(self) -> dict[str, str]:
        """`idle`, `down*` … by node."""
        return dict(line.split() for line in self("sinfo", "-h", "-N", "-o", "%N %T").splitlines())

    def __call__(self, *command: object) -> str:
        """What a command of SLURM says. Raises CalledProcessError."""
        texts = list(map(str, command))
        return subprocess.run(
            texts, env=self.environment, capture_output=True, text=True, check=True, timeout=60
        ).stdout

    def jobs(self) -> list[str]:
        """Numbers of the jobs that have not ended."""
        return self("squeue", "-h", "-o", "%A").split()

    def kill_node(self, name: str) -> None:
        """As if the machine died: its daemon and all that runs there, at once."""
        daemon = self.daemons.pop(name)
        steps = [
            step
            for step in self._steps()
            if f"{self.folder}/slurmd-{name}.log" in _open_files(step)
        ]
        daemon.kill()
        for step in steps:
            kill_tree(step)
        daemon.wait()

    def stop(self) -> None:
        try:
            if "slurmctld" in self.daemons:
                subprocess.run(
                    ["scancel", "--quiet", "-p", "test"],
                    env=self.environment,
                    capture_output=True,
                    timeout=60,
                )
                wait_for(lambda: not self.jobs(), 20)
        finally:
            for daemon in reversed(self.daemons.values()):
                daemon.kill()
                daemon.wait()
            for step in self._steps():  # it outlives its daemon, and does not obey SIGTERM
                kill_tree(step)
            shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self, *command: object) -> bool:
        ended = subprocess.run(
            list(map(str, command)), env=self.environment, capture_output=True, text=True
        )
        return ended.returncode == 0 and "DOWN" not in ended.stdout

    def _spawn(self, name: str, *command: object) -> None:
        with open(self.folder / f"{name}.out", "ab") as log:
            self.daemons[name] = subprocess.Popen(
                list(map(str, command)),
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )

    def _steps(self) -> list[psutil.Process]:
        """Processes that look after the jobs of this cluster."""
        every = [one for one in psutil.process_iter(["name"]) if one.info["name"] == "slurmstepd"]
        return [one for one in every if str(self.folder) in _open_files(one)]


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def kill_tree(process: psutil.Process) -> None:
    try:
        every = [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return
    for one in every:
        try:
            one.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue


def _open_files(process: psutil.Process) -> str:
    """Paths, and sockets: a step overwrites its arguments and its environment."""
    try:
        links = [os.readlink(link) for link in Path(f"/proc/{process.pid}/fd").iterdir()]
        return "\n".join([*links, os.readlink(f"/proc/{process.pid}/cwd")])
    except OSError:
        return ""


def _addresses(hostname: str) -> str:
    """Only the loopback, where the machine's name means that; elsewhere steps would not reach
    each other."""
    try:
        loopback = socket.gethostbyname(hostname) == "127.0.0.1"
    except OSError:
        loopback = False
    return "NoCtldInAddrAny,NoInAddrAny" if loopback else "NoAddrCache"


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
