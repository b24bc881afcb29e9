"""BatchNormLIF with the statistics of several ranks, against one process with the whole batch."""

from itertools import accumulate, pairwise

import pytest
import torch
import torch.distributed as dist
from support.gloo import of_ranks
from support.slow import representatives

from snnbench.kernels import BatchNormLIF, NeuronSpec

T, B, C = 7, 12, 5
PARTS = {2: (7, 5), 3: (5, 0, 7), 4: (1, 4, 6, 1)}


def made(dtype, group=None, backend=None):
    torch.manual_seed(0)
    layer = BatchNormLIF(C, NeuronSpec(), process_group=group, backend=backend).to(dtype)
    with torch.no_grad():
        layer.weight.uniform_(0.5, 1.5)
        layer.bias.normal_()
    return layer


def numbers(dtype, shape=(3, 2)):
    random = torch.Generator().manual_seed(1)
    x, upstream = (
        torch.randn(T, B, C, *shape, generator=random, dtype=torch.float64) for _ in range(2)
    )
    return (3 + 2 * x).to(dtype), upstream.to(dtype)


def called(layer, x, upstream):
    x = x.clone().requires_grad_()
    spikes = layer(x)
    spikes.backward(upstream)
    return {
        "spikes": spikes.detach(),
        "input": x.grad,
        "weight": layer.weight.grad,
        "bias": layer.bias.grad,
        "mean": layer.running_mean,
        "variance": layer.running_var,
    }


def work(rank, count, dtype, own, backend):
    low, high = list(pairwise([0, *accumulate(PARTS[count])]))[rank]
    x, upstream = (array[:, low:high].contiguous() for array in numbers(dtype))
    found = called(made(dtype, None if own else dist.group.WORLD, backend), x, upstream)
    for name in ("weight", "bias"):
        dist.all_reduce(found[name])
    return found


def relative(actual, expected):
    return float((actual.double() - expected.double()).norm() / expected.double().norm())


def errors(parts, whole):
    """Relative L2 of gradients and running statistics, and how many spikes differ."""
    joined = {name: torch.cat([part[name] for part in parts], 1) for name in ("spikes", "input")}
    apart = {
        "spikes": int((joined["spikes"] != whole["spikes"]).sum()),
        "input": relative(joined["input"], whole["input"]),
    }
    return apart | {
        name: relative(parts[0][name], whole[name])
        for name in ("weight", "bias", "mean", "variance")
    }


@pytest.mark.parametrize(
    ("dtype", "backend", "limit"),
    [
        (torch.float64, "reference", 1e-12),
        (torch.float32, None, 4e-6),
        (torch.float32, "reference", 4e-6),
    ],
    ids=str,
)
@pytest.mark.parametrize("count", representatives(PARTS, [1]))
def test_uneven_parts_are_as_one_batch(tmp_path, count, dtype, backend, limit):
    parts = of_ranks(work, count, tmp_path / "ranks", dtype, False, backend)
    found = errors(parts, called(made(dtype, backend=backend), *numbers(dtype)))
    assert found.pop("spikes") == 0
    assert max(found.values()) <= limit, found
    for name in ("weight", "bias", "mean", "variance"):
        assert all(torch.equal(part[name], parts[0][name]) for part in parts), (
            f"{name}: ranks differ"
        )


def test_statistics_of_its_own_are_seen(tmp_path):
    parts = of_ranks(work, 2, tmp_path / "ranks", torch.float64, True, "reference")
    found = errors(parts, called(made(torch.float64), *numbers(torch.float64)))
    assert found["spikes"] > 0 and found["input"] > 1e-2 and found["weight"] > 1e-2
    assert not torch.equal(parts[0]["mean"], parts[1]["mean"])


def test_no_compiler_takes_it():
    layer = made(torch.float32, group=object())
    with pytest.raises(RuntimeError, match="plain eager calls"):
        torch.vmap(layer)(numbers(torch.float32)[0][None])
