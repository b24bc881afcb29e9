"""What the running statistics of a norm may have become instead."""

import numpy as np

from ...core.network import Node
from ..judge import Statistics


def statistics_fault(
    node: Node,
    batch: dict[str, np.ndarray],
    count: int,
    given: tuple[Statistics, Statistics],
    limit: float,
) -> str | None:
    """What fits both of them, None if nothing does or they are right. `batch` are mean and unbiased variance of the call, over
    `count` values by channel; `given` before and after it."""
    m = node.options["momentum"]
    before, after = (
        {key: each[node.name][key].astype(np.float64) for key in batch} for each in given
    )

    def moved(by: float, **batch_instead: np.ndarray) -> dict[str, np.ndarray]:
        return {key: (1 - by) * before[key] + by * {**batch, **batch_instead}[key] for key in batch}

    def fits(supposed: dict[str, np.ndarray]) -> bool:
        return all(
            np.linalg.norm(after[key] - value) <= limit * np.linalg.norm(value)
            for key, value in supposed.items()
        )

    if fits(moved(m)):
        return None
    for words, supposed in (
        ("stay as they were before the call", moved(0)),
        ("take the biased variance", moved(m, variance=batch["variance"] * (count - 1) / count)),
        ("take the batch's in twice", moved(1 - (1 - m) ** 2)),
        (f"have the momentum {1 - m:g}, not {m:g}: the wrong way round", moved(1 - m)),
        ("are the batch's own", moved(1)),
        ("take the deviation, not the variance", moved(m, variance=np.sqrt(batch["variance"]))),
        ("are summed, not averaged", {key: before[key] + m * batch[key] for key in batch}),
    ):
        if fits(supposed):
            return f"the running statistics of {node.name} {words}"
    return None
