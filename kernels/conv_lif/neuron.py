"""Norm and neuron behind a convolution, planned once for all calls of a shape: a few compiled
functions with the numbers that calls share.

In small layers, what calls of torch take beside their computation is most of the time. Results have
the bits of `batch_norm_lif` and `lif`.
"""

from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from ..batch_norm_lif import compiled
from ..lif.cpu import launch
from ..spec import NeuronSpec

Strides = dict[str, tuple[int, ...]]
FLOAT = 4
"""Bytes of a number."""


@dataclass
class Gradients:
    """Gradients by the currents (T, B, H, W, C), and by bias, norm's weight and norm's bias (C,);
    None if there is none."""

    currents: Tensor
    bias: Tensor | None = None
    gamma: Tensor | None = None
    beta: Tensor | None = None


class PlannedNeuron:
    """The neuron of contiguous float32 currents (T, B, H, W, C), behind a norm with `epsilon` or a
    bias. Its state is saved at rest alone, so that T may not exceed CHECKPOINT_STEPS."""

    def __init__(
        self, spec: NeuronSpec, shape: tuple[int, ...], epsilon: float | None, biased: bool
    ):
        steps, batch, height, width, channels = self.shape = shape
        self.epsilon, self.pixels, self.row = epsilon, height * width, height * width * channels
        self.channels, self.batch = channels, batch
        sequence, whole = (steps, batch, self.row), (batch * self.row, self.row, 1)
        inner, repeated = (self.row, 1), (0, 1)
        affine: Strides = {} if epsilon is None else {"scale": repeated}
        affine |= {"shift": repeated} if biased or epsilon is not None else {}
        self.forwards = launch.planned(
            "lif_forward",
            spec,
            sequence,
            {"currents": whole, "spikes": whole, "final_state": inner, **affine},
        )
        read: Strides = {
            "currents": whole,
            "grad_spikes": whole,
            "checkpoints": (0, 0, 0),
            **affine,
        }
        self.rest = torch.zeros(1, dtype=torch.float32, device="cpu")
        if epsilon is None:
            errors: Strides = {"sum_error": inner} if biased else {}
            self.backwards = launch.planned(
                "lif_backward", spec, sequence, {**read, **errors, "grad_currents": whole}
            )
            return
        centered = {**read, "center": repeated}
        summed = {"sum_error": inner, "sum_by_current": inner}
        self.backwards = launch.planned(
            "lif_backward", spec, sequence, {**centered, **summed, "grad_currents": whole}
        )
        most = torch.get_num_threads()
        self.functions, of_all = compiled.library(torch.float32), prod(shape)
        threads = min(most, 1 + of_all // launch.GRAIN)
        self.of_statistics = compiled.size_of(threads, of_all // channels, channels, 1)
        threads = min(most, 1 + batch * self.row // launch.GRAIN)
        self.of_sums = compiled.size_of(threads, batch * self.pixels, channels, 1, self.pixels)
        threads = min(most, 1 + of_all // launch.GRAIN)
        self.of_mixing = compiled.size_of(threads, steps * batch, channels, 1, self.pixels)
        self.numbers = of_all / channels

    def forward(
        self, currents: Tensor, bias: Tensor | None, gamma: Tensor | None, beta: Tensor | None
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Returns spikes (T, B, H, W, C), and the norm's mean and biased variance (C,)."""
        spikes, state = torch.empty_like(currents), currents.new_empty(self.batch * self.row)
        arrays = currents.data_ptr(), spikes.data_ptr(), state.data_ptr()
        if self.epsilon is None:
            shift = self._repeated(bias)
            self.forwards(*arrays, *([] if shift is None else [shift.data_ptr()]))
            return spikes, None, None
        mean, variance = statistics = currents.new_empty(2, self.channels)
        of_mean = statistics.data_ptr()
        self.functions.norm_statistics(
            self.of_statistics, arrays[0], of_mean, of_mean + FLOAT * self.channels
        )
        rows = self._rows(mean, variance, gamma, beta)
        self.forwards(*arrays, rows.data_ptr(), rows.data_ptr() + FLOAT * self.row)
        return spikes, mean, variance

    def backward(
        self,
        currents: Tensor,
        grad_spikes: Tensor,
        bias: Tensor | None,
        gamma: Tensor | None,
        beta: Tensor | None,
        mean: Tensor | None,
        variance: Tensor | None,
    ) -> Gradients:
        """Returns gradients from contiguous `grad_spikes` (T, B, H, W, C) and what `forward` read
        and returned."""
        g = torch.empty_like(currents)
        read = currents.data_ptr(), grad_spikes.data_ptr(), self.rest.data_ptr()
        if mean is None or variance is None:
            shift = self._repeated(bias)
            if shift is None:
                self.backwards(*read, g.data_ptr())
                return Gradients(g)
            errors = g.new_empty(self.batch * self.row)
            self.backwards(*read, shift.data_ptr(), errors.data_ptr(), g.data_ptr())
            by_bias = errors.view(-1, self.channels).sum(0, dtype=torch.float64)
            return Gradients(g, by_bias.to(torch.float32))
        rows = self._rows(mean, variance, gamma, beta)
        scale, shift, center = (rows.data_ptr() + i * FLOAT * self.row for i in range(3))
        sums, mixed = g.new_empty(2, self.batch * self.row), g.new_empty(2, self.row)
        errors, by_current = sums.data_ptr(), sums.data_ptr() + FLOAT * self.batch * self.row
        self.backwards(*read, scale, shift, center, errors, by_current, g.data_ptr())
        by_gamma, by_beta = g.new_empty(self.channels), g.new_empty(self.channels)
        mix_current, mix_constant = mixed.data_ptr(), mixed.data_ptr() + FLOAT * self.row
        self.functions.norm_gradients(
            *(self.of_sums, errors, by_current, variance.data_ptr(), _address(gamma)),
            *(by_gamma.data_ptr(), by_beta.data_ptr(), mix_current, self.epsilon, self.numbers),
        )
        self.functions.norm_mix(
            *(self.of_mixing, read[0], center, mix_current, mix_constant, g.data_ptr())
        )
        return Gradients(g, None, by_gamma, by_beta)

    def _rows(
        self, mean: Tensor, variance: Tensor, gamma: Tensor | None, beta: Tensor | None
    ) -> Tensor:
        """Returns rows of scale, shift and mean, (3, H·W·C)."""
        rows = mean.new_empty(3, self.row)
        addresses = mean.data_ptr(), variance.data_ptr(), _address(gamma), _address(beta)
        self.functions.norm_rows(self.of_sums, *addresses, rows.data_ptr(), self.epsilon)
        return rows

    def _repeated(self, bias: Tensor | None) -> Tensor | None:
        return None if bias is None else bias.expand(self.pixels, -1).reshape(-1)


def _address(parameter: Tensor | None) -> int | None:
    """Returns the address of a contiguous parameter."""
    return None if parameter is None else parameter.data_ptr()
