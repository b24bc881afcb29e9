"""A convolution, its norm and the neuron in one autograd function, for float32 images (T, B, C, H,
W) on CPUs.

Spikes are convolved by `spikes`, which skips their zeros, and saved in bits; other inputs by torch.
Arrays are channels-last from layer to layer, so that torch's convolution (oneDNN) reorders nothing.
The forward pass saves the input, the currents and the neuron's state every 32 steps.

With `recompute` it saves an input of spikes in bits, and recomputes currents of few products.
Backward then processes a few sequences at a time, which bounds the memory for inputs, gradients and
recomputed currents. Both passes convolve the same pieces, so that every neuron fires in backward as
it did in forward.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import prod

import torch
from torch import Tensor

from .. import bits
from ..batch_norm_lif import statistics
from ..batch_norm_lif.operator import by_channel
from ..lif import backends
from ..lif.contract import CHECKPOINT_STEPS, Backward
from ..lif.operator import NeuronOptions, run, run_forward
from ..register import no_second_derivative
from .images import by_images
from .layouts import channels_first, pixels_last
from .neuron import PlannedNeuron
from .spikes import Spikes, spikes_of
from .strides import Taps, selected_pixels

Pair = tuple[int, int]
Piece = tuple[slice, slice]
PIECE = 1 << 17
"""Numbers of a piece of backward, inputs and currents together; at least four times the
weight's."""
FEW_PRODUCTS = 64
"""Most products in a recomputed current: a first layer of colours has 3 · 3 · 3."""


