"""A convolution, its norm and the neuron in one autograd function, for float32 images (T, B, C, H, W) on CPUs.

The channels of a pixel lie side by side from layer to layer: torch's convolution (oneDNN) then copies nothing into an order of
its own. Between forward and backward stay the input, the currents and the neuron's state every 32 steps.

With `recompute` an input of spikes stays in bits, and currents of few products are computed again. Backward then takes a few
sequences at a time through neuron and convolution: only their inputs, and gradients by their currents, exist as numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from .. import bits
from ..batch_norm_lif.operator import by_channel
from ..lif import backends
from ..lif.contract import CHECKPOINT_STEPS, Backward
from ..lif.operator import NeuronOptions, run, run_forward
from ..register import no_second_derivative

Pair = tuple[int, int]
PIECE = 1 << 18
"""Numbers of a piece of backward, inputs and currents together, but at least four times those of the weight."""
FEW_PRODUCTS = 64
"""Products in a current that is computed again: a first layer of colours has 3 · 3 · 3."""


@dataclass(frozen=True)
class ConvOptions:
    """The arguments of a call beside its tensors."""

    neuron: NeuronOptions
    stride: Pair
    padding: Pair
    epsilon: float | None
    """The norm's; None: there is no norm."""
    recompute: bool
    spikes: bool
    """Whether every input is 0 or 1."""

    @property
    def packs(self) -> bool:
        """Whether the input stays in bits."""
        return self.recompute and self.spikes

    def currents(self, x: Tensor, weight: Tensor) -> Tensor:
        """(T, B, H', W', C') of x (T, B, H, W, C)."""
        convolved = torch.conv2d(_images(x), weight, None, self.stride, self.padding)
        return convolved.permute(0, 2, 3, 1).contiguous().unflatten(0, x.shape[:2])

    def gradients(self, g: Tensor, x: Tensor, weight: Tensor, needed: tuple[bool, bool]) -> tuple[Tensor | None, Tensor | None]:
        """Gradients by x (T, B, H, W, C) and weight from g by the currents, None where not `needed`."""
        by_images, by_weight, _ = torch.ops.aten.convolution_backward(
            _images(g), _images(x), weight, None, self.stride, self.padding, (1, 1), False, (0, 0), 1, (*needed, False)
        )
        return None if by_images is None else by_images.permute(0, 2, 3, 1).unflatten(0, x.shape[:2]), by_weight


