"""Product and neuron in one kernel (`linear.launch`), for spikes and float32 weights on CPUs.

Forward saves the potentials and the input as words of bits. Backward holds the gradient by the
currents for a few steps at a time. An input of anything but spikes is multiplied densely and saved.
A `CallPlan` caches all that calls need beside addresses, which takes longer than the computation in
small layers.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..lif import backends
from ..lif.contract import Forward
from ..lif.operator import SPIKE_DTYPES
from ..linear import dense, launch, record
from ..linear.operands import multiply
from .contract import LinearOptions, Saved

MOST_PLANS = 1024
_plans: dict[tuple, "CallPlan"] = {}


def fits(options: LinearOptions, x: Tensor, weight: Tensor) -> bool:
    """Returns True if these passes support the call."""
    plain = (
        options.operands == "plain" and not options.recompute and options.neuron.backend == "cpp"
    )
    return plain and weight.dtype == torch.float32 and launch.takes(x, weight, options.counts)


def allocated(options: LinearOptions, x: Tensor, weight: Tensor) -> tuple[Tensor, Saved]:
    """Allocates spikes and saved tensors: words and potentials (T, B, N)."""
    shape = (*x.shape[:-1], len(weight))
    spikes = x.new_empty(shape, dtype=SPIKE_DTYPES[options.neuron.spikes])
    potentials = x.new_empty(shape, dtype=torch.float32) if options.neuron.checkpoints else None
    return spikes, Saved(
        x,
        x.new_empty(launch.words_of(x.shape, options.counts), dtype=torch.int64),
        potentials,
        None,
    )


def plan_of(
    options: LinearOptions, x: Tensor, weight: Tensor, makes_words: bool = False
) -> "CallPlan":
    """Returns the plan of a call that fits; with `makes_words`, of 0/1 spikes for a next layer."""
    key = (options, makes_words, x.shape, x.stride(), x.dtype, len(weight), torch.get_num_threads())
    if (plan := _plans.get(key)) is None:
        if len(_plans) >= MOST_PLANS:
            _plans.clear()
        plan = _plans[key] = CallPlan(options, x, len(weight), makes_words)
    return plan


class CallPlan:
    """The common part of calls that differ in addresses only: shape, layout, type and threads."""

    def __init__(self, options: LinearOptions, x: Tensor, neurons: int, makes_words: bool):
        self.options, self.spec, self.counts = options, options.neuron.spec, options.counts
        self.inputs, self.shape = x.shape, (*x.shape[:2], neurons)
        self.spikes_dtype, self.words = (
            SPIKE_DTYPES[options.neuron.spikes],
            launch.words_of(x.shape, options.counts),
        )
        types = (x.dtype, torch.float32, self.spikes_dtype, torch.float32)
        self.run_forward = launch.Pass("linear_forward", self.spec, x, neurons, self.counts, *types)
        self.run_packed = launch.Pass(
            "linear_forward", self.spec, x, neurons, self.counts, *types, filled=True
        )
        self.next_words = (
            launch.words_of(torch.Size(self.shape), 1)
            if makes_words and self.spec.max_spikes == 1
            else 0
        )
        self.backwards: dict[tuple, launch.Pass] = {}
        self.tile: int | None = None
        self.ran = record.of(x.shape, neurons, self.counts)

    def forward(
        self,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        packed: Tensor | None = None,
        next_words: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None, Tensor, Tensor | None]:
        """Returns spikes (T, B, N), x if it holds anything but spikes, its words, and potentials.

        `packed` holds words of x from the previous layer, or None; `next_words` are written.
        """
        spikes = weight.new_empty(self.shape, dtype=self.spikes_dtype)
        run = (
            self.run_forward if packed is None or packed.numel() != self.words else self.run_packed
        )
        words = (
            packed
            if packed is not None and run is self.run_packed
            else weight.new_empty(self.words, dtype=torch.int64)
        )
        potentials = weight.new_empty(self.shape) if self.options.neuron.checkpoints else None
        weight, bias = weight.contiguous(), None if bias is None else bias.float().contiguous()
        ones = run(x, weight, bias, spikes, potentials, words, next_words)
        self.ran.ones = ones
        if ones >= 0:
            return spikes, None, words, potentials
        currents = weight.new_empty(self.shape)
        multiply(x.to(torch.float32).flatten(0, 1), weight.t(), currents.flatten(0, 1))
        call = Forward(
            spec=self.spec,
            currents=currents,
            shift=None if bias is None else bias.expand(currents.shape[1:]),
            spikes=spikes,
            final_state=torch.empty_like(currents[0]),
            trace=potentials,
        )
        backends.module("cpp").forward(call)
        if next_words is not None:
            next_words[0] = -1
        return spikes, x, words, potentials

    def backward(
        self,
        weight: Tensor,
        x: Tensor | None,
        words: Tensor,
        potentials: Tensor,
        grad_spikes: Tensor,
        needed: Sequence[bool],
    ) -> tuple[Tensor | None, ...]:
        """Returns gradients by (x, weight, bias), None if not `needed`; x is None unless saved."""
        input_needed, weight_needed, bias_needed = needed
        if self.tile is None and input_needed:
            self.tile = dense.address_of_tile()
        weight, tile = weight.contiguous(), self.tile or 0
        by_weight = torch.empty_like(weight) if weight_needed else None
        by_bias = weight.new_empty(self.shape[2]) if bias_needed else None
        by_input = weight.new_empty(self.inputs) if input_needed else None
        densely = weight_needed and x is not None and words[0].item() < 0
        errors = weight.new_empty(self.shape) if densely or (input_needed and not tile) else None
        kind = (grad_spikes.dtype, grad_spikes.stride())
        if (run := self.backwards.get(kind)) is None:
            types = (torch.float32, torch.float32, grad_spikes.dtype, torch.float32)
            run = launch.Pass(
                "linear_backward", self.spec, grad_spikes, self.inputs[2], self.counts, *types
            )
            self.backwards[kind] = run
        selected = None if densely else by_weight
        run(
            grad_spikes,
            potentials,
            words,
            weight,
            selected,
            by_bias,
            by_input if tile else None,
            errors,
            dense=tile,
        )
        if by_input is not None and errors is not None and not tile:
            multiply(errors.flatten(0, 1), weight, by_input.flatten(0, 1))
        if densely and by_weight is not None and errors is not None and x is not None:
            multiply(errors.flatten(0, 1).t(), x.to(torch.float32).flatten(0, 1), by_weight)
        return by_input, by_weight, by_bias
