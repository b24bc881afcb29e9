"""Batch normalisation and neuron as one operator: Algorithms 1 to 4 of Liang et al. (DATE 2022), for any neuron here.

Normalised currents are never stored: with the batch's mean μ and r = 1/√(variance + ε) of a channel, the neuron's own
scale and shift are γ·r and β − μ·γ·r. Backward scans twice, and keeps only the input x for it:

    scan 1    dβ = Σ e,  dγ = r·Σ e·(x − μ)                      e: gradient by the normalised current
    scan 2    dx = γ·r·(e − dβ/m − (x − μ)·r·dγ/m)               m: numbers a channel

Bytes an element, float32: forward 4 (statistics) + 8, backward 8 + 12; storing e instead would cost 24 in backward.
"""

from dataclasses import replace

import torch
from torch import Tensor

from ..lif import backends
from ..lif.contract import Backward
from ..lif.functional import LIFOutput, asked, lif, options_of
from ..lif.operator import Options, allocate, or_empty, over_channel, run, run_forward, state_dtype, sum_to_channel
from ..register import no_second_derivative, register
from ..spec import NeuronSpec
from ..spike_marks import mark

PIECE = 1 << 20
"""Numbers of a short format that are widened at a time for the statistics."""


def batch_statistics(x: Tensor, channel_dim: int) -> tuple[Tensor, Tensor]:
    """Mean and biased variance (C,) over all other dims, in float32 (float64 for float64)."""
    others = [d for d in range(x.dim()) if d != channel_dim % x.dim()]
    if x.dtype in (torch.float32, torch.float64):
        variance, mean = torch.var_mean(x, others, correction=0)
        return mean, variance
    count, mean, squares = 0, 0.0, 0.0  # pieces of time steps, merged as Chan et al. do
    steps = max(1, PIECE * len(x) // max(1, x.numel()))
    for piece in x.split(steps):
        variance, middle = torch.var_mean(piece.float(), others, correction=0)
        here = piece.numel() // piece.shape[channel_dim]
        apart, total = middle - mean, count + here
        mean = mean + apart * (here / total)
        squares = squares + variance * here + apart**2 * (count * here / total)
        count = total
    return mean, squares / count


def _scale_and_shift(mean, variance, weight, bias, epsilon):
    scale = torch.rsqrt(variance + epsilon)
    scale = scale if weight is None else weight.to(scale.dtype) * scale
    shift = -mean * scale
    return scale, shift if bias is None else bias.to(shift.dtype) + shift


def _batch_norm_lif(currents, state, weight, bias, epsilon, *options):
    """(spikes, final state, trace, checkpoints, mean, biased variance)."""
    told = Options.of(*options)
    mean, variance = batch_statistics(currents, told.channel_dim)
    scale, shift = _scale_and_shift(mean, variance, weight, bias, epsilon)
    return or_empty((*run_forward(told, currents, state, scale, shift), mean, variance), currents)


def _forward_fake(currents, state, weight, bias, epsilon, *options):
    told = Options.of(*options)
    channel = currents.new_empty((currents.shape[told.channel_dim],), dtype=state_dtype(currents.dtype))
    return or_empty((*allocate(currents, told), channel, torch.empty_like(channel)), currents)


def _batch_norm_lif_backward(
    currents, weight, bias, mean, variance, checkpoints, grad_spikes, grad_trace, grad_final, epsilon, needed, *options
):
    """Gradients by currents (empty unless `needed`), state, weight and bias."""
    told = Options.of(*options)
    kernel, channel_dim = backends.module(told.backend).backward, told.channel_dim
    scale, shift = _scale_and_shift(mean, variance, weight, bias, epsilon)
    grad_currents, grad_state, by_current, error = _allocate_gradients(currents, needed)
    sums = Backward(
        spec=told.spec,
        currents=currents,
        scale=over_channel(scale, currents, channel_dim),
        shift=over_channel(shift, currents, channel_dim),
        checkpoints=checkpoints,
        grad_spikes=grad_spikes,
        grad_trace=grad_trace,
        grad_final=grad_final,
        center=over_channel(mean, currents, channel_dim),
        mix=None,
        grad_currents=None,
        grad_state=grad_state,
        sum_error=error,
        sum_by_current=by_current,
    )
    run(kernel, sums)
    grad_bias, by_current = sum_to_channel(error, channel_dim), sum_to_channel(by_current, channel_dim)
    rate = torch.rsqrt(variance + epsilon)
    if needed:
        count = max(1, currents.numel() // max(1, currents.shape[channel_dim]))
        mix = (scale, -scale * rate**2 * by_current / count, -scale * grad_bias / count)
        mix = tuple(over_channel(m, currents, channel_dim) for m in mix)
        run(kernel, replace(sums, mix=mix, grad_currents=grad_currents, grad_state=None, sum_error=None, sum_by_current=None))
    return grad_currents, grad_state, by_current * rate, grad_bias


def _allocate_gradients(currents: Tensor, needed: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    inner = [currents.new_empty(currents.shape[1:], dtype=state_dtype(currents.dtype)) for _ in range(3)]
    return torch.empty_like(currents) if needed else currents.new_empty(0), *inner


def _backward_fake(currents, weight, bias, mean, variance, checkpoints, gs, gv, gf, epsilon, needed, *options):
    grad_currents, grad_state, _, _ = _allocate_gradients(currents, needed)
    return grad_currents, grad_state, torch.empty_like(mean), torch.empty_like(mean)


def _setup_context(ctx, inputs, output):
    currents, _, weight, bias, epsilon, *options = inputs
    ctx.save_for_backward(currents, weight, bias, output[4], output[5], output[3])
    ctx.set_materialize_grads(False)
    ctx.epsilon, ctx.options, ctx.needed = epsilon, options, [t is not None and t.requires_grad for t in inputs[:4]]
    ctx.mark_non_differentiable(*output[3:], *([] if output[0].is_floating_point() else [output[0]]))


def _backward(ctx, grad_spikes, grad_final, grad_trace, *_):
    saved, traced = ctx.saved_tensors, Options.of(*ctx.options).trace
    upstream = (grad_spikes, grad_trace if traced else None, grad_final)
    found = batch_norm_lif_backward_op(*saved, *upstream, ctx.epsilon, ctx.needed[0], *ctx.options)
    return *(g if wanted else None for g, wanted in zip(found, ctx.needed, strict=True)), *[None] * 4


batch_norm_lif_op = register(
    "batch_norm_lif",
    "(Tensor currents, Tensor? state, Tensor? weight, Tensor? bias, float epsilon, str neuron, int channel_dim, str more)"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    (_batch_norm_lif, _forward_fake, _backward, _setup_context),
)
batch_norm_lif_backward_op = register(
    "batch_norm_lif_backward",
    "(Tensor currents, Tensor? weight, Tensor? bias, Tensor mean, Tensor variance, Tensor checkpoints, Tensor? grad_spikes,"
    " Tensor? grad_trace, Tensor? grad_final, float epsilon, bool needed, str neuron, int channel_dim, str more)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    (_batch_norm_lif_backward, _backward_fake, no_second_derivative, lambda ctx, inputs, output: None),
)


class BatchNormLIF(torch.nn.modules.batchnorm._BatchNorm):
    """Currents (T, B, C, …) → spikes of that shape: BatchNorm over (T, B, …) and the neuron, as one operator.

    Equal to `nn.BatchNorm` on (T·B, C, …) followed by `LIF`, in outputs, gradients and running statistics, and takes
    its `state_dict`. In `eval` the running statistics are the neuron's scale and shift. `options` are those of `LIF`.
    """

    def __init__(
        self,
        num_features: int,
        spec: NeuronSpec | None = None,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        channel_dim: int = 2,
        spikes_dtype=None,
        return_state: bool = False,
        trace: bool = False,
        backend: str | None = None,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        self.spec, self.channel_dim, self.return_state = spec or NeuronSpec(), channel_dim, return_state
        self.options = {"spikes_dtype": spikes_dtype, "trace": trace, "backend": backend}

    def forward(self, currents: Tensor, state: Tensor | None = None) -> Tensor | LIFOutput:
        if currents.shape[self.channel_dim] != self.num_features:
            shape, wanted = tuple(currents.shape), f"{self.num_features} channels in dim {self.channel_dim}"
            raise ValueError(f"currents {shape} need {wanted}")
        if not currents.numel():  # nothing to learn from
            channels = {"scale": self.weight, "shift": self.bias, "channel_dim": self.channel_dim}
            out = lif(currents, self.spec, state=state, **channels, **self.options)
        elif self.training or self.running_mean is None:
            out = self._normalised_by_the_batch(currents, state)
        else:
            mean, variance = self.running_mean, self.running_var
            scale, shift = _scale_and_shift(mean, variance, self.weight, self.bias, self.eps)
            channels = {"scale": scale, "shift": shift, "channel_dim": self.channel_dim}
            out = lif(currents, self.spec, state=state, **channels, **self.options)
        return out if self.return_state or self.options["trace"] else out.spikes

    def _normalised_by_the_batch(self, currents, state):
        if currents.numel() == self.num_features:
            raise ValueError(f"training needs more than one value a channel, currents are {tuple(currents.shape)}")
        tensors = (currents, state, self.weight, self.bias)
        options = options_of(*asked(tensors, self.spec, self.channel_dim, **self.options))
        spikes, final, trace, _, mean, variance = batch_norm_lif_op(*tensors, self.eps, *options.arguments())
        if self.training and self.track_running_stats:
            self._remember(mean.detach(), variance.detach(), currents.numel() // self.num_features)
        if options.spikes != "bits":
            mark(spikes, self.spec.max_spikes)
        return LIFOutput(spikes, final, trace if options.trace else None)

    @torch.no_grad()
    def _remember(self, mean, variance, count):
        """The running statistics of `nn.BatchNorm`, whose variance is the unbiased one."""
        self.num_batches_tracked.add_(1)
        rate = 1.0 / self.num_batches_tracked if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), rate)
        self.running_var.lerp_((variance * (count / (count - 1))).to(self.running_var.dtype), rate)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, {self.spec.label()}"
