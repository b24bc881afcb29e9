"""A linear layer and its neuron as one function: checks arguments and calls the operator."""

import os
from functools import lru_cache

import torch
from torch import Tensor

from ..lif import autograd
from ..lif.functional import options_of as neuron_options
from ..spec import NeuronSpec
from ..spike_marks import mark, most_spikes
from .contract import LinearOptions
from .fused import CallPlan, fits, plan_of
from .operator import GRADIENT_TYPES_ARE_FREE, run
from .split_formats import TIERS

INPUTS = (None, "spikes", "dense")
OPERANDS = "operands"
"""A `spikes_dtype`: the type in which a next layer of the same tier multiplies spikes."""

CHECK = "SNNBENCH_CHECK_INPUTS"
"""Environment variable: if it is not empty, `check_input` checks every input of spikes."""


def options_of(
    spec,
    shape,
    weight_shape,
    dtype,
    device,
    counts,
    spikes_dtype,
    checkpoints,
    backend,
    tier,
    emulate,
    recompute,
) -> LinearOptions:
    """Checks the arguments and fills in defaults; `counts` is that of `LinearOptions`."""
    if len(weight_shape) != 2 or shape[-1] != weight_shape[1]:
        raise ValueError(
            f"inputs {tuple(shape)} do not fit a weight {tuple(weight_shape)}: it needs (outputs,"
            f" {shape[-1]})"
        )
    if tier is not None and tier not in TIERS:
        raise ValueError(f"tier = {tier!r} is not one of {', '.join(TIERS)}")
    short = tier is not None and dtype == torch.float32 and (device.type == "cuda" or emulate)
    currents = torch.bfloat16 if short and tier == "bf16" else dtype
    if spikes_dtype == OPERANDS:
        exact = short and spec.max_spikes <= TIERS[tier].largest_count
        spikes_dtype = TIERS[tier].dtype if exact else None
    if spikes_dtype is None and tier == "bf16" and dtype == torch.float32:
        spikes_dtype = torch.bfloat16
    infos = (((*shape[:-1], weight_shape[0]), currents, device), None, None, None)
    neuron = neuron_options(spec, -1, infos, spikes_dtype, False, checkpoints, backend)
    if neuron.spikes == "bits":
        raise TypeError('spikes_dtype = "bits": the next layer takes numbers')
    return LinearOptions(neuron, tier if short else "plain", counts, recompute)


_cached_options = lru_cache(maxsize=1024)(options_of)


def linear_lif(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    spec: NeuronSpec,
    *,
    input: str | None = None,
    input_counts: int = 1,
    recompute: bool = False,
    check: bool = False,
    tier: str | None = None,
    emulate: bool = False,
    spikes_dtype: torch.dtype | str | None = None,
    backend: str | None = None,
) -> Tensor:
    """Returns spikes (T, …, N) of x (T, …, K), weight (N, K) and bias (N,), with options of
    `LinearLIF`.

    Raises ValueError or TypeError, naming the argument, if an argument is invalid.
    """
    if x.dim() < 2:
        raise ValueError(
            f"inputs need the shape (time_steps, …, {weight.shape[1]}), not {tuple(x.shape)}"
        )
    counts = _counts(x, input, input_counts)
    if counts and (check or os.environ.get(CHECK)):
        check_input(x, counts)
    if torch.is_autocast_enabled(x.device.type):
        dtype = torch.get_autocast_dtype(x.device.type)
        x, weight = x.to(dtype), weight.to(dtype)
    if not counts and x.dtype != weight.dtype:
        raise TypeError(f"a dense input of {x.dtype} does not fit a weight of {weight.dtype}")
    rows = (
        x
        if x.dim() == 3
        else x.reshape(len(x), x[0].numel() // max(1, x.shape[-1]) if len(x) else 0, x.shape[-1])
    )
    plainly = autograd.suffices((rows, weight, bias))
    options = _options_of_call(
        plainly, rows, weight, bias, spec, counts, spikes_dtype, backend, tier, emulate, recompute
    )
    spikes = run(options, rows, weight, bias, plainly)
    spikes = spikes if x.dim() == 3 else spikes.view(*x.shape[:-1], len(weight))
    mark(spikes, spec.max_spikes)
    return spikes


def _options_of_call(plainly, x, weight, bias, spec, counts, spikes_dtype, *more) -> LinearOptions:
    if spikes_dtype == OPERANDS and not (plainly and GRADIENT_TYPES_ARE_FREE):
        spikes_dtype = None
    checkpoints = torch.is_grad_enabled() and any(
        t is not None and t.requires_grad for t in (x, weight, bias)
    )
    find = _cached_options if plainly else options_of
    return find(
        spec,
        x.shape,
        weight.shape,
        weight.dtype,
        x.device,
        counts,
        spikes_dtype,
        checkpoints,
        *more,
    )


def kind_of(x: Tensor, weight: Tensor, bias: Tensor | None) -> tuple | None:
    """Returns the key of a module's plan; None if torch must see the call or no plan supports
    it."""
    if (
        x.dim() != 3
        or not autograd.suffices((x, weight, bias))
        or torch.is_autocast_enabled("cpu")
        or os.environ.get(CHECK)
    ):
        return None
    gradients = torch.is_grad_enabled() and (
        x.requires_grad or weight.requires_grad or (bias is not None and bias.requires_grad)
    )
    return (
        x.shape,
        x.stride(),
        x.dtype,
        x.device,
        weight.shape,
        weight.dtype,
        gradients,
        torch.get_num_threads(),
    )


def planned(
    x,
    weight,
    bias,
    spec,
    *,
    input,
    input_counts,
    recompute,
    check,
    tier,
    emulate,
    spikes_dtype,
    backend,
) -> CallPlan | None:
    """Returns the plan of calls of this kind; None if `linear_lif` must inspect every call."""
    if input != "spikes" or check or x.shape[-1] != weight.shape[1]:
        return None
    more = (input_counts, spikes_dtype, backend, tier, emulate, recompute)
    options = _options_of_call(True, x, weight, bias, spec, *more)
    return (
        plan_of(options, x, weight, spikes_dtype == OPERANDS) if fits(options, x, weight) else None
    )


def _counts(x: Tensor, input: str | None, input_counts: int) -> int:
    if input == "dense":
        return 0
    return input_counts if input == "spikes" else most_spikes(x)


def check_input(x: Tensor, counts: int) -> None:
    """Raises ValueError unless x holds whole numbers from 0 to `counts`; waits for the device."""
    wrong = (x < 0) | (x > counts) | (x != x.round())
    if wrong.any():
        share, example = float(wrong.float().mean()), x[wrong][0].item()
        raise ValueError(
            f"inputs were declared as spikes, 0 to {counts} a step, but {share:.2%} of them are not"
            f' (such as {example:g}): declare input="dense", or input_counts'
        )
