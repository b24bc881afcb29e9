"""snnTorch's neurons and surrogates (1.0)."""

from math import exp

from .meaning import Meaning, Surrogate, chosen, meaning, names_of, surrogate


@surrogate
def atan(alpha: float = 2.0) -> Surrogate:
    return Surrogate("atan", alpha / 2, alpha / 2)


@surrogate
def fast_sigmoid(slope: float = 25) -> Surrogate:
    return Surrogate("superspike", slope)


@surrogate
def sigmoid(slope: float = 25) -> Surrogate:
    return Surrogate("sigmoid", slope)


@surrogate
def straight_through_estimator() -> Surrogate:
    return Surrogate("straight-through")


RESETS = {"subtract": "soft-undecayed", "zero": "hard", "none": "none"}


def Leaky(
    beta: float,
    threshold: float = 1.0,
    spike_grad: Surrogate = atan(),
    learn_beta: bool = False,
    reset_mechanism: str = "subtract",
) -> Meaning:
    """The decay is beta."""
    reset = chosen("reset_mechanism", reset_mechanism, RESETS)
    return meaning(
        spike_grad,
        reset,
        decay=beta,
        detached=reset != "none",
        threshold=threshold,
        learned_decay="direct" if learn_beta else None,
    )


def StateLeaky(beta: float, threshold: float = 1.0, spike_grad: Surrogate = atan()) -> Meaning:
    """The decay is exp(beta − 1)."""
    return meaning(spike_grad, "none", decay=exp(beta - 1), threshold=threshold)


NAMES = names_of(Leaky, StateLeaky, atan, fast_sigmoid, sigmoid, straight_through_estimator)
