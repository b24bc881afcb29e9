"""The way on which a worker that stays alive is given orders, and answers them."""

import json
import os
import select
from collections.abc import Iterator
from typing import Any, TextIO, cast


class Channel:
    """Two pipes, one JSON document a line. They are open from the beginning: adapters may do to their names what they like."""

    def __init__(self, job: dict[str, Any]):
        self._orders, self._answers = os.open(job["orders"], os.O_RDONLY), _opened(job["answers"])
        self._poll, self.unread = select.poll(), b""
        self._poll.register(self._orders, select.POLLIN)

    def answer(self, answer: dict[str, Any]) -> None:
        """Answer an order, or say that the worker waits for the first."""
        self._answers.write(json.dumps(answer) + "\n")
        self._answers.flush()

    def order(self) -> dict[str, Any]:
        """The next order, as soon as it comes. One to stop says nothing to who does nothing. Raises EOFError when nobody is left
        to give one."""
        order: dict[str, Any] = {"stop": True}
        while "stop" in order:
            while b"\n" not in self.unread:
                self._read()
            line, _, self.unread = self.unread.partition(b"\n")
            order = json.loads(line)
        return order

    def orders(self) -> Iterator[dict[str, Any]]:
        """The orders as they come, until one says that it is the last."""
        while "end" not in (order := self.order()):
            yield order

    def has_order(self) -> bool:
        """Whether the next order is there already: who is busy is to stop."""
        return bool(self.unread) or bool(self._poll.poll(0))

    def _read(self) -> None:
        if not (some := os.read(self._orders, 1 << 16)):
            raise EOFError("nobody gives orders any more")
        self.unread += some


def _opened(pipe: str) -> TextIO:
    return cast(TextIO, open(pipe, "w"))
