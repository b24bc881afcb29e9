"""The fused neuron with a learned decay under currents of short formats."""

import pytest
import torch

from snnbench.kernels import LIF, NeuronSpec


@pytest.mark.parametrize("backend", ["reference", "cpp"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("reset", ["soft", "hard", "none"])
def test_the_decay_has_the_gradient_of_the_same_currents_in_float32(reset, dtype, backend):
    """Potentials next to the threshold, which a short format would round up to it."""
    random = torch.Generator().manual_seed(3)
    currents = (1.02 * torch.rand(37, 3, 97, generator=random)).to(dtype)
    upstream = torch.randint(-1, 2, currents.shape, generator=random).float()
    spec = NeuronSpec(reset, decay=0.5, learned_decay="sigmoid")
    found = []
    for given in (currents.requires_grad_(), currents.detach().float().requires_grad_()):
        neuron = LIF(spec, backend=backend)
        (neuron(given).float() * upstream).sum().backward()
        assert given.grad.dtype == given.dtype
        found.append((neuron.decay.grad, given.grad))
    (by_decay, by_currents), (right, exact) = found
    assert float(abs(by_decay - right) / abs(right)) < 1e-5
    assert torch.equal(by_currents, exact.to(dtype))
