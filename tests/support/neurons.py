"""Neurons of every kind, their currents and gradients, for the tests of kernels."""

import torch

from snnbench.kernels import LIF, NEURONS, BatchNormLIF, LinearLIF, NeuronSpec
from snnbench.kernels.lif.operator import NeuronOptions
from snnbench.kernels.spec import SURROGATES

SPEC = NeuronSpec()

RESETS = [
    NeuronSpec("soft"),
    NeuronSpec("soft", detach_reset=True),
    NeuronSpec("hard"),
    NeuronSpec("hard", detach_reset=True),
    NeuronSpec("none"),
    NEURONS["soft-undecayed"],
    NEURONS["hard-straight"],
    NeuronSpec("hard-straight"),
    NeuronSpec("soft", max_spikes=3, threshold=0.4),
    NeuronSpec(threshold=0.4, surrogate="straight-through", max_spikes=3, rounding="nearest"),
]
SURROGATE_SPECS = [NeuronSpec(surrogate=name, slope=1.7) for name in SURROGATES]
# C++ is compiled once for each of these, which is what such a test costs.
KINDS = RESETS + SURROGATE_SPECS[1:]


def label(spec):
    return spec.label()


def currents_of(*shape, seed=0, dtype=torch.float32):
    """Currents that make about one potential in five cross a threshold of 1."""
    generator = torch.Generator().manual_seed(seed)
    return (0.4 * torch.randn(*shape, generator=generator) + 0.1).to(dtype)


def gradients_of(function, *tensors):
    """Outputs of `function`, and the gradients by `tensors` of a seeded weighted sum of all
    differentiable outputs."""
    leaves = [t.detach().clone().requires_grad_() for t in tensors]
    outputs = [o for o in function(*leaves) if o is not None]
    generator = torch.Generator().manual_seed(1)
    floats = [o for o in outputs if o.requires_grad]
    upstream = [
        torch.randn(o.shape, generator=generator, dtype=torch.float64).to(o) for o in floats
    ]
    return outputs, torch.autograd.grad(floats, leaves, upstream)


def relative(actual, expected):
    expected = expected.double()
    return ((actual.double() - expected).norm() / expected.norm().clamp_min(1e-30)).item()


def saved_bytes(module, x):
    """Bytes of all tensors that a call of `module` keeps for its backward."""
    kept = {}

    def keep(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        out = module(x)
    del out
    return sum(kept.values())


def options(backend, spikes="float32", trace=False, channel_dim=-1):
    return NeuronOptions(SPEC, channel_dim, spikes, trace, True, backend).arguments()


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = LinearLIF(9, 13)
        self.second = torch.nn.Linear(13, 5, bias=False)
        self.normalised = BatchNormLIF(5, NeuronSpec("hard", detach_reset=True))
        self.last = LIF(return_state=True)

    def forward(self, x):
        spikes, state, _ = self.last(self.normalised(self.second(self.first(x))))
        return spikes + 0.1 * state
