"""Pipes that carry orders to a running worker, and its answers."""

import json
import os
import select
from collections.abc import Iterator
from typing import Any, TextIO, cast


class Channel:
    """Two pipes with one JSON document a line, opened before an adapter can delete their names."""

    def __init__(self, job: dict[str, Any]):
        self._orders, self._answers = os.open(job["orders"], os.O_RDONLY), _opened(job["answers"])
        self._poll, self.unread = select.poll(), b""
        self._poll.register(self._orders, select.POLLIN)

    def answer(self, answer: dict[str, Any]) -> None:
        """Answers an order, or reports that the worker waits for the first."""
        self._answers.write(json.dumps(answer) + "\n")
        self._answers.flush()

    def order(self) -> dict[str, Any]:
        """Waits for the next order; a stop order is ignored while no work runs.

        Raises EOFError when the sender has ended.
        """
        order: dict[str, Any] = {"stop": True}
        while "stop" in order:
            order = self._next()
        return order

    def stop(self) -> dict[str, Any]:
        """Waits for the order that stops running work, and returns it."""
        order: dict[str, Any] = {}
        while "stop" not in order:
            order = self._next()
        return order

    def orders(self) -> Iterator[dict[str, Any]]:
        """Yields orders until the last."""
        while "end" not in (order := self.order()):
            yield order

    def has_order(self) -> bool:
        """True if the next order has arrived: running work must stop."""
        return bool(self.unread) or bool(self._poll.poll(0))

    def _next(self) -> dict[str, Any]:
        while b"\n" not in self.unread:
            self._read()
        line, _, self.unread = self.unread.partition(b"\n")
        order: dict[str, Any] = json.loads(line)
        return order

    def _read(self) -> None:
        if not (some := os.read(self._orders, 1 << 16)):
            raise EOFError("the sender of orders has ended")
        self.unread += some


def _opened(pipe: str) -> TextIO:
    return cast(TextIO, open(pipe, "w"))
