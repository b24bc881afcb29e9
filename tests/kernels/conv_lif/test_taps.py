"""The gradient by small images, tap by tap, against sums in float64."""

import pytest
import torch
from support.neurons import relative
from support.slow import representatives
from torch.nn.functional import conv_transpose2d

from snnbench.kernels.conv_lif import taps

WINDOWS = [
    *(((2, 2), (3, 3), (1, 1), (1, 1)), ((5, 4), (3, 3), (2, 2), (1, 1))),
    *(((7, 3), (1, 1), (2, 3), (0, 0)), ((4, 6), (5, 2), (1, 2), (3, 0))),
    *(((9, 1), (7, 1), (3, 1), (0, 0)), ((1, 1), (3, 3), (1, 1), (1, 1))),
]
"""Image, kernel, stride and padding."""


def check(image, kernel, stride, padding, outputs=21, channels=37):
    """Raises AssertionError unless the gradient is near that in float64. Returns it."""
    generator = torch.Generator().manual_seed(0)
    sides = list(zip(image, kernel, stride, padding, strict=True))
    places = [(side + 2 * pad - size) // step + 1 for side, size, step, pad in sides]
    g = torch.randn(5, 3, *places, outputs, generator=generator)
    weight = torch.randn(outputs, channels, *kernel, generator=generator)
    size = torch.Size((*image, channels))
    found = taps.by_input(g, size, weight, stride, padding).flatten(0, 1).permute(0, 3, 1, 2)
    rest = [(side + 2 * pad - size) % step for side, size, step, pad in sides]
    images = g.flatten(0, 1).permute(0, 3, 1, 2).double()
    exact = conv_transpose2d(images, weight.double(), None, stride, padding, rest)
    assert relative(found, exact) <= 1e-6, "gradient by the images"
    return found


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_any_window(window):
    check(*window)


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    monkeypatch.setattr(taps, "WORK_OF_A_THREAD", 1)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)
            results.append(check(*WINDOWS[1]))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(*results)


def test_other_instruction_sets(compile_for_other_processor):
    compile_for_other_processor()
    taps._function.cache_clear()
    check(*WINDOWS[0])


FAULTS = {
    "a tap reads beside the image": ("n.to[side] - 1 + before", "n.to[side] - 2 + before"),
    "the first pixel is that of the next tap": ("first * stride - before}", "first * stride}"),
    "a tap replaces what others added": ("pixel[c] += from[c]", "pixel[c] = from[c]"),
    "memory is refused": ("if (!left) return", "return"),
}


@pytest.mark.parametrize("fault", representatives(FAULTS, [2]))
def test_planted_faults_are_seen(plant, compiled_anew, fault):
    plant(taps, *FAULTS[fault], "taps.cpp")
    taps._function.cache_clear()
    refused = (MemoryError, "refused its working memory")
    expected = refused if "memory" in fault else (AssertionError, "gradient by the images")
    with pytest.raises(expected[0], match=expected[1]):
        check((2, 2), (3, 3), (1, 1), (1, 1))
