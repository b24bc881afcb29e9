"""Problems of a linear layer with currents that are exact in float32, and what LinearLIF must
compute of them."""

import copy
import math
from dataclasses import dataclass, field

import torch

from snnbench.kernels import LinearLIF, NeuronSpec
from snnbench.kernels.lif import lif


@dataclass(frozen=True)
class Problem:
    """Weights are multiples of 2^-10: sums of spikes are the same in any order, so neurons get
    the same currents."""

    steps: int = 37
    batch: int = 3
    inputs: int = 97
    neurons: int = 45
    rate: float = 0.15
    counts: int = 1
    bias: bool = True
    spec: NeuronSpec = field(default_factory=NeuronSpec)
    dtype: torch.dtype = torch.float32
    seed: int = 0

    def layer(self, **options) -> LinearLIF:
        made = LinearLIF(
            self.inputs,
            self.neurons,
            self.bias,
            self.spec,
            input="spikes",
            input_counts=self.counts,
            **options,
        )
        generator = torch.Generator().manual_seed(self.seed)
        scale = 1.5 / math.sqrt(self.inputs * self.rate) / (1 + self.counts / 4)
        with torch.no_grad():
            for p in made.parameters():
                p.copy_((torch.randn(p.shape, generator=generator) * scale * 1024).round() / 1024)
        return made.to(self.dtype)

    def input(self) -> torch.Tensor:
        generator = torch.Generator().manual_seed(self.seed + 1)
        shape = (self.steps, self.batch, self.inputs)
        fired = torch.rand(shape, generator=generator) < self.rate
        return (fired * torch.randint(1, self.counts + 1, shape, generator=generator)).to(
            self.dtype
        )

    def upstream(self) -> torch.Tensor:
        return torch.randn(
            self.steps,
            self.batch,
            self.neurons,
            generator=torch.Generator().manual_seed(self.seed + 2),
        )


def results(layer: LinearLIF, x: torch.Tensor, upstream: torch.Tensor) -> dict[str, torch.Tensor]:
    """Spikes and gradients."""
    layer = copy.deepcopy(layer)
    x = x.detach().requires_grad_()
    spikes = layer(x)
    spikes.backward(upstream.to(spikes.dtype))
    by_bias = {} if layer.linear.bias is None else {"bias": layer.linear.bias.grad}
    return {
        "spikes": spikes.detach(),
        "input": x.grad,
        "weight": layer.linear.weight.grad,
        **by_bias,
    }


def expected(
    layer: LinearLIF, x: torch.Tensor, upstream: torch.Tensor, absolute: bool = False
) -> dict[str, torch.Tensor]:
    """The same from the reference's neuron on exact currents, with float64 products; if
    `absolute`, of absolute values."""
    weight = layer.linear.weight.detach()
    currents = (x.double() @ weight.double().t()).float().requires_grad_()
    shift = (
        None if layer.linear.bias is None else layer.linear.bias.detach().float().requires_grad_()
    )
    spikes = lif(currents, layer.spec, shift=shift, backend="reference").spikes
    spikes.backward(upstream)
    factors = [
        t.abs() if absolute else t for t in (currents.grad.double(), x.double(), weight.double())
    ]
    return {"spikes": spikes.detach(), **products(*factors, shift is not None)}


def products(
    e: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, bias: bool
) -> dict[str, torch.Tensor]:
    """Gradients of the errors e (T, B, N)."""
    by_bias = {"bias": e.sum((0, 1))} if bias else {}
    return {"input": e @ weight, "weight": e.flatten(0, 1).t() @ x.flatten(0, 1), **by_bias}


def check(layer: LinearLIF, x: torch.Tensor, upstream: torch.Tensor) -> dict[str, torch.Tensor]:
    """Raises AssertionError unless spikes have the same bits and gradients are within
    1e-6·max(1, √(T·B/4096)), or where all but nothing is left of a sum, within one rounding of
    its terms."""
    actual, right = results(layer, x, upstream), expected(layer, x, upstream)
    terms = expected(layer, x, upstream, absolute=True)
    assert torch.equal(actual["spikes"].float(), right["spikes"]), "spikes differ"
    limit = 1e-6 * max(1, math.sqrt(x.shape[0] * x.shape[1] / 4096))
    for name in right.keys() - {"spikes"}:
        difference = float((actual[name].double() - right[name]).norm())
        allowed = max(limit * float(right[name].norm()), 2.0**-23 * float(terms[name].norm()))
        assert difference <= allowed, f"gradient by {name}"
    return actual
