"""The command line on a machine that has SLURM: experiments of two parts that a test can hold,
and what is left of them."""

import json
import os
import stat
import subprocess
from collections import Counter
from pathlib import Path

import psutil

from .command_line import Result, Snnbench
from .slurm import Cluster, kill_tree, wait_for

SIZES = 'neurons = [41, 61]\ntime_steps = [37]\nbatch = [3]\ndevice = ["cpu"]'
ON_SLURM = "--executor", "slurm"


class Site:
    """`snnbench` where jobs of `cluster` can be submitted."""

    def __init__(self, cluster: Cluster, snnbench: Snnbench):
        self.cluster, self.snnbench = cluster, snnbench
        self.shims = snnbench.folder / "shims"
        self.shims.mkdir()
        search = os.pathsep.join([str(self.shims), cluster.environment["PATH"]])
        snnbench.environment |= {"SLURM_CONF": str(cluster.conf), "PATH": search}
        # A command that asks for accounting is recorded, because nothing may need it.
        for name in ("sacct", "sacctmgr", "submitit"):
            self.shim(name, f'touch "{snnbench.notes}/asked-for-accounting"; exit 1')

    def config(
        self,
        *frameworks: str,
        adapters=(),
        options=("--mem=3G",),
        prelude="",
        grid=SIZES,
        measure="",
        parts=2,
    ) -> Path:
        """The odd config in two parts, by default of `held`, which may be held for long."""
        measure = f'timeout = "10m"\n{measure}'
        path = self.snnbench.config(
            list(frameworks or ("held",)), list(adapters or ("held.py:Held",)), grid, measure
        )
        table = f"parts = {parts}\noptions = {json.dumps(list(options))}\nprelude = {json.dumps(prelude)}\n"
        path.write_text(f"{path.read_text()}\n[slurm]\n{table}")
        return path

    def shim(self, name: str, script: str) -> None:
        """Put a command before the real one; `$REAL` calls that."""
        real = f'REAL="env PATH={self.cluster.environment["PATH"]} {name}"'
        path = self.shims / name
        path.write_text(f"#!/bin/bash\n{real}\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def run(self, config: Path, *more: object, out="out") -> Result:
        return self.end(self.start(config, *more, out=out), out)

    def start(self, config: Path, *more: object, out="out") -> subprocess.Popen:
        return self.snnbench.start("run", "--config", config, "--out", out, *ON_SLURM, *more)

    def end(self, process: subprocess.Popen, out="out") -> Result:
        return self.snnbench.end(process, out, timeout=600)

    def hold(self, neurons: int = 61) -> None:
        """The case of that size does not end before `release`."""
        (self.snnbench.notes / f"hold-{neurons}").touch()

    def wait_until_held(self) -> None:
        wait_for((self.snnbench.notes / "held").exists, 120)

    def release(self) -> None:
        for path in self.snnbench.notes.glob("h*ld*"):
            path.unlink()

    def part(self, number: int, out="out") -> Path:
        return self.snnbench.folder / out / "parts" / str(number)

    def recorded(self, out="out") -> list[Path]:
        """The records of all parts."""
        return list((self.snnbench.folder / out).glob("parts/*/records/[!.]*.json"))

    def job(self, out="out") -> int:
        return json.loads((self.snnbench.folder / out / "slurm.json").read_text())["job"]

    def processes(self) -> list[psutil.Process]:
        """What runs of this test's commands and jobs: they have its folder in their environment."""
        mark, found = f"SNNBENCH_TEST_NOTES={self.snnbench.notes}\0".encode(), []
        for process in psutil.process_iter():
            try:
                if (
                    process.pid != os.getpid()
                    and mark in Path(f"/proc/{process.pid}/environ").read_bytes()
                ):
                    found.append(process)
            except OSError:
                continue
        return [one for one in found if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]

    def assert_nothing_left(self) -> None:
        wait_for(lambda: not self.cluster.jobs(), 30)
        wait_for(lambda: not self.processes(), 15)
        assert not (self.snnbench.notes / "asked-for-accounting").exists()

    def clear(self) -> None:
        """Whatever a failed test left goes, and nodes are up again; then nothing may be left."""
        for job in self.cluster.jobs():
            self.cluster("scancel", job)
        for name in self.cluster.nodes:
            if name not in self.cluster.daemons:
                self.cluster.start_node(name)
        try:
            wait_for(lambda: not self.cluster.jobs(), 30)
            wait_for(lambda: {*self.cluster.states().values()} == {"idle"}, 60)
            self.assert_nothing_left()
        finally:
            for process in self.processes():
                kill_tree(process)


def statuses(result: Result) -> dict[tuple[str, int], str]:
    """By case and block."""
    return {(record["case_id"], record["block"]): record["status"] for record in result.records}


def doubled(result: Result) -> list[str]:
    """Cases and blocks that several parts, or several records, have."""
    names = [path.name.rsplit("-", 1)[0] for path in result.folder.glob("parts/*/records/*.json")]
    return [name for name, count in Counter(names).items() if count > 1]
