"""A linear layer and the recurrent layer behind it, in one function for plain eager calls.

Events of the input select rows of its weight, too, where C++ runs (`linear.operands`). No currents
are kept. With `recompute` no potentials are kept either, but the input (spikes as bits) and a state
every √T steps, from which a segment is computed again in backward.
"""

from dataclasses import dataclass
from math import isqrt

import torch
from torch import Tensor

from ..bits import pack, unpack
from ..lif.contract import state_dtype
from ..linear.operands import CpuOperands
from ..linear_lif.matmul import Operands, operands_of
from ..register import no_second_derivative
from ..spec import NeuronSpec
from . import backends
from .contract import Backward, Forward

LEAST_SEGMENT = 64
"""Steps of a segment at least: each lays the weight out anew."""


@dataclass(frozen=True)
class Plan:
    """The arguments of a call beside its tensors."""

    spec: NeuronSpec
    backend: str
    recompute: bool
    saves: bool

    def operands(self, weight: Tensor) -> Operands:
        return operands_of(weight.contiguous(), "plain", int(self.backend == "cpp"), self.backend)

    def segments(self, steps: int) -> list[slice]:
        length = max(LEAST_SEGMENT, isqrt(steps)) if self.recompute else max(steps, 1)
        return [slice(first, min(first + length, steps)) for first in range(0, steps, length)]


class BehindLinear(torch.autograd.Function):
    """x (T, B, M), W (N, M), b (N,) or None, R (N, N), state (2, B, N) or None → spikes (T, B, N)
    and final state. x, W and R are of one type."""

    @staticmethod
    def forward(
        ctx,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        recurrent: Tensor,
        state: Tensor | None,
        plan: Plan,
    ) -> tuple[Tensor, Tensor]:
        shape, segments = (*x.shape[:2], len(weight)), plan.segments(len(x))
        spikes = x.new_empty(shape)
        states = x.new_empty((len(segments) + 1, 2, *shape[1:]), dtype=state_dtype(x.dtype))
        states[0] = 0 if state is None else state
        run = Segment(plan, plan.operands(weight), bias, recurrent)
        kept: list[Tensor] = []
        for number, steps in enumerate(segments):
            saves = plan.saves and not plan.recompute
            kept = run.forward(x[steps], spikes[steps], states[number : number + 2], saves)
        if plan.saves:
            if plan.recompute:
                kept = [states[:-1]]
            input_bits = (
                pack(x, 1)
                if plan.recompute
                and isinstance(run.operands, CpuOperands)
                and run.operands.holds_spikes(x)
                else None
            )
            ctx.plan, ctx.like = plan, x.shape
            ctx.save_for_backward(
                x if input_bits is None else None, input_bits, weight, bias, recurrent, *kept
            )
            ctx.set_materialize_grads(False)
        return spikes, states[-1].clone()

    @staticmethod
    def backward(ctx, grad_spikes, grad_final):
        if torch.is_grad_enabled():
            raise no_second_derivative("recurrent_lif")
        x, input_bits, weight, bias, recurrent, *kept = ctx.saved_tensors
        needed, plan, inputs = ctx.needs_input_grad, ctx.plan, ctx.like
        shape = (*inputs[:2], len(weight))
        if grad_spikes is None:
            grad_spikes = weight.new_zeros(()).expand(shape)
        by_x = weight.new_empty(inputs) if needed[0] else None
        by_weight = weight.new_empty(weight.shape) if needed[1] else None
        by_recurrent = recurrent.new_empty(recurrent.shape)
        by_bias = None if bias is None else torch.zeros_like(bias, dtype=state_dtype(bias.dtype))
        run = Segment(plan, plan.operands(weight), bias, recurrent)
        segments = plan.segments(inputs[0])
        for number in range(len(segments) - 1, -1, -1):
            steps = segments[number]
            if input_bits is None:
                x_of = x[steps]
            else:
                x_of = weight.new_empty((steps.stop - steps.start, *inputs[1:]))
                unpack(input_bits[steps], 1, x_of)
            if plan.recompute:
                states = kept[0].new_empty((2, *kept[0].shape[1:]))
                states[0] = kept[0][number]
                again = weight.new_empty((len(x_of), *shape[1:]))
                saved = run.forward(x_of, again, states, True)
            else:
                saved = kept
            first = number == len(segments) - 1
            errors = run.backward(saved, grad_spikes[steps], grad_final, by_recurrent, not first)
            rows = errors.flatten(0, 1)
            if by_weight is not None:
                run.operands.add_weight(by_weight, rows, x_of.flatten(0, 1), first)
            if by_bias is not None:
                by_bias += rows.sum(0, dtype=by_bias.dtype)
            if by_x is not None:
                run.operands.add_input(by_x[steps].flatten(0, 1), rows, True)
            earliest = errors[0].to(run.recurrent_state.dtype)
            grad_final = torch.stack([plan.spec.decay * earliest, earliest @ run.recurrent_state])
        if by_bias is not None:
            by_bias = by_bias.to(bias.dtype)
        return by_x, by_weight, by_bias, by_recurrent, grad_final if needed[4] else None, None


class Segment:
    """Runs both layers over some steps."""

    def __init__(
        self, plan: Plan, operands: Operands, bias: Tensor | None, recurrent: Tensor
    ) -> None:
        self.plan, self.operands = plan, operands
        self.kernel = backends.module(plan.backend)
        self.recurrent = recurrent.contiguous()
        self.recurrent_state = self.recurrent.to(state_dtype(recurrent.dtype))
        self.bias = None if bias is None else bias.to(self.recurrent_state.dtype).contiguous()

    def forward(self, x: Tensor, spikes: Tensor, states: Tensor, saves: bool) -> list[Tensor]:
        """Writes spikes and states[1], (2, B, N), from states[0]. Returns potentials and bits of
        spikes if it `saves` them."""
        currents = torch.empty_like(spikes)
        self.operands.currents(x.flatten(0, 1), currents.flatten(0, 1))
        call = Forward(
            spec=self.plan.spec,
            currents=currents,
            weight=self.recurrent,
            bias=self.bias,
            state=states[0],
            spikes=spikes,
            final_state=states[1],
            potentials=torch.empty_like(spikes, dtype=states.dtype) if saves else None,
            bits=self.kernel.bits_like(currents),
        )
        self.kernel.forward(call)
        return [call.potentials, call.bits] if call.potentials is not None else []

    def backward(
        self,
        saved: list[Tensor],
        grad_spikes: Tensor,
        grad_final: Tensor | None,
        by_recurrent: Tensor,
        adds: bool,
    ) -> Tensor:
        """Returns e (steps, B, N); writes or adds to the gradient by the recurrent weight."""
        potentials, bits = saved
        errors = potentials.new_empty(potentials.shape, dtype=self.recurrent.dtype)
        call = Backward(
            spec=self.plan.spec,
            weight=self.recurrent,
            potentials=potentials,
            bits=bits,
            grad_spikes=grad_spikes,
            grad_final=None if grad_final is None else grad_final.contiguous(),
            errors=errors,
            grad_weight=by_recurrent,
            adds=adds,
        )
        self.kernel.backward(call)
        return errors
