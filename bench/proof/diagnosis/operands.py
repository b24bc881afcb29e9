"""Faults of the operands before the neuron: other weights, another input, another use of the
bias. NumPy only."""

from collections.abc import Iterator

import numpy as np

from .hypotheses import Evidence, Hypothesis, linear

MOST_WEIGHTS = 2**18
"""Most weights of a layer that is examined: the small problem, which comes first, has fewer."""


def operands(e: Evidence) -> Iterator[tuple[str, Hypothesis]]:
    """Yields nothing for a neuron without a linear."""
    if e.weight is None or e.weight.size > MOST_WEIGHTS:
        return
    weight, x = e.weight.astype(np.float64), e.input.astype(np.float64)
    for text, other in (*_weights(weight), *_rounded(weight)):
        yield text, e.suppose(currents=linear(x, other, e.bias))
    for text, other in _inputs(x):
        yield text, e.suppose(currents=linear(other, weight, e.bias))
    if e.bias is not None:
        once = linear(x, weight, None)
        once[0] += e.bias
        yield "the bias is used at the first step only", e.suppose(currents=once)
        late = linear(x, weight, None)
        late[1:] += e.bias
        yield "the bias is not used at the first step", e.suppose(currents=late)


def _weights(weight: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    rows, columns = weight.shape
    if rows == columns:
        yield "the weight is transposed", weight.T
    yield "the order of the inputs is reversed", weight[:, ::-1]
    yield (
        "the weights of every neuron are normalised to length 1",
        weight / np.linalg.norm(weight, axis=1, keepdims=True),
    )
    yield "only the signs of the weights are used", np.sign(weight)
    yield (
        "only the signs of the weights are used, times their mean size",
        np.sign(weight) * np.abs(weight).mean(),
    )
    size = np.sort(np.abs(weight), axis=None)
    for share in (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95):
        large = np.abs(weight) >= size[int(share * weight.size)]
        yield f"the smallest {share:.0%} of the weights are left out", np.where(large, weight, 0)
    left, values, right = np.linalg.svd(weight, full_matrices=False)
    for rank in sorted(
        {2**k for k in range(9)} | {int(share * len(values)) for share in (0.25, 0.5, 0.75, 0.9)}
    ):
        if 0 < rank < len(values):
            yield (
                f"the weight has rank {rank} only",
                (left[:, :rank] * values[:rank]) @ right[:rank],
            )


def _rounded(weight: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yields whole multiples of a step: a fraction of the largest weight, of all or of each
    neuron, or a power of two."""
    for axis, words in ((None, ""), (1, " of each neuron")):
        largest = np.abs(weight).max(axis=axis, keepdims=True)
        for bits in (8, 4, 7, 6, 5, 3, 2):
            for levels in (2 ** (bits - 1) - 1, 2 ** (bits - 1)):
                step = largest / levels
                rounded = np.clip(np.round(weight / step), -(2 ** (bits - 1)), levels) * step
                yield (
                    f"weights are rounded to {bits} bits "
                    f"(in steps of 1/{levels} of the largest{words})",
                    rounded,
                )
    for power in range(12):
        yield (
            f"weights are rounded to steps of 1/{2**power}",
            np.round(weight * 2.0**power) / 2.0**power,
        )


def _inputs(x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    mean, deviation = x.mean(axis=2, keepdims=True), np.maximum(x.std(axis=2, keepdims=True), 1e-12)
    yield "the input comes one step late", np.concatenate([0 * x[:1], x[:-1]])
    yield "the input comes one step early: looks ahead", np.concatenate([x[1:], 0 * x[:1]])
    yield "the mean over the inputs is taken off the input", x - mean
    yield "the input is normalised (mean 0, deviation 1 over the inputs)", (x - mean) / deviation
    yield (
        "the input is normalised to length 1",
        x / np.maximum(np.linalg.norm(x, axis=2, keepdims=True), 1e-12),
    )
    yield (
        "the input is normalised to a sum of 1",
        x / np.maximum(np.abs(x).sum(axis=2, keepdims=True), 1e-12),
    )
    yield "the input is scaled from 0…1 to −1…1", 2 * x - 1
    yield "the input is rounded to 0 and 1", (x >= 0.5).astype(np.float64)
    for levels in (255, 15):
        yield f"the input is rounded to steps of 1/{levels}", np.round(x * levels) / levels