class ConvNeuron(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, gamma, beta, options: ConvOptions) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Spikes (T, B, C', H', W') of x (T, B, C, H, W), and of a norm the mean and the biased variance (C',)."""
        pixels, weight = pixels_last(x), weight.contiguous(memory_format=torch.channels_last)
        currents, mean, variance = options.currents(pixels, weight), None, None
        if options.epsilon is not None:
            of_pixels = currents.flatten(1, 3)
            mean, variance = by_channel(of_pixels, 2).statistics(of_pixels, 2)
            ctx.mark_non_differentiable(mean, variance)
        scale, shift, _ = _rows(currents, mean, variance, gamma, bias if mean is None else beta, options)
        one = len(currents) <= CHECKPOINT_STEPS  # whose only checkpoint is the state at rest
        neuron = replace(options.neuron, checkpoints=options.neuron.checkpoints and not one)
        spikes, final_state, _, checkpoints = run_forward(neuron, currents.flatten(2), None, scale, shift)
        if options.neuron.checkpoints:
            checkpoints = final_state.new_zeros(1).expand(1, *final_state.shape) if one else checkpoints
            source = bits.pack(pixels.flatten(2), 1) if options.packs else x
            few = options.recompute and not options.packs and weight[0].numel() <= FEW_PRODUCTS
            kept = None if few else currents
            ctx.save_for_backward(source, weight, bias, gamma, beta, mean, variance, kept, checkpoints)
            ctx.options, ctx.shape = options, pixels.shape
        return spikes.view(currents.shape).permute(0, 1, 4, 2, 3), mean, variance

    @staticmethod
    def backward(ctx, grad_spikes, *_):
        if torch.is_grad_enabled():
            raise no_second_derivative("ConvLIF")
        source, weight, bias, gamma, beta, mean, variance, currents, checkpoints = ctx.saved_tensors
        options, (needs_x, needs_weight, needs_bias, *_) = ctx.options, ctx.needs_input_grad
        if currents is None:
            currents = options.currents(pixels_last(source), weight)
        scale, shift, center = _rows(currents, mean, variance, gamma, bias if mean is None else beta, options)
        call = Backward(
            spec=options.neuron.spec,
            currents=currents.flatten(2),
            scale=scale,
            shift=shift,
            checkpoints=checkpoints,
            grad_spikes=pixels_last(grad_spikes).flatten(2),
        )
        by_gamma = by_beta = None
        if mean is not None:
            call, by_gamma, by_beta = _through_norm(replace(call, center=center), currents, variance, gamma, options)
        errors = currents.new_zeros(currents.shape[1:]) if needs_bias else None
        by_x, by_weight = Behind(options, call, currents.shape, errors).gradients(
            source, weight, ctx.shape, (needs_x, needs_weight)
        )
        by_x = None if by_x is None else by_x.permute(0, 1, 4, 2, 3)
        by_bias = None if errors is None else errors.sum((0, 1, 2), dtype=torch.float64).to(errors.dtype)
        return by_x, by_weight, by_bias, by_gamma, by_beta, None


@dataclass
class Behind:
    """The last scan of backward: through the neuron, and behind it through the convolution. `call` is that of all steps and
    sequences, without what it writes; `shape` is that of the currents (T, B, H', W', C'). Their gradients, summed over time, are
    added to `errors` (B, H', W', C'), if given."""

    options: ConvOptions
    call: Backward
    shape: torch.Size
    errors: Tensor | None

    def gradients(
        self, source: Tensor, weight: Tensor, shape: torch.Size, needed: tuple[bool, bool]
    ) -> tuple[Tensor | None, Tensor | None]:
        """Gradients by x (T, B, H, W, C), which has that `shape`, and weight. `source` is (T, B, C, H, W), or its bits."""
        numbers = shape[2:].numel() + self.call.currents.shape[2]
        pieces = list(self.pieces(max(PIECE, 4 * weight.numel()) // numbers))
        by_x = source.new_empty(shape, dtype=weight.dtype) if needed[0] and len(pieces) > 1 else None
        by_weight: Tensor | None = None
        carried = (
            weight.new_zeros(shape[1], self.call.currents.shape[2]) if len({steps.start for steps, _ in pieces}) > 1 else None
        )
        for steps, items in pieces:
            g = self.through_neuron(steps, items, None if carried is None else carried[items])
            x = self.inputs(source[steps, items], shape[2:])
            own_x, own_weight = self.options.gradients(g, x, weight, needed)
            if by_x is None:
                by_x = own_x
            else:
                by_x[steps, items] = own_x
            by_weight = own_weight if by_weight is None or own_weight is None else by_weight.add_(own_weight)
            del g, x, own_x, own_weight  # before there are those of the next piece
        return by_x, by_weight

    def pieces(self, images: int) -> Iterator[tuple[slice, slice]]:
        """Steps and sequences that are taken together, the last steps first; with `recompute` so many images."""
        steps, batch = self.shape[:2]
        chunk = CHECKPOINT_STEPS if self.options.recompute else max(1, steps)
        count = max(1, images // min(chunk, steps)) if self.options.recompute else max(1, batch)
        for start in reversed(range(0, steps, chunk)):
            for first in range(0, batch, count):
                yield slice(start, min(start + chunk, steps)), slice(first, min(first + count, batch))

    def through_neuron(self, steps: slice, items: slice, carried: Tensor | None) -> Tensor:
        """The gradient by the currents of a piece. `carried`, if the sequence has several, is that by the
        state after the piece, and becomes that by the state before it."""
        whole = self.call
        rows = ("scale", "shift", "center", "mix_error", "mix_current", "mix_constant")
        part = {name: row[items] for name in rows if (row := getattr(whole, name)) is not None}
        part |= {name: getattr(whole, name)[steps, items] for name in ("currents", "grad_spikes")}
        g = torch.empty_like(part["currents"], memory_format=torch.contiguous_format)
        errors = None if self.errors is None else g.new_empty(g.shape[1:])
        call = replace(
            whole,
            checkpoints=whole.checkpoints[steps.start // CHECKPOINT_STEPS : -(-steps.stop // CHECKPOINT_STEPS), items],
            grad_final=None if carried is None else carried.clone(),
            grad_state=carried,
            grad_currents=g,
            sum_error=errors,
            **part,
        )
        run(backends.module(self.options.neuron.backend).backward, call)
        if self.errors is not None and errors is not None:
            self.errors[items] += errors.unflatten(1, self.shape[2:])
        return g.unflatten(2, self.shape[2:])

    def inputs(self, source: Tensor, image: torch.Size) -> Tensor:
        """(T, B, H, W, C) of a piece of x or of its bits."""
        if not self.options.packs:
            return pixels_last(source)
        x = self.call.currents.new_empty(*source.shape[:2], image.numel())
        bits.unpack(source, 1, x)
        return x.unflatten(2, image)


def _through_norm(
    call: Backward, currents: Tensor, variance: Tensor, gamma: Tensor | None, options: ConvOptions
) -> tuple[Backward, Tensor | None, Tensor | None]:
    """The first scan: `call` with what its second scan mixes, and the gradients by γ and β (C',)."""
    sums = currents.new_empty(2, *currents.shape[1:])
    first = replace(call, sum_error=sums[0].flatten(1), sum_by_current=sums[1].flatten(1))
    run(backends.module(options.neuron.backend).backward, first)
    of_pixels = currents.flatten(1, 3)
    found = by_channel(of_pixels, 2).gradients(of_pixels, 2, *sums.flatten(1, 3), variance, gamma, options.epsilon, True)
    by_gamma, by_beta, *mixed = found
    mix_current, mix_constant = (_wide(row[0], currents) for row in mixed)
    return replace(call, mix_error=call.scale, mix_current=mix_current, mix_constant=mix_constant), by_gamma, by_beta


def pixels_last(x: Tensor) -> Tensor:
    """(T, B, H, W, C) of (T, B, C, H, W), copied unless it lies so in memory."""
    return x.permute(0, 1, 3, 4, 2).contiguous()


def _images(x: Tensor) -> Tensor:
    """(T·B, C, H, W) of (T, B, H, W, C)."""
    return x.flatten(0, 1).permute(0, 3, 1, 2)


def _wide(of_channels: Tensor, currents: Tensor) -> Tensor:
    """(B, H'·W'·C') of one number for each channel: rows of a whole image, which the neuron's kernel takes in one go."""
    _, batch, height, width, _ = currents.shape
    return of_channels.expand(height * width, -1).reshape(1, -1).expand(batch, -1)


def _rows(
    currents: Tensor,
    mean: Tensor | None,
    variance: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    options: ConvOptions,
) -> tuple[Tensor | None, ...]:
    """Scale, shift and mean of the neuron's current as `_wide` rows; without a norm the bias alone."""
    if mean is None:
        return None, None if bias is None else _wide(bias, currents), None
    of_pixels = currents.flatten(1, 3)
    rows = by_channel(of_pixels, 2).rows(of_pixels, 2, mean, variance, weight, bias, options.epsilon)
    return tuple(_wide(row[0], currents) for row in rows)
