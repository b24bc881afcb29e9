"""A real SLURM on this machine: munged, slurmctld and one slurmd per node, without accounting."""

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import psutil

SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
MISSING = [
    name
    for name in ("munged", "mungekey", "slurmctld", "slurmd", "sbatch", "scontrol")
    if not shutil.which(name, path=SEARCH_PATH)
]
ON_SLURM = "--executor", "slurm"
CONF = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
KillWait=5
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout=30
JobRequeue=1
MailProg={true}
SlurmdParameters=config_overrides
CommunicationParameters={addresses}
GresTypes=gpu
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = (
    "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} "
    "CPUs=2 RealMemory=8000 Gres=gpu:2\n"
)


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {seconds} s for {condition}"
        time.sleep(0.05)
    return value


class Cluster:
    """Nodes n1 and n2 in a folder of their own; a job that uses too much memory is killed."""

    nodes = ("n1", "n2")

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))  # short: for sockets
        conf, host = self.folder / "slurm.conf", socket.gethostname().partition(".")[0]
        self.environment = {**os.environ, "PATH": SEARCH_PATH, "SLURM_CONF": str(conf)}
        self.daemons = {}
        port, *ports = free_ports(1 + len(self.nodes))
        try:
            is_loopback = socket.gethostbyname(host) == "127.0.0.1"
        except OSError:
            is_loopback = False
        facts = {"host": host, "folder": self.folder, "user": os.getuid(), "port": port}
        facts["addresses"] = "NoCtldInAddrAny,NoInAddrAny" if is_loopback else "NoAddrCache"
        nodes = (
            NODE.format(name=name, host=host, port=port)
            for name, port in zip(self.nodes, ports, strict=True)
        )
        conf.write_text(CONF.format(**facts, true=shutil.which("true")) + "".join(nodes))
        gpus = (
            f"NodeName={n} Name=gpu File=/dev/{f}\n" for n in self.nodes for f in ("null", "zero")
        )
        (self.folder / "gres.conf").write_text("".join(gpus))

    def __call__(self, *command):
        options = dict(env=self.environment, capture_output=True, text=True, timeout=60)
        return subprocess.run([*map(str, command)], check=True, **options).stdout

    def start(self):
        (self.folder / "state").mkdir()
        self("mungekey", "-c", "-k", self.folder / "munge.key")
        files = {"socket": "sock", "pid-file": "pid", "log-file": "log", "seed-file": "seed"}
        files["key-file"] = "key"
        options = [f"--{name}={self.folder}/munge.{end}" for name, end in files.items()]
        self._spawn("munged", "munged", "-F", "--force", *options)
        wait_for((self.folder / "munge.sock").exists)
        self._spawn("slurmctld", "slurmctld", "-D", "-f", self.folder / "slurm.conf")
        for name in self.nodes:
            self.start_node(name)
        wait_for(lambda: [*self.states().values()] == ["idle"] * len(self.nodes))

    def start_node(self, name):
        self._spawn(name, "slurmd", "-D", "-f", self.folder / "slurm.conf", "-N", name)

    def states(self):
        try:
            return dict(line.split() for line in self("sinfo", "-hNo", "%N %T").splitlines())
        except subprocess.CalledProcessError:
            return {}

    def jobs(self):
        return self("squeue", "-h", "-o", "%A").split()

    def kill_node(self, name):
        """Kills the daemon of a node and everything that runs there."""
        daemon = self.daemons.pop(name)
        steps = self._steps(f"slurmd-{name}.log")
        daemon.kill()
        daemon.wait()
        for step in steps:
            kill_tree(step)

    def stop(self):
        for daemon in reversed(self.daemons.values()):
            daemon.kill()
            daemon.wait()
        for step in self._steps():  # slurmstepd outlives its daemon and ignores SIGTERM
            kill_tree(step)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _spawn(self, name, *command):
        with open(self.folder / f"{name}.out", "ab") as log:
            self.daemons[name] = subprocess.Popen(
                [*map(str, command)],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL),
            )

    def _steps(self, log=""):
        """The slurmstepd processes, found by their open log: they overwrite their arguments."""
        named = [p for p in psutil.process_iter(["name"]) if p.info["name"] == "slurmstepd"]
        return [p for p in named if f"{self.folder}/{log}" in " ".join(map(str, links(p)))]


def links(process):
    try:
        return [os.readlink(link) for link in Path(f"/proc/{process.pid}/fd").iterdir()]
    except OSError:
        return []


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def kill_tree(process):
    try:
        for each in (process, *process.children(recursive=True)):
            each.kill()
    except psutil.NoSuchProcess:
        pass


class Site:
    """`snnbench` where jobs of `cluster` can be submitted, with cases that a test can hold."""

    def __init__(self, cluster, snnbench):
        self.cluster, self.snnbench = cluster, snnbench
        self.out, self.notes = snnbench.folder / "out", snnbench.notes
        self.shims = snnbench.folder / "shims"
        self.shims.mkdir()
        path = os.pathsep.join([str(self.shims), SEARCH_PATH])
        snnbench.environment |= {"SLURM_CONF": cluster.environment["SLURM_CONF"], "PATH": path}

    def config(self, frameworks=("held",), adapters=("held.py:Held",), **slurm):
        slurm = {"parts": 2, "options": ["--mem=3G"], **slurm}
        grid = 'neurons = [41, 61]\ntime_steps = [37]\nbatch = [3]\ndevice = ["cpu"]'
        path = self.snnbench.config([*frameworks], [*adapters], grid, 'timeout = "10m"')
        table = "".join(f"{key} = {json.dumps(value)}\n" for key, value in slurm.items())
        path.write_text(f"{path.read_text()}\n[slurm]\n{table}")
        return path

    def run(self, config, *more):
        return self.end(self.start(config, *more))

    def start(self, config, *more):
        """Starts a run in which the case of 61 neurons waits for `release` after `hold`."""
        return self.snnbench.start("run", "--config", config, "--out", "out", *ON_SLURM, *more)

    def end(self, process):
        return self.snnbench.end(process, "out", timeout=400)

    def hold(self):
        (self.notes / "hold-61").touch()

    def wait_until_held(self):
        wait_for((self.notes / "held").exists, 120)
        wait_for(lambda: len([*self.out.glob("parts/*/records/[!.]*.json")]) == 1, 120)

    def release(self):
        for path in self.notes.glob("h*ld*"):
            path.unlink()

    @property
    def job(self):
        return json.loads((self.out / "slurm.json").read_text())["job"]

    @property
    def held_part(self):
        return next(n for n in (1, 2) if not [*self.out.glob(f"parts/{n}/records/[!.]*.json")])

    def processes(self):
        """Processes of this test's commands and jobs, found by their environment."""
        mark, found = f"SNNBENCH_TEST_NOTES={self.notes}\0".encode(), []
        for process in psutil.process_iter():
            try:
                if mark in Path(f"/proc/{process.pid}/environ").read_bytes():
                    found.append(process)
            except OSError:
                continue
        return found

    def clear(self):
        """Ends what a failed test left; fails if a process stays."""
        for job in self.cluster.jobs():
            self.cluster("scancel", job)
        for name in set(self.cluster.nodes) - self.cluster.daemons.keys():
            self.cluster.start_node(name)
        try:
            wait_for(lambda: {*self.cluster.states().values()} == {"idle"}, 60)
            wait_for(lambda: not self.processes(), 15)
        finally:
            for process in self.processes():
                kill_tree(process)
