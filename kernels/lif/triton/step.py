"""One step of the neuron in Triton, forward and backward, for blocks of sequences; formulas:
`lif.contract`.

The functions equal those of `lif_step.h` and `lif.reference`. Compile with enable_fp_fusion=False:
a contracted multiply-add rounds once, and its spikes differ from the reference.
"""

import triton
import triton.language as tl


@triton.jit
def current(x, scale, shift):
    """Returns i = scale·x + shift; None stands for 1 and 0."""
    i = x.to(tl.float32)
    if scale is not None:
        i = scale * i
    if shift is not None:
        i = i + shift
    return i


@triton.jit
def spikes_of(v, threshold, max_spikes, COUNTS: tl.constexpr, ROUNDS: tl.constexpr):
    """Returns s as float32; correct rounding of the division prevents an extra spike. With ROUNDS
    halves become the even number: a sum with 1.5·2²³ has no digits behind the point."""
    if ROUNDS:
        count = tl.div_rn(v, tl.zeros_like(v) + threshold)
        clipped = tl.where(count > 0.0, tl.where(count < max_spikes, count, max_spikes), 0.0)
        s = (clipped + 12582912.0) - 12582912.0
    elif COUNTS:
        whole = tl.floor(tl.div_rn(v, tl.zeros_like(v) + threshold))
        s = tl.where(whole >= 1.0, tl.where(whole < max_spikes, whole, max_spikes), 0.0)
    else:
        s = tl.where(v >= threshold, 1.0, 0.0)
    return s


@triton.jit
def after_spike(v, s, decay, subtracted, RESET: tl.constexpr):
    """Returns p and decay·p; a hard reset selects after the product, to overlap it with the
    comparison."""
    if RESET == "none":
        p = v
        leaked = decay * v
    elif RESET == "hard" or RESET == "hard-straight":
        p = tl.where(s > 0.0, 0.0, v)
        leaked = tl.where(s > 0.0, 0.0, decay * v)
    else:
        p = v - subtracted * s
        leaked = decay * p
    return p, leaked


@triton.jit
def surrogate(u, slope, width, threshold, SURROGATE: tl.constexpr, ROUNDS: tl.constexpr):
    """Returns σ'(u); `width` is π·slope (atan), half the width (rectangle), or with ROUNDS, where
    `slope` is 1/threshold, the highest u with a gradient.

    Divisions are accurate to 2 units in the last place.
    """
    if ROUNDS:
        sigma = tl.where(u >= -threshold, tl.where(u <= width, slope, 0.0), 0.0)
    elif SURROGATE == "superspike":
        root = 1.0 + slope * tl.abs(u)
        sigma = 1.0 / (root * root)
    elif SURROGATE == "atan":
        sigma = 1.0 / (1.0 + (width * u) * (width * u))
    elif SURROGATE == "sigmoid":
        power = tl.exp(-slope * tl.abs(u))
        sigma = slope * power / ((1.0 + power) * (1.0 + power))
    elif SURROGATE == "triangle":
        side = 1.0 - slope * tl.abs(u)
        # A maximum would drop NaN.
        sigma = tl.where(side < 0.0, 0.0, side)
    elif SURROGATE == "rectangle":
        sigma = tl.where(tl.abs(u) < width, slope, 0.0)
    elif SURROGATE == "exponential":
        sigma = 0.5 * slope * tl.exp(-slope * tl.abs(u))
    else:
        sigma = tl.zeros_like(u) + 1.0
    return sigma


@triton.jit
def reset_slope(v, s, sigma, subtracted, RESET: tl.constexpr, DETACHED: tl.constexpr):
    """Returns ρ = dp/dv."""
    if RESET == "hard":
        rho = 1.0 - s
        if not DETACHED:
            rho = rho - v * sigma
    elif RESET == "hard-straight" and not DETACHED:
        rho = 1.0 - v * sigma
    elif (RESET == "soft" or RESET == "soft-undecayed") and not DETACHED:
        rho = 1.0 - subtracted * sigma
    else:
        rho = tl.zeros_like(v) + 1.0
    return rho
