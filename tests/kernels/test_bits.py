"""Spikes in bits: the compiled way stores what torch's calls store."""

import pytest
import torch

from snnbench.kernels import bits


@pytest.mark.parametrize("shape", [(5, 3, 64), (37, 8), (3, 13), (2, 0), (1, 70_000)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.uint8])
def test_what_is_packed_comes_back(shape, dtype):
    spikes = (torch.rand(shape, generator=torch.Generator().manual_seed(0)) < 0.3).to(dtype)
    stored, found = bits.pack(spikes, 1), torch.full(shape, 9, dtype=dtype)
    assert stored.shape == bits.packed_like(spikes, 1).shape
    bits.unpack(stored, 1, found)
    assert torch.equal(found, spikes)


def test_both_ways_store_the_same_bytes(monkeypatch):
    numbers = torch.tensor([1.0, 0.0, -0.0, float("nan"), 2.0, -1.0, 1e-40, 0.0]).repeat(9, 5)
    compiled = bits.pack(numbers, 1)
    strided = torch.stack([compiled, compiled], -1)[..., 0]
    back = torch.empty(9, 40)
    bits.unpack(strided, 1, back)
    monkeypatch.setattr(bits, "_compiled", lambda spikes: False)
    assert torch.equal(bits.pack(numbers, 1), compiled)
    assert torch.equal(back, (numbers != 0).float())
