"""Faults of single gradients with right decisions: wrong sums, scales and places, read from the
arrays. NumPy only."""

from collections.abc import Iterator

import numpy as np

from .fitting import by_currents, gradients_of, misfits
from .hypotheses import Evidence

AXES = {
    "weight": ("neuron", "input"),
    "bias": ("neuron",),
    "input": ("step", "batch item", "input"),
}
MOST_ELSEWHERE = 0.1
"""Largest relative error, in L2, outside of the places that are named, as a share of the one in
them."""
MOST_PLACES = 8
"""Most places that are listed."""


def of_arrays(e: Evidence) -> str | None:
    """Names the fault of each wrong gradient, equal faults in one sentence; None if none has a
    name."""
    right = gradients_of(e, e.right)
    errors, names_by_text = dict(zip(right, misfits(e, right), strict=True)), dict[str, list[str]]()
    for name in (name for name, error in errors.items() if error > 1):
        whole = next(
            (text for text, array in _others(e, name, right[name]) if _fits(e, name, array)), None
        )
        if text := whole or _places(e, name, right[name]):
            names_by_text.setdefault(text, []).append(name)
    return (
        "; ".join(
            f"the gradient of the {' and of the '.join(names)} {text}"
            for text, names in names_by_text.items()
        )
        or None
    )


def scaled_alike(e: Evidence, right: dict[str, np.ndarray]) -> bool:
    """Tells if every gradient is the same multiple of the right one: the place of the factor
    does not show then."""
    factors = [
        float(np.vdot(e.gradients[name], g) / max(np.vdot(g, g), 1e-300))
        for name, g in right.items()
    ]
    return all(_fits(e, name, factors[0] * g) for name, g in right.items())


def _fits(e: Evidence, name: str, array: np.ndarray) -> bool:
    return array.shape == e.gradients[name].shape and max(misfits(e, {name: array})) <= 1


def _others(e: Evidence, name: str, right: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yields arrays that may have been returned instead of a gradient."""
    steps, items, _ = e.right.currents.shape
    if name == "weight":
        yield "is transposed", right.T
    for count, axis in (
        (items, "the batch"),
        (steps, "time"),
        (steps * items, "time and the batch"),
    ):
        if count > 1:
            yield f"is a mean over {axis}, not a sum", right / count
    if largest := float(np.abs(e.gradients[name]).max()):
        yield f"is clipped to ±{largest:.4g}", np.clip(right, -largest, largest)
    parameter = {"weight": e.weight, "bias": e.bias}.get(name)
    if parameter is not None:
        share = float(
            np.vdot(e.gradients[name] - right, parameter)
            / max(np.vdot(parameter, parameter), 1e-300)
        )
        yield (
            f"holds the {name} itself, about {share:.4g} times (a decay in the update?)",
            right + share * parameter,
        )
    yield "holds signs alone", np.sign(right)
    yield "has the wrong sign", -right
    if name != "input":
        gradient, x = by_currents(e, e.right), e.input.astype(np.float64)
        for place, words in (
            (np.s_[:1], "the first step"),
            (np.s_[-1:], "the last step"),
            (np.s_[:, :1], "the first batch item"),
            (np.s_[:, -1:], "the last batch item"),
            (np.s_[1:], "all steps but the first"),
            (np.s_[:-1], "all steps but the last"),
        ):
            part, inputs = gradient[place], x[place]
            product = (
                np.tensordot(part, inputs, axes=([0, 1], [0, 1]))
                if name == "weight"
                else part.sum(axis=(0, 1))
            )
            yield f"is summed over {words} only", product


def _places(e: Evidence, name: str, right: np.ndarray) -> str | None:
    """Names the places along one axis where an array is wrong, if it is right elsewhere,
    and not only smaller."""
    gradient = e.gradients[name]
    axes = ("step", "batch item", "neuron") if e.weight is None else AXES[name]
    limit = (e.limit.bias_gradient if name == "bias" else e.limit.gradient) * np.linalg.norm(right)
    candidates = []
    for axis, word in enumerate(axes):
        others = tuple(other for other in range(gradient.ndim) if other != axis)
        error = np.sqrt(((gradient - right) ** 2).sum(axis=others))
        wrong = np.flatnonzero(error > limit / np.sqrt(len(error)))
        size = np.sqrt((right**2).sum(axis=others))
        rest = np.delete(np.arange(len(error)), wrong)
        here, elsewhere = (
            float(np.linalg.norm(error[at])) / max(float(np.linalg.norm(size[at])), 1e-300)
            for at in (wrong, rest)
        )
        if size[rest].any() and elsewhere <= MOST_ELSEWHERE * here:
            numbers = e.neurons if word == "neuron" else np.arange(len(error))
            text = _worded(wrong, numbers, word)
            if not gradient.take(wrong, axis=axis).any():
                text += ", and zero " + ("elsewhere" if text.startswith("is right") else "there")
            candidates.append((len(wrong) / len(error), text))
    share, text = min(candidates, default=(1.0, ""))
    return text if share <= 0.5 or text.startswith("is right for the first") else None


def _worded(wrong: np.ndarray, numbers: np.ndarray, word: str) -> str:
    count = len(numbers)
    if np.array_equal(wrong, np.arange(wrong[0], count)) and len(wrong) > 1:
        return f"is right for the first {word if wrong[0] == 1 else f'{wrong[0]} {word}s'} only"
    some = ", ".join(str(numbers[index]) for index in wrong[:MOST_PLACES])
    plural, more = "s" if len(wrong) > 1 else "", " …" if len(wrong) > MOST_PLACES else ""
    return f"is wrong for {word}{plural} {some}{more} only"
