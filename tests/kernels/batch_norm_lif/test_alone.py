"""Batch normalisation of images without a neuron: torch's, but for statistics that are not rounded
alike for many equal numbers."""

import copy

import pytest
import torch

from snnbench.kernels.batch_norm_lif.alone import BatchNorm2d, Normalised

LAYOUTS = {"last": torch.channels_last, "first": torch.contiguous_format}


def images_of(layout, equal=True):
    """Of 12 images all but two are equal in all pixels of a channel, as behind silent ones."""
    random = torch.Generator().manual_seed(0)
    images = torch.randn(12, 11, 7, 5, generator=random)
    if equal:
        images = 5 * torch.randn(11, 1, 1, generator=random) + images * (
            torch.arange(12) % 7 == 1
        ).view(-1, 1, 1, 1)
    return images.contiguous(memory_format=LAYOUTS[layout])


def norm_of(**how):
    norm = BatchNorm2d(11, **how)
    with torch.no_grad():
        for parameter in norm.parameters():
            parameter.normal_(generator=torch.Generator().manual_seed(1))
    return norm


def results_of(norm, images):
    """Returns output, gradients and running statistics, in float64."""
    x = images.clone().requires_grad_()
    y = norm(x)
    g = torch.randn(y.shape, generator=torch.Generator().manual_seed(2)).to(y)
    gradients = torch.autograd.grad(y, [x, *norm.parameters()], g)
    buffers = [b for b in norm.buffers() if b is not None]
    return [t.detach().double() for t in (y, *gradients, *buffers)]


def relative(actual, expected):
    return ((actual - expected).norm() / expected.norm().clamp_min(1e-30)).item()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("how", [{}, {"affine": False}, {"momentum": None}], ids=str)
def test_all_results_are_those_of_float64(layout, how):
    norm, images = norm_of(**how), images_of(layout)
    exact = torch.nn.BatchNorm2d(11, **how).double()
    exact.load_state_dict(norm.state_dict())
    for actual, expected in zip(
        results_of(norm, images), results_of(exact, images.double()), strict=True
    ):
        assert relative(actual, expected) < 2e-6


@pytest.mark.parametrize("how", ["eval", "double", "first", "compiler"])
def test_other_calls_are_those_of_torch(how, monkeypatch):
    norm, images = norm_of(), images_of("first" if how == "first" else "last", equal=False)
    if how == "double":
        norm, images = norm.double(), images.double()
    if how == "compiler":
        monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    monkeypatch.setattr(Normalised, "apply", None)
    norm.train(how != "eval")
    torchs = torch.nn.BatchNorm2d(11).to(images.dtype).train(norm.training)
    torchs.load_state_dict(copy.deepcopy(norm.state_dict()))
    for actual, expected in zip(results_of(norm, images), results_of(torchs, images), strict=True):
        assert torch.equal(actual, expected)


def test_a_second_derivative_is_refused():
    x = images_of("last").requires_grad_()
    (gradient,) = torch.autograd.grad(norm_of()(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()
