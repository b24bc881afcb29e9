"""The way on which a worker that stays alive is given orders, and answers them."""

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any, TextIO


class Channel:
    """Two pipes with names, one JSON document a line. They are opened at first use: few workers need them."""

    def __init__(self, job: dict[str, Any]):
        self.places = job["orders"], job["answers"]

    def answer(self, answer: dict[str, Any]) -> None:
        """Answer an order, or say that the worker waits for the first."""
        with open(self.places[1], "w") as stream:
            stream.write(json.dumps(answer) + "\n")

    def order(self) -> dict[str, Any]:
        """The next order, as soon as it comes."""
        order: dict[str, Any] = json.loads(self._orders.readline())
        return order

    def orders(self) -> Iterator[dict[str, Any]]:
        """The orders as they come, until one says that it is the last."""
        while "end" not in (order := self.order()):
            yield order

    @cached_property
    def _orders(self) -> TextIO:
        return open(self.places[0])