@dataclass(frozen=True)
class ConvOptions:
    """The arguments of a call beside its tensors."""

    neuron: NeuronOptions
    stride: Pair
    taps: Taps
    """Those that a call multiplies. Other methods take a weight of these taps alone."""
    epsilon: float | None
    """ε of the norm; None without a norm."""
    recompute: bool
    most: int
    """Largest number in the input, which are whole numbers; 0 if it is unknown."""
    planned: PlannedNeuron | None = field(default=None, compare=False)
    """Norm and neuron; None if `Scans` runs them."""

    @property
    def padding(self) -> Pair:
        return self.taps.padding

    def plan(self, x: torch.Size, weight: Tensor, biased: bool) -> "ConvOptions":
        """Returns the options of calls with x (T, B, C, H, W), for which norm and neuron are
        planned if they can be."""
        if self.recompute or self.neuron.backend != "cpp" or x[0] > CHECKPOINT_STEPS:
            return self
        shape = (*x[:2], *self.size(x[3:], weight), len(weight))
        planned = PlannedNeuron(self.neuron.spec, shape, self.epsilon, biased)
        return replace(self, planned=planned)

    @property
    def packs(self) -> bool:
        """True if the input is saved in bits, however it is convolved."""
        return self.recompute and self.most == 1

    def spikes(self, x: Tensor, weight: Tensor) -> Spikes | None:
        """Returns the spikes of x (T, B, H, W, C), as `spikes_of` takes it, if `spikes` shall
        convolve them."""
        return spikes_of(x, weight, self.most) if self.neuron.backend == "cpp" else None

    def drops_currents(self, weight: Tensor) -> bool:
        """Returns True if backward recomputes currents."""
        return self.recompute and not self.packs and weight[0].numel() <= FEW_PRODUCTS

    def pieces(self, x: torch.Size, weight: Tensor) -> list[Piece]:
        """Returns the pieces (steps, sequences) of x (T, B, H, W, C), the last steps first.

        Without `recompute` there is one piece; otherwise PIECE bounds their size.
        """
        steps, batch = x[:2]
        if not self.recompute:
            return [(slice(0, steps), slice(0, batch))]
        pixels = prod(self.size(x[2:4], weight))
        images = max(PIECE, 4 * weight.numel()) // (x[2:].numel() + pixels * len(weight))
        count = max(1, images // min(CHECKPOINT_STEPS, steps))
        return [
            (
                slice(start, min(start + CHECKPOINT_STEPS, steps)),
                slice(first, min(first + count, batch)),
            )
            for start in reversed(range(0, steps, CHECKPOINT_STEPS))
            for first in range(0, batch, count)
        ]

    def size(self, image: Sequence[int], weight: Tensor) -> tuple[int, ...]:
        """Returns height and width of the currents of an image."""
        sides = zip(image, weight.shape[2:], self.stride, self.padding, strict=True)
        return tuple(
            (side + 2 * padding - kernel) // stride + 1 for side, kernel, stride, padding in sides
        )

    def currents(self, x: Tensor | Spikes, weight: Tensor) -> Tensor:
        """Returns the currents (T, B, H', W', C') of x (T, B, H, W, C)."""
        if isinstance(x, Spikes):
            return x.sums(weight, self.stride, self.padding)
        convolved = torch.conv2d(_images(x), weight, None, self.stride, self.padding)
        return convolved.permute(0, 2, 3, 1).contiguous().unflatten(0, x.shape[:2])

    def all_currents(self, x: Tensor | Spikes, weight: Tensor) -> Tensor:
        """Returns the same currents, computed in pieces if backward recomputes them: only torch's
        depend on the piece."""
        if isinstance(x, Spikes) or not self.drops_currents(weight):
            return self.currents(x, weight)
        out = x.new_empty(*x.shape[:2], *self.size(x.shape[2:4], weight), len(weight))
        for steps, items in self.pieces(x.shape, weight):
            out[steps, items] = self.currents(x[steps, items], weight)
        return out

    def by_weight(self, g: Tensor, x: Tensor | Spikes, weight: Tensor) -> Tensor:
        """Returns the gradient by the weight, from g by the currents and x (T, B, H, W, C)."""
        if isinstance(x, Spikes):
            return x.by_weight(g, weight, self.stride, self.padding)
        pixels, stride = selected_pixels(_images(x), weight, self.stride, self.padding)
        return self._backward(g, pixels, weight, stride, (False, True, False))[1]

    def by_input(
        self, g: Tensor, image: torch.Size, weight: Tensor, memory: Tensor | None = None
    ) -> Tensor:
        """Returns the gradient by x (T, B, *image), from g by the currents; image is (H, W, C).

        `memory` is unused memory of at least that size, or None.
        """
        # Winograd's transformed weight takes four times the memory of the weight.
        if self.neuron.backend == "cpp" and not self.recompute:
            found = by_images(g, image, weight, self.stride, self.padding)
            if found is not None:
                return found
        shape = (*g.shape[:2], *image)
        like = g.new_empty(shape) if memory is None else memory.view(-1)[: prod(shape)].view(shape)
        gradient = self._backward(g, _images(like), weight, self.stride, (True, False, False))[0]
        return gradient.permute(0, 2, 3, 1).unflatten(0, g.shape[:2])

    def _backward(
        self,
        g: Tensor,
        images: Tensor,
        weight: Tensor,
        stride: Sequence[int],
        wanted: tuple[bool, bool, bool],
    ) -> tuple[Tensor, Tensor, Tensor]:
        shape = stride, self.padding, (1, 1), False, (0, 0), 1
        gradients: tuple[Tensor, Tensor, Tensor] = torch.ops.aten.convolution_backward(
            _images(g), images, weight, None, *shape, wanted
        )
        return gradients


class ConvNeuron(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx, x, weight, bias, gamma, beta, options: ConvOptions
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Returns spikes (T, B, C', H', W') of x (T, B, C, H, W), mean and biased variance
        (C',)."""
        pixels, ctx.first = x.permute(0, 1, 3, 4, 2), x.is_contiguous()
        if not ctx.first and not pixels.is_contiguous():
            pixels = pixels_last(x)
        ctx.weight, weight = weight.shape, options.taps.of(weight)
        found = options.spikes(pixels, weight)
        if found is None and not pixels.is_contiguous():
            pixels = pixels_last(x)
        currents = options.all_currents(pixels if found is None else found, weight)
        ctx.options, ctx.shapes = options, (pixels.shape, currents.shape)
        ctx.spikes = None if found is None else found.of(None)
        if options.planned is not None:
            spikes, mean, variance = options.planned.forward(currents, bias, gamma, beta)
            if mean is not None:
                ctx.mark_non_differentiable(mean, variance)
            if options.neuron.checkpoints:
                source = x if found is None else found.fields
                ctx.save_for_backward(
                    source, weight, bias, gamma, beta, mean, variance, currents, None
                )
            return spikes.permute(0, 1, 4, 2, 3), mean, variance
        mean = variance = None
        if options.epsilon is not None:
            of_pixels = currents.flatten(1, 3)
            mean, variance = by_channel(of_pixels, 2).statistics(of_pixels, 2)
            ctx.mark_non_differentiable(mean, variance)
        scale, shift, _ = _rows(
            currents.shape, mean, variance, gamma, bias if mean is None else beta, options.epsilon
        )
        single = len(currents) <= CHECKPOINT_STEPS  # the only checkpoint is the state at rest
        neuron = replace(options.neuron, checkpoints=options.neuron.checkpoints and not single)
        spikes, final_state, _, checkpoints = run_forward(
            neuron, currents.flatten(2), None, scale, shift
        )
        if options.neuron.checkpoints:
            checkpoints = (
                final_state.new_zeros(1).expand(1, *final_state.shape) if single else checkpoints
            )
            source = (
                found.fields
                if found is not None
                else bits.pack(pixels.flatten(2), 1)
                if options.packs
                else x
            )
            saved_currents = None if options.drops_currents(weight) else currents
            ctx.save_for_backward(
                source, weight, bias, gamma, beta, mean, variance, saved_currents, checkpoints
            )
        return spikes.view(currents.shape).permute(0, 1, 4, 2, 3), mean, variance

    @staticmethod
    def backward(ctx, grad_spikes, *_):
        if torch.is_grad_enabled():
            raise no_second_derivative("ConvLIF")
        source, weight, bias, gamma, beta, mean, variance, currents, checkpoints = ctx.saved_tensors
        options, (x, shape), (needs_x, needs_weight, needs_bias, *_) = (
            ctx.options,
            ctx.shapes,
            ctx.needs_input_grad,
        )
        if options.planned is not None:
            found = options.planned.backward(
                currents, pixels_last(grad_spikes), bias, gamma, beta, mean, variance
            )
            g, by_weight, by_x = found.currents, None, None
            if needs_weight:
                inputs = pixels_last(source) if ctx.spikes is None else ctx.spikes.of(source)
                by_weight = options.taps.whole(options.by_weight(g, inputs, weight), ctx.weight)
            if needs_x:
                by_x = options.by_input(g, x[2:], weight)
                # Torch copies the gradient of a leaf into the layout of the leaf.
                by_x = channels_first(by_x) if ctx.first else by_x.permute(0, 1, 4, 2, 3)
            return by_x, by_weight, found.bias, found.gamma, found.beta, None
        scale, shift, center = _rows(
            shape, mean, variance, gamma, bias if mean is None else beta, options.epsilon
        )
        rows = {"scale": scale, "shift": shift, "center": center}
        scans = Scans(
            options,
            source if ctx.spikes is None else ctx.spikes.of(source),
            weight,
            currents,
            x,
            shape,
            pixels_last(grad_spikes).flatten(2),
            checkpoints,
            rows,
        )
        by_gamma = by_beta = by_bias = None
        if mean is not None:
            sums = scans.sums().unflatten(2, shape[2:]).flatten(1, 3)
            # Only the shape is read.
            numbers = weight.new_empty(1).expand(shape[0], shape[1:4].numel(), shape[4])
            by_gamma, by_beta, *mixed = statistics.gradients(
                numbers, 2, *sums, variance, gamma, options.epsilon, True
            )
            del sums
            scans.rows |= {
                "mix_error": scale,
                **{key: _wide(row[0], shape) for key, row in zip(MIXED, mixed, strict=True)},
            }
        by_x, by_weight, errors = scans.gradients(needs_x, needs_weight, needs_bias)
        if errors is not None:
            by_bias = (
                errors.unflatten(1, shape[2:]).sum((0, 1, 2), dtype=torch.float64).to(errors.dtype)
            )
        return (
            None if by_x is None else by_x.permute(0, 1, 4, 2, 3),
            None if by_weight is None else options.taps.whole(by_weight, ctx.weight),
            by_bias,
            by_gamma,
            by_beta,
            None,
        )


MIXED = ("mix_current", "mix_constant")


@dataclass
class Scans:
    """The scans of a backward pass, a piece at a time.

    `source` is the input (T, B, C, H, W), its bits, or its spikes; `currents` are those of forward
    (T, B, H', W', C'), or None if they are recomputed. `x` and `shape` are the shapes of input and
    currents, channels last. `grad_spikes` is (T, B, H'·W'·C'); `rows` holds fields of `Backward` by
    name, (B, H'·W'·C').
    """

    options: ConvOptions
    source: Tensor | Spikes
    weight: Tensor
    currents: Tensor | None
    x: torch.Size
    shape: torch.Size
    grad_spikes: Tensor
    checkpoints: Tensor
    rows: dict[str, Tensor | None]

    def sums(self) -> Tensor:
        """Returns `sum_error` and `sum_by_current` of `Backward`, (2, B, H'·W'·C')."""
        sums = self.weight.new_empty(2, self.shape[1], self.shape[2:].numel())
        whole = [(slice(0, self.shape[0]), slice(0, self.shape[1]))]
        pieces = self.options.pieces(self.x, self.weight) if self.currents is None else whole
        carried = self.carried(pieces)
        for steps, items in pieces:
            currents = self.currents_of(steps, items, None)
            self.scan(steps, items, currents, carried, sums[:, items])
        return sums

    def gradients(
        self, needs_x: bool, needs_weight: bool, needs_errors: bool
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Returns gradients by input (T, B, H, W, C) and weight, and Σ_t e (B, H'·W'·C'); None if
        not needed."""
        pieces = self.options.pieces(self.x, self.weight)
        by_x = self.weight.new_empty(self.x) if needs_x and len(pieces) > 1 else None
        by_weight: Tensor | None = None
        errors = (
            self.weight.new_empty(1, self.shape[1], self.shape[2:].numel())
            if needs_errors
            else None
        )
        carried = self.carried(pieces)
        for steps, items in pieces:
            x = self.inputs(steps, items)
            currents = self.currents_of(steps, items, x)
            g = torch.empty_like(currents, memory_format=torch.contiguous_format)
            self.scan(
                steps, items, currents, carried, None if errors is None else errors[:, items], g
            )
            del currents
            if needs_weight:
                part = self.options.by_weight(g, x, self.weight)
                by_weight = part if by_weight is None else by_weight.add_(part)
                del part
            del x  # frees the piece's inputs
            if by_x is not None:
                by_x[steps, items] = self.options.by_input(g, self.x[2:], self.weight, by_x)
            elif needs_x:
                by_x = self.options.by_input(g, self.x[2:], self.weight)
            del g  # before the next piece is allocated
        return by_x, by_weight, None if errors is None else errors[0]

    def carried(self, pieces: list[Piece]) -> Tensor | None:
        """Returns memory for gradients by states between pieces; None if each piece has all
        steps."""
        several = any(steps.start for steps, _ in pieces)
        return self.weight.new_zeros(self.shape[1], self.shape[2:].numel()) if several else None

    def scan(
        self,
        steps: slice,
        items: slice,
        currents: Tensor,
        carried: Tensor | None,
        sums: Tensor | None,
        g: Tensor | None = None,
    ) -> None:
        """Runs one piece backward through the neuron.

        Writes its sums to `sums` (1 or 2, items, …), or adds them if later steps did, writes the
        gradient by its currents (T, items, H', W', C') to `g`, and replaces `carried`, the gradient
        by the state after the piece, by that before it.
        """
        last = steps.stop == self.shape[0]
        part = sums if sums is None or last else torch.empty_like(sums)
        after = None if carried is None else carried[items]
        call = Backward(
            spec=self.options.neuron.spec,
            currents=currents.flatten(2),
            checkpoints=self.checkpoints[
                steps.start // CHECKPOINT_STEPS : -(-steps.stop // CHECKPOINT_STEPS), items
            ],
            grad_spikes=self.grad_spikes[steps, items],
            grad_final=None if after is None else after.clone(),
            grad_state=after,
            grad_currents=None if g is None else g.flatten(2),
            sum_error=None if part is None else part[0],
            sum_by_current=None if part is None or len(part) == 1 else part[1],
            **{name: None if row is None else row[items] for name, row in self.rows.items()},
        )
        run(backends.module(self.options.neuron.backend).backward, call)
        if sums is not None and not last:
            sums += part

    def inputs(self, steps: slice, items: slice) -> Tensor | Spikes:
        """Returns the inputs (T, B, H, W, C) of a piece."""
        if isinstance(self.source, Spikes):
            return self.source.part(steps, items)
        source = self.source[steps, items]
        if not self.options.packs:
            return pixels_last(source)
        x = self.weight.new_empty(*source.shape[:2], self.x[2:].numel())
        bits.unpack(source, 1, x)
        return x.unflatten(2, self.x[2:])

    def currents_of(self, steps: slice, items: slice, x: Tensor | Spikes | None) -> Tensor:
        """Returns the currents (T, B, H', W', C') of a piece; x holds its inputs, or is None."""
        if self.currents is not None:
            return self.currents[steps, items]
        return self.options.currents(self.inputs(steps, items) if x is None else x, self.weight)


def _images(x: Tensor) -> Tensor:
    """Returns (T·B, C, H, W) of (T, B, H, W, C)."""
    return x.flatten(0, 1).permute(0, 3, 1, 2)


def _wide(of_channels: Tensor, shape: torch.Size) -> Tensor:
    """Returns (B, H'·W'·C') of one number for each channel: one long row for the neuron's
    kernel."""
    _, batch, height, width, _ = shape
    return of_channels.expand(height * width, -1).reshape(1, -1).expand(batch, -1)


def _rows(
    shape: torch.Size,
    mean: Tensor | None,
    variance: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    epsilon: float | None,
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Returns scale, shift and mean as `_wide` rows; without a norm the bias alone."""
    if mean is None or variance is None or epsilon is None:
        return None, None if bias is None else _wide(bias, shape), None
    scale, shift = statistics.scale_and_shift(mean, variance, weight, bias, epsilon)
    return _wide(scale, shape), _wide(shift, shape), _wide(mean, shape)
