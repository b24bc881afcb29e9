"""A convolution or a linear layer, batch normalisation and the neuron as modules for any torch
model."""

import torch
from torch import Tensor

from ..batch_norm_lif.module import BatchNormLIF
from ..lif.autograd import suffices
from ..lif.functional import cached_options, lif
from ..plans import CallPlans
from ..spec import NeuronSpec
from ..spike_marks import mark, most_spikes
from .alone import Conv2d
from .autograd import ConvNeuron, ConvOptions
from .strides import taps_inside

Size = int | tuple[int, int]


class ConvLIF(torch.nn.Module):
    """A convolution over T·B images, optional batch normalisation, and the neuron.

    Maps (T, B, inputs, H, W) to spikes (T, B, outputs, H', W'). The first arguments are those of
    `nn.Conv2d`.

    norm          normalise over all steps, items and pixels, as `BatchNormLIF` does, with `eps` and
                  `momentum`.
    recompute     save memory between forward and backward: recompute currents of few products, and
                  run backward on a few sequences at a time.
    backend       as for `lif`.

    The module has an `nn.Conv2d` as `conv` and a `BatchNormLIF` or None as `norm`, and loads their
    `state_dict`. Outputs and gradients equal those of the separate layers. Eager float32 calls on
    CPUs run fused, skip the zeros of input spikes, save them in bits and return channels-last
    spikes; other calls, and `eval` mode with a norm, run
    layer by layer and ignore `recompute`. `.to(memory_format=torch.channels_last)` saves the copies
    of weight and gradient in fused calls. A strided 1 × 1 convolution of such spikes must be
    `conv_lif.alone.Conv2d`. Raises the errors of `nn.Conv2d`, `BatchNormLIF` and `lif`.

    Example:

        >>> layer = ConvLIF(3, 64, 3, padding=1, bias=False, spec=NeuronSpec("hard"), norm=True)
        >>> layer(torch.randn(10, 16, 3, 32, 32)).shape
        torch.Size([10, 16, 64, 32, 32])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        bias: bool = True,
        spec: NeuronSpec | None = None,
        *,
        norm: bool = False,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        recompute: bool = False,
        backend: str | None = None,
    ):
        super().__init__()
        self.spec, self.recompute, self.backend = spec or NeuronSpec(), recompute, backend
        self._plans = CallPlans[ConvOptions]()
        self.conv = Conv2d(in_channels, out_channels, kernel_size, stride, padding, bias=bias)
        self.norm = (
            BatchNormLIF(out_channels, self.spec, eps, momentum, backend=backend) if norm else None
        )

    def forward(self, x: Tensor) -> Tensor:
        conv, norm = self.conv, self.norm
        if x.dim() == 5 and _fuses(x, conv.weight, conv.bias, norm):
            window = conv.stride, conv.padding
            return _fused(self, x, conv.weight, conv.bias, norm, *window)
        currents = conv(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return (
            lif(currents, self.spec, backend=self.backend).spikes
            if norm is None
            else norm(currents)
        )


class LinearNormLIF(torch.nn.Module):
    """A linear layer over T·B rows, batch normalisation, and the neuron: (T, B, inputs) → spikes
    (T, B, outputs).

    The module has an `nn.Linear` as `linear` and a `BatchNormLIF` as `norm`, and loads their
    `state_dict`. Outputs and gradients equal those of the separate layers. Where a `ConvLIF` with a
    norm runs fused, so does this: it skips the zeros of input spikes and saves them in bits. The
    other arguments are those of `ConvLIF`.

    Example:

        >>> layer = LinearNormLIF(700, 128, bias=False, spec=NeuronSpec("hard"))
        >>> layer(torch.randn(10, 16, 700)).shape
        torch.Size([10, 16, 128])
    """

    recompute = False

    def __init__(
        self,
        inputs: int,
        outputs: int,
        bias: bool = True,
        spec: NeuronSpec | None = None,
        *,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        backend: str | None = None,
    ):
        super().__init__()
        self.spec, self.backend = spec or NeuronSpec(), backend
        self._plans = CallPlans[ConvOptions]()
        self.linear = torch.nn.Linear(inputs, outputs, bias=bias)
        self.norm = BatchNormLIF(outputs, self.spec, eps, momentum, backend=backend)

    def forward(self, x: Tensor) -> Tensor:
        linear, norm = self.linear, self.norm
        if x.dim() != 3 or not _fuses(x, linear.weight, linear.bias, norm):
            return norm(linear(x))
        # A row is an image of one pixel.
        weight = linear.weight.view(*linear.weight.shape, 1, 1)
        window = (1, 1), (0, 0)
        spikes = _fused(self, x.view(*x.shape, 1, 1), weight, None, norm, *window).flatten(2)
        mark(spikes, self.spec.max_spikes)
        return spikes


def _fuses(x: Tensor, weight: Tensor, bias: Tensor | None, norm: BatchNormLIF | None) -> bool:
    """Returns True if `ConvNeuron` supports the call."""
    tensors = [x, weight]
    if bias is not None:
        tensors.append(bias)
    if norm is not None:
        if not norm.training or norm.process_group or bias is not None or x.shape[:2].numel() < 2:
            return False
        tensors += norm.weight, norm.bias
    plain = all(t.dtype == torch.float32 and t.device.type == "cpu" for t in tensors)
    return plain and x.numel() > 0 and suffices(tensors) and not torch.is_autocast_enabled("cpu")


def _fused(
    layer: ConvLIF | LinearNormLIF,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    norm: BatchNormLIF | None,
    stride: tuple[int, int],
    padding: tuple[int, int],
) -> Tensor:
    """Returns the spikes (T, B, C', H', W') of images x (T, B, C, H, W)."""
    tensors: tuple[Tensor | None, ...] = (x, weight, bias, None, None)
    epsilon, most = None, most_spikes(x)
    if norm is not None:
        tensors, epsilon = (x, weight, bias, norm.weight, norm.bias), norm.eps
    needed = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)
    taps = taps_inside(weight.shape[2:], x.shape[3:], stride, padding)
    window = stride, taps, epsilon, layer.recompute, most
    kind = (x.shape, weight.shape, stride, padding, *window[2:], needed, torch.get_num_threads())
    if kind not in layer._plans:
        infos = ((x.shape, x.dtype, x.device), None, None, None)
        neuron = cached_options((layer.spec, 2, infos, None, False, needed, layer.backend))
        options = ConvOptions(neuron, *window)
        layer._plans[kind] = options.plan(x.shape, taps.of(weight), bias is not None)
    spikes, mean, variance = ConvNeuron.apply(*tensors, layer._plans[kind])
    if norm is not None and norm.track_running_stats:
        norm.update_statistics(mean, variance, spikes.numel() // norm.num_features)
    mark(spikes, layer.spec.max_spikes)
    return spikes
