"""The way on which a worker that stays alive is given orders, and answers them."""

import json
from collections.abc import Iterator
from typing import Any, TextIO, cast


class Channel:
    """Two pipes, one JSON document a line. They are open from the beginning: adapters may do to their names what they like."""

    def __init__(self, job: dict[str, Any]):
        self._orders, self._answers = _opened(job["orders"], "r"), _opened(job["answers"], "w")

    def answer(self, answer: dict[str, Any]) -> None:
        """Answer an order, or say that the worker waits for the first."""
        self._answers.write(json.dumps(answer) + "\n")
        self._answers.flush()

    def order(self) -> dict[str, Any]:
        """The next order, as soon as it comes."""
        order: dict[str, Any] = json.loads(self._orders.readline())
        return order

    def orders(self) -> Iterator[dict[str, Any]]:
        """The orders as they come, until one says that it is the last."""
        while "end" not in (order := self.order()):
            yield order


def _opened(pipe: str, mode: str) -> TextIO:
    return cast(TextIO, open(pipe, mode))
