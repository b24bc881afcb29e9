"""Images between channels first and channels last."""

import pytest
import torch

from snnbench.kernels import ConvLIF
from snnbench.kernels.build import cpp
from snnbench.kernels.conv_lif.layouts import channels_first, pixels_last
from snnbench.kernels.spec import NeuronSpec

SHAPES = [(3, 2, 37, 9, 31), (1, 1, 64, 8, 8), (2, 1, 1, 5, 3), (1, 3, 17, 1, 1), (0, 2, 3, 4, 4)]


def check(shape):
    """Raises AssertionError unless both copies are torch's."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    pixels = pixels_last(x)
    assert pixels.is_contiguous() and torch.equal(pixels, x.permute(0, 1, 3, 4, 2))
    images = channels_first(pixels)
    assert images.is_contiguous() and torch.equal(images, x)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_copies_are_those_of_torch(shape):
    check(shape)


def test_other_instruction_sets(compile_for_other_processor):
    compile_for_other_processor()
    check(SHAPES[0])


def test_other_layouts_and_types_are_torchs():
    x = torch.randn(2, 3, 5, 7, 11)
    for other in (x.double(), x[..., ::2], x[:, :, :0], x.transpose(0, 1)):
        assert torch.equal(pixels_last(other), other.permute(0, 1, 3, 4, 2))
        assert torch.equal(channels_first(other), other.permute(0, 1, 4, 2, 3))


def test_memory_in_the_right_order_is_not_copied():
    x = torch.randn(2, 3, 4, 5, 6)
    assert pixels_last(x.permute(0, 1, 4, 2, 3)).data_ptr() == x.data_ptr()
    assert channels_first(x.permute(0, 1, 3, 4, 2)).data_ptr() == x.data_ptr()


def test_results_do_not_depend_on_the_layout_of_the_input():
    """A gradient in the layout of a leaf is stored by torch as it is, not copied."""
    layer = ConvLIF(37, 19, 3, padding=1, spec=NeuronSpec("hard"))
    spikes = torch.rand(3, 2, 9, 7, 37, generator=torch.Generator().manual_seed(0)) < 0.3
    last = spikes.float().permute(0, 1, 4, 2, 3)
    results = []
    for x in (last.requires_grad_(), last.detach().contiguous().requires_grad_()):
        layer.zero_grad()
        y = layer(x)
        (by_x,) = torch.autograd.grad((y * y.detach().cumsum(0)).sum(), x, retain_graph=True)
        y.backward(torch.ones_like(y))
        assert by_x.stride() == x.stride()
        results.append([y.detach(), by_x, x.grad, *(p.grad.clone() for p in layer.parameters())])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_a_strip_that_is_left_out_is_seen(plant, compiled_anew):
    plant(cpp, "column += STRIP", "column += 2 * STRIP", "layouts.cpp")
    with pytest.raises(AssertionError):
        check(SHAPES[0])
