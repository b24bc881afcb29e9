"""The two kernels of the backend "triton": all time steps of a block of sequences, with the state
on chip.

Tensors may have any strides, see `tiles`. Launch with enable_fp_fusion=False, see `step`.
"""

# Triton has no unpacking in tuples, its tuples change length, and compile-time conditions stay
# apart from others:
# ruff: noqa: RUF005, SIM102
# mypy: ignore-errors

import triton
import triton.language as tl

from .step import after_spike, current, reset_slope, spikes_of, surrogate
from .tiles import (
    chunk_mask,
    chunk_places,
    indices,
    joined,
    load_chunk,
    load_inner,
    packed,
    places,
    split,
    store_checkpoint,
    store_chunk,
    store_inner,
    store_parts,
)


@triton.jit
def as_float32(numbers):
    """Casts a tuple of numbers, which the interpreter passes as float64."""
    cast = ()
    for i in tl.static_range(len(numbers)):
        cast = cast + (tl.cast(numbers[i], tl.float32),)
    return cast


@triton.jit(do_not_specialize=["steps"])
def forward_kernel(
    currents,
    state,
    scale,
    shift,
    spikes,
    final_state,
    trace,
    checkpoints,
    sizes,
    steps,
    neuron,
    RESET: tl.constexpr,
    COUNTS: tl.constexpr,
    ROUNDS: tl.constexpr,
    BITS: tl.constexpr,
    DIMS: tl.constexpr,
    BLOCK: tl.constexpr,
    STEPS: tl.constexpr,
    CHECKPOINT_STEPS: tl.constexpr,
    WIDE: tl.constexpr,
):
    """Runs forward over all time steps, from p[-1] = state, with i[t] = scale·x[t] + shift:

        v[t] = decay·p[t-1] + i[t];   s[t] = spike(v[t]);   p[t] = reset(v[t], s[t])

    Bytes for each element: x once and s once (float32 8, bfloat16 4, float32 with bits 4.125), and
    the trace as x. Checkpoints, p before every CHECKPOINT_STEPS-th step, add 4/CHECKPOINT_STEPS;
    STEPS divides CHECKPOINT_STEPS. The next chunk of STEPS steps is loaded while one is computed.
    With BITS the spikes' last dim holds bytes of eight sequences, and rows of sequences are padded
    to whole bytes.
    """
    decay, threshold, subtracted, max_spikes = as_float32(neuron)

    size = sizes[DIMS - 1]
    if BITS:
        row = (size + 7) // 8
        index = indices(sizes, row * 8, DIMS, BLOCK, WIDE)
        mask = (index[0] < sizes[0]) & (index[DIMS - 1] < size)
        byte_index = indices(sizes, row, DIMS, BLOCK // 8, WIDE)
        byte_mask = byte_index[0] < (row if DIMS == 1 else sizes[0])
    else:
        index = indices(sizes, size, DIMS, BLOCK, WIDE)
        mask = index[0] < sizes[0]

    following = load_chunk(currents, index, mask, 0, steps, DIMS, STEPS)
    if scale is not None:
        scale = load_inner(scale, index, mask, 1.0, DIMS)
    if shift is not None:
        shift = load_inner(shift, index, mask, 0.0, DIMS)
    p = load_inner(state, index, mask, 0.0, DIMS)
    leaked = decay * p
    last = p
    for first in range(0, steps, STEPS):
        xs = split(following, STEPS)
        following = load_chunk(currents, index, mask, first + STEPS, steps, DIMS, STEPS)
        if checkpoints is not None:
            if first % CHECKPOINT_STEPS == 0:
                store_checkpoint(checkpoints, last, index, mask, first // CHECKPOINT_STEPS, DIMS)
        potentials = ()
        spiked = ()
        for k in tl.static_range(STEPS):
            v = leaked + current(xs[k], scale, shift)
            s = spikes_of(v, threshold, max_spikes, COUNTS, ROUNDS)
            p, leaked = after_spike(v, s, decay, subtracted, RESET)
            # Steps after the end have no effect: they are neither stored nor the last.
            last = tl.where(first + k < steps, p, last)
            spiked = spiked + (s,)
            potentials = potentials + (v,)
        if BITS:
            bytes = packed(joined(spiked, STEPS), BLOCK, STEPS)
            tl.store(
                chunk_places(spikes, byte_index, first, DIMS, STEPS),
                bytes,
                mask=chunk_mask(byte_mask, first, steps, STEPS),
            )
        else:
            store_chunk(spikes, spiked, index, mask, first, steps, DIMS, STEPS)
        if trace is not None:
            store_chunk(trace, potentials, index, mask, first, steps, DIMS, STEPS)
    store_inner(final_state, last, index, mask, DIMS)


@triton.jit
def load_all(
    x,
    grad_spikes,
    grad_trace,
    checkpoints,
    index,
    mask,
    chunk,
    steps,
    DIMS: tl.constexpr,
    STEPS: tl.constexpr,
):
    """Loads all that backward reads of a chunk: x, gs and gv of its steps, and p before the
    first."""
    first = chunk * STEPS
    # The last load ahead is of chunk -1, which is not used.
    before = places(checkpoints, index, DIMS) + tl.maximum(chunk, 0) * tl.cast(
        checkpoints[1], tl.int64
    )
    return (
        load_chunk(x, index, mask, first, steps, DIMS, STEPS),
        load_chunk(grad_spikes, index, mask, first, steps, DIMS, STEPS),
        load_chunk(grad_trace, index, mask, first, steps, DIMS, STEPS),
        tl.load(before, mask=mask),
    )


@triton.jit(do_not_specialize=["steps"])
def backward_kernel(
    currents,
    scale,
    shift,
    checkpoints,
    grad_spikes,
    grad_trace,
    grad_final,
    center,
    mix_error,
    mix_current,
    mix_constant,
    grad_currents,
    grad_parts,
    grad_state,
    sum_error,
    sum_by_current,
    sizes,
    steps,
    neuron,
    RESET: tl.constexpr,
    DETACHED: tl.constexpr,
    SURROGATE: tl.constexpr,
    COUNTS: tl.constexpr,
    ROUNDS: tl.constexpr,
    DIMS: tl.constexpr,
    BLOCK: tl.constexpr,
    STEPS: tl.constexpr,
    AHEAD: tl.constexpr,
    WIDE: tl.constexpr,
):
    """Runs backward over all time steps, in chunks of STEPS from the last, gp[T-1] = grad_final:

        e[t] = gs[t]·σ'(v[t] − θ) + gv[t] + gp[t]·ρ[t];   gp[t-1] = decay·e[t]
        gx[t] = a·e[t] + b·(x[t] − center) + c

    For each chunk x, gs and gv are loaded, v is recomputed from the checkpoint by the forward
    steps, and the recurrence runs back over it. Recomputed values stay in registers. With AHEAD the
    previous chunk is loaded meanwhile, which takes twice the registers.

    Bytes for each element: x, gs and gx once each (float32 12, bfloat16 6), and gv as gs;
    checkpoints add 4/STEPS. Three bfloat16 parts that add up to gx are 6 more, or replace it.
    """
    decay, threshold, subtracted, max_spikes, slope, width = as_float32(neuron)

    index = indices(sizes, sizes[DIMS - 1], DIMS, BLOCK, WIDE)
    mask = index[0] < sizes[0]
    chunks = (steps + STEPS - 1) // STEPS
    if AHEAD:
        following = load_all(
            currents,
            grad_spikes,
            grad_trace,
            checkpoints,
            index,
            mask,
            chunks - 1,
            steps,
            DIMS,
            STEPS,
        )
    if scale is not None:
        scale = load_inner(scale, index, mask, 1.0, DIMS)
    if shift is not None:
        shift = load_inner(shift, index, mask, 0.0, DIMS)
    if center is not None:
        center = load_inner(center, index, mask, 0.0, DIMS)
    if mix_error is not None:
        a = load_inner(mix_error, index, mask, 0.0, DIMS)
        b = load_inner(mix_current, index, mask, 0.0, DIMS)
        c = load_inner(mix_constant, index, mask, 0.0, DIMS)
    gp = load_inner(grad_final, index, mask, 0.0, DIMS)
    errors = tl.zeros((BLOCK,), tl.float32)
    errors_by_x = tl.zeros((BLOCK,), tl.float32)
    for back in range(chunks):
        chunk = chunks - 1 - back
        if AHEAD:
            chunk_data = following
            following = load_all(
                currents,
                grad_spikes,
                grad_trace,
                checkpoints,
                index,
                mask,
                chunk - 1,
                steps,
                DIMS,
                STEPS,
            )
        else:
            chunk_data = load_all(
                currents,
                grad_spikes,
                grad_trace,
                checkpoints,
                index,
                mask,
                chunk,
                steps,
                DIMS,
                STEPS,
            )
        xs = split(chunk_data[0], STEPS)
        if grad_spikes is not None:
            grads = split(chunk_data[1], STEPS)
        if grad_trace is not None:
            trace_grads = split(chunk_data[2], STEPS)
        leaked = decay * chunk_data[3]
        potentials = ()
        for k in tl.static_range(STEPS):
            v = leaked + current(xs[k], scale, shift)
            potentials = potentials + (v,)
            _, leaked = after_spike(
                v, spikes_of(v, threshold, max_spikes, COUNTS, ROUNDS), decay, subtracted, RESET
            )
        gradients = ()
        for k in tl.static_range(STEPS - 1, -1, -1):
            exists = chunk * STEPS + k < steps
            v = potentials[k]
            sigma = surrogate(v - threshold, slope, width, threshold, SURROGATE, ROUNDS)
            rho = reset_slope(
                v,
                spikes_of(v, threshold, max_spikes, COUNTS, ROUNDS),
                sigma,
                subtracted,
                RESET,
                DETACHED,
            )
            direct = tl.zeros((BLOCK,), tl.float32)
            if grad_spikes is not None:
                direct = grads[k].to(tl.float32) * sigma
            if grad_trace is not None:
                direct = direct + trace_grads[k].to(tl.float32)
            # Steps after the end leave gp unchanged. Selecting here keeps the chain of dependent
            # steps short.
            e = tl.where(exists, direct, 0.0) + gp * tl.where(exists, rho, 1.0)
            gp = tl.where(exists, decay, 1.0) * e
            out = e
            if sum_error is not None:
                errors = errors + tl.where(exists, e, 0.0)
            if sum_by_current is not None or mix_error is not None:
                centered = xs[k].to(tl.float32)
                if center is not None:
                    centered = centered - center
                if sum_by_current is not None:
                    errors_by_x = errors_by_x + tl.where(exists, e * centered, 0.0)
                if mix_error is not None:
                    out = a * e + b * centered + c
            if scale is not None and mix_error is None:
                out = scale * e
            gradients = (out,) + gradients
        if grad_currents is not None:
            store_chunk(grad_currents, gradients, index, mask, chunk * STEPS, steps, DIMS, STEPS)
        if grad_parts is not None:
            store_parts(grad_parts, gradients, index, mask, chunk * STEPS, steps, DIMS, STEPS)
    store_inner(grad_state, gp, index, mask, DIMS)
    store_inner(sum_error, errors, index, mask, DIMS)
    store_inner(sum_by_current, errors_by_x, index, mask, DIMS)
