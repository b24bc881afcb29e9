"""The way on which a worker that stays alive is given orders, and answers them."""

import json
from collections.abc import Iterator
from typing import Any


class Channel:
    """Two pipes with names, one JSON document a line. They are opened at first use: few workers need them."""

    def __init__(self, job: dict[str, Any]):
        self.places = job["orders"], job["answers"]

    def answer(self, answer: dict[str, Any]) -> None:
        """Answer an order, or say that the worker waits for the first."""
        with open(self.places[1], "w") as stream:
            stream.write(json.dumps(answer) + "\n")

    def orders(self) -> Iterator[dict[str, Any]]:
        """The orders as they come, until one says that it is the last."""
        with open(self.places[0]) as stream:
            for line in stream:
                order = json.loads(line)
                if "end" in order:
                    return
                yield order
