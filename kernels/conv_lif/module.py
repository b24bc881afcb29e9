"""A convolution, batch normalisation and the neuron as a module for any torch model."""

import torch
from torch import Tensor

from ..batch_norm_lif.module import BatchNormLIF
from ..lif.autograd import suffices
from ..lif.functional import cached_options, lif
from ..spec import NeuronSpec
from ..spike_marks import mark, most_spikes
from .autograd import ConvNeuron, ConvOptions
from .strides import Conv2d, taps_inside

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
    layer by layer and ignore `recompute`. A strided 1 × 1 convolution of such spikes must be
    `conv_lif.strides.Conv2d`. Raises the errors of `nn.Conv2d`, `BatchNormLIF` and `lif`.

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
        self.conv = Conv2d(in_channels, out_channels, kernel_size, stride, padding, bias=bias)
        self.norm = (
            BatchNormLIF(out_channels, self.spec, eps, momentum, backend=backend) if norm else None
        )

    def forward(self, x: Tensor) -> Tensor:
        if self._fuses(x):
            return self._fused(x)
        currents = self.conv(x.flatten(0, 1)).unflatten(0, x.shape[:2])
        return (
            lif(currents, self.spec, backend=self.backend).spikes
            if self.norm is None
            else self.norm(currents)
        )

    def _fuses(self, x: Tensor) -> bool:
        """Returns True if `ConvNeuron` supports the call."""
        tensors = (x, *self.parameters())
        plain = all(
            t.dtype == torch.float32 and t.device.type == "cpu" for t in tensors
        ) and not torch.is_autocast_enabled("cpu")
        images = x.dim() == 5 and x.numel() > 0 and suffices(tensors)
        norm, steps = self.norm, x.shape[:2].numel()
        normed = norm is None or (
            norm.training and norm.process_group is None and self.conv.bias is None and steps > 1
        )
        return plain and images and normed

    def _fused(self, x: Tensor) -> Tensor:
        conv, norm = self.conv, self.norm
        gamma, beta, epsilon = (
            (None, None, None) if norm is None else (norm.weight, norm.bias, norm.eps)
        )
        weight, padding = taps_inside(conv.weight, x.shape[3:], conv.stride, conv.padding)
        tensors = (x, weight, conv.bias, gamma, beta)
        needed = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors)
        infos = ((x.shape, x.dtype, x.device), None, None, None)
        neuron = cached_options((self.spec, 2, infos, None, False, needed, self.backend))
        options = ConvOptions(neuron, conv.stride, padding, epsilon, self.recompute, most_spikes(x))
        spikes, mean, variance = ConvNeuron.apply(*tensors, options)
        if norm is not None and norm.track_running_stats:
            norm.update_statistics(mean, variance, spikes.numel() // norm.num_features)
        mark(spikes, self.spec.max_spikes)
        return spikes
