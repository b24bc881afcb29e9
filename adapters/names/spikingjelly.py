"""SpikingJelly's neurons and surrogates (2.0)."""

from dataclasses import replace

from .meaning import Meaning, Surrogate, meaning, names_of, surrogate


@surrogate
def Sigmoid(alpha: float = 4.0) -> Surrogate:
    return Surrogate("sigmoid", alpha)


@surrogate
def ATan(alpha: float = 2.0) -> Surrogate:
    return Surrogate("atan", alpha / 2, alpha / 2)


@surrogate
def SuperSpike(alpha: float = 1.0) -> Surrogate:
    return Surrogate("superspike", 1.0, alpha)


@surrogate
def SoftSign(alpha: float = 2.0) -> Surrogate:
    return Surrogate("superspike", alpha, alpha / 2)


@surrogate
def PiecewiseQuadratic(alpha: float = 1.0) -> Surrogate:
    return Surrogate("triangle", alpha, alpha)


@surrogate
def PiecewiseExp(alpha: float = 1.0) -> Surrogate:
    return Surrogate("exponential", alpha)


@surrogate
def Rect(alpha: float = 1.0) -> Surrogate:
    return Surrogate("rectangle", alpha)


@surrogate
def DeterministicPass() -> Surrogate:
    return Surrogate("straight-through")


def reset_of(v_reset: float | None) -> str:
    if v_reset is not None and v_reset != 0:
        raise ValueError(f"v_reset = {v_reset:g} has no equation here: it must be 0.0 or None")
    return "soft" if v_reset is None else "hard"


def LIFNode(
    tau: float = 2.0,
    decay_input: bool = True,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    surrogate_function: Surrogate = Sigmoid(),
    detach_reset: bool = False,
) -> Meaning:
    """The decay is 1 − 1/tau."""
    return meaning(
        surrogate_function,
        reset_of(v_reset),
        decay=1 - 1 / tau,
        detached=detach_reset,
        gain=1 / tau if decay_input else 1.0,
        threshold=v_threshold,
    )


def ParametricLIFNode(
    init_tau: float = 2.0,
    decay_input: bool = True,
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    surrogate_function: Surrogate = Sigmoid(),
    detach_reset: bool = False,
) -> Meaning:
    """The decay begins at 1 − 1/init_tau."""
    if decay_input:
        raise ValueError(
            "decay_input=True has no equation here: its factor on inputs is learned with the decay;"
            " write decay_input=False"
        )
    node = LIFNode(init_tau, False, v_threshold, v_reset, surrogate_function, detach_reset)
    return replace(node, spec=replace(node.spec, learned_decay="sigmoid"))


def IFNode(
    v_threshold: float = 1.0,
    v_reset: float | None = 0.0,
    surrogate_function: Surrogate = Sigmoid(),
    detach_reset: bool = False,
) -> Meaning:
    """There is no decay."""
    reset = reset_of(v_reset)
    return meaning(
        surrogate_function, reset, decay=1.0, detached=detach_reset, threshold=v_threshold
    )


def CUBALIFNode(
    c_decay: float = 0.5,
    v_decay: float = 0.75,
    v_threshold: float = 0.5,
    v_reset: float | None = 0.0,
    surrogate_function: Surrogate = Rect(),
) -> Meaning:
    """The decays are v_decay and, of the synapse, c_decay."""
    reset = reset_of(v_reset)
    return meaning(
        surrogate_function, reset, decay=v_decay, threshold=v_threshold, current_decay=c_decay
    )


NAMES = names_of(
    LIFNode,
    ParametricLIFNode,
    IFNode,
    CUBALIFNode,
    Sigmoid,
    ATan,
    SuperSpike,
    SoftSign,
    PiecewiseQuadratic,
    PiecewiseExp,
    Rect,
    DeterministicPass,
)
