"""A linear layer and the recurrent layer behind it, in one function for plain eager calls.

Events of the input select rows of its weight, too, where C++ runs (`linear.operands`). The input is
kept, spikes as bits there, and no currents are. With `recompute` no potentials are kept either, but
a state every √T steps, from which a segment is computed again in backward.
"""

from dataclasses import dataclass
from math import isqrt

import torch
from torch import Tensor

from ..lif.contract import state_dtype
from ..linear.operands import CpuOperands
from ..linear_lif.matmul import operands_of
from ..register import no_second_derivative
from ..spec import NeuronSpec
from . import backends
from .contract import Backward, Forward, parts_of_state
from .operator import by_spikes, potentials_of, v_of

LEAST_ROWS = 1536
"""Steps · items of a segment at least: each is several calls, which lay the weights out anew."""


@dataclass(frozen=True)
class Plan:
    """The arguments of a call beside its tensors."""

    spec: NeuronSpec
    backend: str
    recompute: bool
    saves: bool

    def segments(self, steps: int, batch: int) -> list[slice]:
        length = max(-(-LEAST_ROWS // batch), isqrt(steps)) if self.recompute else steps
        return [slice(first, min(first + length, steps)) for first in range(0, steps, length)]


class BehindLinear(torch.autograd.Function):
    """x (T, B, M), W (N, M), b (N,) or None, R (N, N), state (2 or 3, B, N) or None → spikes
    (T, B, N) and final state. x, W and R are of one type. `known` are words of x of a call that
    does not recompute, or None; `words` are written, those of the spikes, or None."""

    @staticmethod
    def forward(
        ctx,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        recurrent: Tensor,
        state: Tensor | None,
        plan: Plan,
        known: Tensor | None,
        words: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        steps, batch = x.shape[:2]
        spikes, segments = x.new_empty((steps, batch, weight.shape[0])), plan.segments(steps, batch)
        run = Segment(plan, weight.contiguous(), bias, recurrent, batch)
        inputs, states, kept = list[Tensor | None](), list[Tensor | None](), list[Tensor]()
        for of_segment in segments:
            part = _part(x, of_segment)
            inputs.append(run.words(part) if known is None else known)
            states.append(state)
            saves = plan.saves and not plan.recompute
            of_part = _part(spikes, of_segment)
            kept, state = run.forward(part, inputs[-1], of_segment, of_part, state, saves, words)
        if plan.saves:
            ctx.plan, ctx.like = plan, x.shape
            dense = any(of_part is None for of_part in inputs)
            more = states if plan.recompute else kept
            ctx.save_for_backward(x if dense else None, weight, bias, recurrent, *inputs, *more)
            ctx.set_materialize_grads(False)
        assert state is not None
        return spikes, state

    @staticmethod
    def backward(ctx, grad_spikes, grad_final):
        if torch.is_grad_enabled():
            raise no_second_derivative("recurrent_lif")
        x, weight, bias, recurrent, *more = ctx.saved_tensors
        needed, plan, like = ctx.needs_input_grad, ctx.plan, ctx.like
        segments = plan.segments(*like[:2])
        inputs, kept = more[: len(segments)], more[len(segments) :]
        if grad_spikes is None:
            grad_spikes = weight.new_zeros(()).expand(*like[:2], weight.shape[0])
        by_x = weight.new_empty(like) if needed[0] else None
        by_weight = weight.new_empty(weight.shape) if needed[1] else None
        by_recurrent = recurrent.new_empty(recurrent.shape)
        by_bias = None if bias is None else torch.zeros_like(bias, dtype=state_dtype(bias.dtype))
        run = Segment(plan, weight.contiguous(), bias, recurrent, like[1])
        for number in range(len(segments) - 1, -1, -1):
            steps, words = segments[number], inputs[number]
            part = None if x is None else _part(x, steps)
            if plan.recompute:
                saved, _ = run.forward(part, words, steps, None, kept[number], True, None)
            else:
                saved = kept
            first, hands_on = number == len(segments) - 1, number or needed[4]
            errors, grad_final = run.backward(
                saved, _part(grad_spikes, steps), grad_final, by_recurrent, not first, hands_on
            )
            rows = errors.flatten(0, 1)
            if by_weight is not None:
                run.add_weight(by_weight, rows, part, words, first)
            if by_bias is not None:
                by_bias += rows.sum(0, dtype=by_bias.dtype)
            if by_x is not None:
                run.dense.add_input(_part(by_x, steps).flatten(0, 1), rows, True)
            del saved, errors, rows  # before the next segment is computed again
        if by_bias is not None:
            by_bias = by_bias.to(bias.dtype)
        gradients = by_x, by_weight, by_bias, by_recurrent, grad_final
        return *gradients, None, None, None


def _part(tensor: Tensor, steps: slice) -> Tensor:
    return tensor if steps.stop - steps.start == tensor.shape[0] else tensor[steps]


class Segment:
    """Runs both layers over some steps."""

    def __init__(
        self, plan: Plan, weight: Tensor, bias: Tensor | None, recurrent: Tensor, batch: int
    ) -> None:
        self.plan, self.dense = plan, operands_of(weight, "plain", 0, plan.backend)
        self.selecting = CpuOperands(weight, 1) if plan.backend == "cpp" else None
        self.kernel = backends.module(plan.backend)
        self.recurrent, self.of_step = recurrent.contiguous(), (batch, recurrent.shape[0])
        self.state_dtype = state_dtype(recurrent.dtype)
        self.bias = None if bias is None else bias.to(self.state_dtype).contiguous()

    def words(self, x: Tensor) -> Tensor | None:
        """Returns words of x if its spikes can select rows of the weight, else None."""
        return self.selecting.words(x) if self.selecting else None

    def currents(self, x: Tensor | None, words: Tensor | None, out: Tensor) -> None:
        if self.selecting and words is not None:
            self.selecting.currents_of_words(words, out)
        elif x is not None:
            self.dense.currents(x.flatten(0, 1), out)

    def add_weight(
        self, into: Tensor, g: Tensor, x: Tensor | None, words: Tensor | None, first: bool
    ) -> None:
        if self.selecting and words is not None:
            self.selecting.add_weight_of_words(into, g, words, first)
        elif x is not None:
            self.dense.add_weight(into, g, x.flatten(0, 1), first)

    def _state(self) -> Tensor:
        shape = parts_of_state(self.plan.spec), *self.of_step
        return self.recurrent.new_empty(shape, dtype=self.state_dtype)

    def forward(
        self,
        x: Tensor | None,
        words: Tensor | None,
        steps: slice,
        spikes: Tensor | None,
        state: Tensor | None,
        saves: bool,
        next_words: Tensor | None,
    ) -> tuple[list[Tensor], Tensor]:
        """Writes spikes and their words, if there are any to write, from a state and x, or its
        words. Returns the final state behind potentials and bits of spikes, if it `saves` them."""
        size = (steps.stop - steps.start, *self.of_step)
        potentials = potentials_of(self.recurrent, self.plan.spec, size) if saves else None
        if potentials is not None and potentials.dtype == self.recurrent.dtype:
            currents = v_of(potentials)  # the kernel writes v in place of them
        else:
            currents = self.recurrent.new_empty(size)
        self.currents(x, words, currents.flatten(0, 1))
        call = Forward(
            spec=self.plan.spec,
            currents=currents,
            weight=self.recurrent,
            bias=self.bias,
            state=None if state is None else state.contiguous(),
            spikes=spikes,
            final_state=self._state(),
            potentials=potentials,
            bits=self.kernel.bits_like(currents),
            words=next_words,
        )
        self.kernel.forward(call)
        return [] if potentials is None else [potentials, call.bits], call.final_state

    def backward(
        self,
        saved: list[Tensor],
        grad_spikes: Tensor,
        grad_final: Tensor | None,
        by_recurrent: Tensor,
        adds: bool,
        hands_on: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Returns e (steps, B, N) and, if it `hands_on`, the gradient by the first state; writes or
        adds to the gradient by the recurrent weight."""
        potentials, bits = saved
        v = v_of(potentials)
        in_place = self.plan.recompute and v.dtype == self.recurrent.dtype
        errors = v if in_place else self.recurrent.new_empty(v.shape)
        call = Backward(
            spec=self.plan.spec,
            weight=self.recurrent,
            potentials=potentials,
            bits=bits,
            grad_spikes=grad_spikes,
            grad_final=None if grad_final is None else grad_final.contiguous(),
            errors=errors,
            grad_state=self._state() if hands_on else None,
            grad_weight=by_recurrent,
            adds=adds,
        )
        self.kernel.backward(call)
        if call.grad_state is not None:
            by_spikes(errors, self.recurrent, call.grad_state)
        return errors, call.grad_state
