"""Starts the ranks of a case, calls them, and reports which of them died or did not answer.

torchrun's elastic agent starts them and ends all when one dies; it runs in a thread of the worker.
The kernel kills each rank together with its parent (`Start.confine`), because a rank would outlive
its agent.
"""

import logging
import multiprocessing
import os
import signal
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from snnbench.core.contract import CONTRACT_ERRORS, RankAbsent, RankDied

from .rank import Start, serve

GRACE_S = 3.0
"""Seconds for the other ranks to answer after one has failed: they may wait for it in vain."""
LONGEST_START, LONGEST_END_S = 3, 10.0
"""Multiple of `patience` for ranks to import and meet; seconds for them to end."""


class Ranks:
    """Processes that start at the first call. `ask` raises RankDied and RankAbsent, after which all
    have ended.

        with Ranks(start) as ranks:
            ranks.ask("prepare", case)  # [None, None]
    """

    def __init__(self, start: Start) -> None:
        self.start = start
        self.connections: list[Connection] = []
        self.lost: Exception | None = None
        self.failed: BaseException | None = None
        self.dropped: list[tuple[str, int]] = []
        """Kind (`results`, `arrays` or `programs`) and number of released objects: the next call
        tells the ranks."""

    def __enter__(self) -> "Ranks":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, method: str, *common: Any, each: Sequence[tuple[Any, ...]] = ()) -> list[Any]:
        """Returns the result of `method` on every rank, for the common arguments followed by the
        rank's own from `each`. Raises the first exception of a rank."""
        if self.lost:
            raise self.lost
        if not self.connections:
            self._begin()
        dropped, self.dropped = self.dropped, []
        answers: dict[int, tuple[str, Any]] = {}
        for rank, connection in enumerate(self.connections):
            with suppress(OSError):  # the rank has ended, which is detected below
                connection.send((method, dropped, (*common, *(each[rank] if each else ()))))
        until = time.monotonic() + self.start.patience * (LONGEST_START if method == "start" else 1)
        while len(answers) < self.start.count:
            waiting = {
                one: rank for rank, one in enumerate(self.connections) if rank not in answers
            }
            ready = wait(list(waiting), max(until - time.monotonic(), 0.0))
            if not ready:
                break
            for rank in (rank for one, rank in waiting.items() if one in ready):
                answers[rank] = self._receive(rank)
                if answers[rank][0] != "returned":
                    until = min(until, time.monotonic() + GRACE_S)
        self._raise_failure(answers, method)
        return [answers[rank][1] for rank in range(self.start.count)]

    def close(self) -> None:
        if not self.connections:
            return
        for connection in self.connections:
            with suppress(OSError):
                connection.send(None)
        self._joined()
        self.connections = []
        self.lost = self.lost or RankDied("the ranks have ended")

    def _begin(self) -> None:
        from torch.distributed.launcher.api import LaunchConfig, elastic_launch

        # It warns that its thread gets no signals.
        logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)
        os.environ["GLOO_SOCKET_IFNAME"] = "lo"
        pairs = [multiprocessing.get_context("spawn").Pipe() for _ in range(self.start.count)]
        self.folder = tempfile.mkdtemp(prefix="ranks-")
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=self.start.count,
            run_id="ranks",
            rdzv_backend="c10d",
            rdzv_endpoint=str(Path(self.folder) / "agents"),
            rdzv_configs={"store_type": "file"},  # in a file, so that no port is opened
            local_addr="127.0.0.1",
            max_restarts=0,
            monitor_interval=0.1,
            start_method="spawn",
        )
        rank_ends, rendezvous = [one for _, one in pairs], f"file://{self.folder}/ranks"

        def run() -> None:
            try:
                elastic_launch(config, serve)(self.start, rank_ends, rendezvous, os.getpid())
            except BaseException as error:  # it raises SystemExit too
                self.failed = error
            finally:
                for connection in rank_ends:
                    connection.close()

        self.agent = threading.Thread(target=run, name="elastic agent", daemon=True)
        self.connections = [one for one, _ in pairs]
        self.agent.start()
        self.ask("start")

    def _receive(self, rank: int) -> tuple[str, Any]:
        try:
            kind, value = self.connections[rank].recv()
            return kind, value
        except (EOFError, OSError):
            return "died", None

    def _raise_failure(self, answers: dict[int, tuple[str, Any]], method: str) -> None:
        died = [rank for rank, (kind, _) in answers.items() if kind == "died"]
        raised = [(rank, value) for rank, (kind, value) in answers.items() if kind == "raised"]
        absent = [rank for rank in range(self.start.count) if rank not in answers]
        if died:
            ended = self._joined()
            first = next((rank for rank in ended if rank in died), died[0])
            self.lost = RankDied(
                f"rank {first} of {self.start.count} {ended.get(first, 'ended')} in {method}"
            )
        elif absent and not raised:
            seconds = f"within {self.start.patience:.0f} s"
            self.lost = RankAbsent(
                f"rank {absent[0]} of {self.start.count} gave no answer to {method} {seconds}"
            )
        elif absent:
            self.lost = RankAbsent(
                f"rank {absent[0]} of {self.start.count} waited in vain for rank {raised[0][0]}"
            )
        if raised:
            rank, (kind, text) = raised[0]
            known = {of.__name__: of for of in (*CONTRACT_ERRORS, MemoryError)}
            error = (
                known[kind](text) if kind in known else RuntimeError(f"rank {rank}: {kind}: {text}")
            )
            if self.lost and not died:
                self.lost = error
            elif not self.lost:
                raise error
        if self.lost:
            self._kill()
            raise self.lost

    def _joined(self) -> dict[int, str]:
        """Returns how failed ranks ended, once the agent has ended all; ranks that the agent
        terminated come last."""
        self.agent.join(LONGEST_END_S)
        failures = getattr(self.failed, "failures", {})
        codes = {one.local_rank: one.exitcode for one in failures.values()}
        by_agent = (-signal.SIGTERM,)
        order = sorted(codes, key=lambda rank: codes[rank] in by_agent)
        return {
            rank: f"was killed by {_signal(-codes[rank])}" if codes[rank] < 0 else "ended"
            for rank in order
        }

    def _kill(self) -> None:
        """Kills the remaining ranks: a rank that waits for another receives nothing."""
        for child in multiprocessing.active_children():
            child.kill()
        self._joined()


def _signal(number: int) -> str:
    return signal.Signals(number).name if number in list(signal.Signals) else f"signal {number}"
