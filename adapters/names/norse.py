"""Norse's neurons (1.1), with the fields of their parameters as arguments."""

from dataclasses import replace

from .meaning import Meaning, Surrogate, chosen, meaning, names_of, surrogate


@surrogate
def super_fn(alpha: float = 100.0) -> Surrogate:
    return Surrogate("superspike", 1.0)


@surrogate
def triangle_fn(alpha: float = 100.0) -> Surrogate:
    return Surrogate("triangle", 1.0, alpha)


@surrogate
def heavi_tanh_fn(alpha: float = 100.0) -> Surrogate:
    return Surrogate("sigmoid", 2 * alpha, 2 / alpha)


METHODS = {"super": super_fn, "triangle": triangle_fn, "tanh": heavi_tanh_fn}
"""Surrogates by the texts that name them in Norse's parameters."""


def surrogate_of(method: str, alpha: float) -> Surrogate:
    function = chosen("method", method, METHODS)
    more = f", alpha={alpha:g}" * (method != "super")
    return replace(function(alpha=alpha), text=f'method="{method}"{more}')


class Reset(str):
    """The name of a reset method's equation."""


def reset_value() -> Reset:
    return Reset("hard")


def reset_subtract() -> Reset:
    return Reset("soft")


def LIFBoxCell(
    tau_mem_inv: float = 100.0,
    v_th: float = 1.0,
    method: str = "super",
    alpha: float = 100.0,
    reset_method: Reset = reset_value(),
    dt: float = 0.001,
) -> Meaning:
    """The decay is 1 − dt·tau_mem_inv."""
    gain = dt * tau_mem_inv
    return meaning(
        surrogate_of(method, alpha), str(reset_method), decay=1 - gain, gain=gain, threshold=v_th
    )


def LIFCell(
    tau_syn_inv: float = 200.0,
    tau_mem_inv: float = 100.0,
    v_th: float = 1.0,
    method: str = "super",
    alpha: float = 100.0,
    dt: float = 0.001,
) -> Meaning:
    """The decays are 1 − dt·tau_mem_inv and, of the synapse, 1 − dt·tau_syn_inv."""
    gain, synapse = dt * tau_mem_inv, 1 - dt * tau_syn_inv
    return meaning(
        surrogate_of(method, alpha),
        "hard",
        decay=1 - gain,
        gain=gain,
        threshold=v_th,
        current_decay=synapse or None,
    )


def IAF(v_th: float = 1.0, method: str = "super", alpha: float = 100.0) -> Meaning:
    """There is no decay."""
    return meaning(surrogate_of(method, alpha), "hard", decay=1.0, threshold=v_th)


NAMES = {
    **names_of(LIFBoxCell, LIFCell, IAF, reset_value, reset_subtract),
    "LIF": LIFCell,
    "IAFCell": IAF,
}
