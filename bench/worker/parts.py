"""The parts of a worker's case: each is timed and reported; one that fails ends the case."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, NoReturn

from ..core.jobs import Task
from ..core.status import status_of
from .failures import from_author, lack
from .sandbox import ATTEMPTS


class CaseEnded(Exception):
    """Raised at the end of a case; its last event says how it ended."""


class Parts:
    """Reports the parts of a task's case through `emit`."""

    def __init__(self, task: Task, emit: Callable[[dict[str, Any]], None]):
        self.task, self.case, self.emit = task, task.case, emit

    @contextmanager
    def _part(self, name: str, on_error: str) -> Iterator[None]:
        """Times a part, and ends the case with a status if it raises."""
        self.emit({"part": name})
        start = perf_counter()
        try:
            yield
        except CaseEnded:
            raise
        except Exception as error:
            status, reason = self._status_of(error, on_error)
            self._end(
                name, status, reason, seconds=perf_counter() - start, **self._where(error, status)
            )
        self.emit({"part": name, "status": "ok", "seconds": perf_counter() - start})

    def _end(self, name: str, status: str, reason: str | None, **more: Any) -> NoReturn:
        self.emit({"part": name, "status": status, "reason": reason, **more})
        raise CaseEnded

    def _status_of(self, error: BaseException, otherwise: str) -> tuple[str, str]:
        error = lack(error, self.task.version)
        if isinstance(error, ModuleNotFoundError) and otherwise == "import_error":
            return "env_error", f"{error.name} is not installed"
        return status_of(error, otherwise, self.case.device)

    def _where(self, error: Exception, status: str) -> dict[str, str]:
        """Returns the traceback in the author's file, for the event of a failure."""
        failed = status in ("import_error", "build_error", "error")
        traceback = from_author(error, self.task.reference) if failed else None
        return {"traceback": traceback} if traceback else {}

    def _refuse_attempts(self, status: str) -> None:
        """Ends the case if it tried a forbidden action, even if the refusal was caught."""
        if ATTEMPTS:
            self._end("sandbox", status, f"tried to start {ATTEMPTS[0]}; workers may not")

    def _remarked(self, part: str, work: Callable[[], dict[str, Any]]) -> None:
        """Runs a part after the timing; its errors become warnings."""
        self.emit({"part": part})
        start = perf_counter()
        try:
            report: dict[str, Any] = {part: work()}
        except Exception as error:
            report = {"warnings": [f"W-{part.upper()}: {self._status_of(error, 'error')[1]}"]}
        self.emit({"part": part, **report, "seconds": perf_counter() - start})
