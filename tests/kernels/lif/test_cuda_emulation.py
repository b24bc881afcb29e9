"""The CUDA kernels' source, launch geometry and arguments on a CPU, against the reference."""

import math
from itertools import product

import pytest
import torch
from support import cuda_emulation
from support.cuda_checks import (
    channel,
    check_backward,
    check_forward,
    check_parts,
    currents,
    forward_call,
    upstream,
)
from support.slow import representatives

from snnbench.kernels.lif.cuda import launch
from snnbench.kernels.lif.strides import Unwalkable
from snnbench.kernels.spec import NeuronSpec

pytestmark = pytest.mark.skipif(cuda_emulation.COMPILER is None, reason="needs g++")

NEURONS = [
    NeuronSpec("soft", False, surrogate="superspike", slope=2.0),
    NeuronSpec("soft", True, surrogate="atan", slope=1.5, threshold=0.75),
    NeuronSpec("hard", False, surrogate="sigmoid", slope=4.0),
    NeuronSpec("hard", True, surrogate="triangle", slope=0.8),
    NeuronSpec("none", surrogate="rectangle", slope=0.5, decay=0.5),
    NeuronSpec("soft-undecayed", False, surrogate="exponential", slope=2.5, decay=0.9),
    NeuronSpec("soft-undecayed", True, surrogate="straight-through"),
    NeuronSpec("hard-straight", True, surrogate="atan"),
    NeuronSpec("hard-straight", False, surrogate="sigmoid"),
]


@pytest.mark.parametrize(
    "spec", NEURONS, ids=lambda spec: f"{spec.reset}-{spec.detach_reset}-{spec.surrogate}"
)
def test_every_neuron(spec):
    x = currents(67, 3, 5)
    assert 0 < check_forward(spec, x).spikes.mean() < 1
    check_backward(spec, x, grad_spikes=upstream(x))


@pytest.mark.parametrize("steps", representatives([1, 7, 31, 32, 33, 64, 67, 129], [0, 4, 6]))
def test_any_number_of_steps(steps):
    x = currents(steps, 2, 19, seed=steps)
    check_forward(NeuronSpec(), x)
    check_backward(NeuronSpec(), x, grad_spikes=upstream(x))


@pytest.mark.parametrize("depth", launch.DEPTHS)
@pytest.mark.parametrize("width", [1, 4])
def test_every_depth_and_width(depth, width, monkeypatch):
    monkeypatch.setattr(launch, "make_plan", launch.make_plan.__wrapped__)
    monkeypatch.setattr(launch, "forward_width", lambda *_: width)
    monkeypatch.setattr(launch, "forward_depth", lambda *_: depth)
    for steps in (depth - 1, depth, depth + 1, 2 * depth, 3 * depth + 5):
        check_forward(NeuronSpec("hard", True), currents(steps, 3, 20))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("ahead", [False, True])
def test_wide_backward_and_chunks_ahead(dtype, ahead, monkeypatch):
    monkeypatch.setattr(launch, "make_plan", launch.make_plan.__wrapped__)
    monkeypatch.setattr(launch, "backward_shape", lambda *_: (2, ahead))
    for steps in (20, 32, 70, 96):
        x = currents(steps, 3, 20, dtype=dtype)
        check_backward(
            NeuronSpec(), x, grad_spikes=upstream(x, dtype=dtype), center=channel(1, x, 1)
        )


LAYOUTS = {
    "transposed": lambda: currents(40, 9, 8).transpose(1, 2),
    "batch first": lambda: currents(6, 40, 8).transpose(0, 1),
    "time last": lambda: currents(4, 6, 40).permute(2, 0, 1),
    "channels last": lambda: currents(40, 2, 3, 5, 4).permute(0, 1, 4, 2, 3),
    "every other": lambda: currents(40, 6, 17)[:, ::2, 1::2],
    "misaligned": lambda: currents(40, 6, 9)[:, :, 1:],
    "same for all": lambda: currents(40, 1, 8).expand(40, 5, 8),
    "same at all times": lambda: currents(1, 5, 8).expand(40, 5, 8),
    "one number": lambda: currents(1, 1, 1).expand(40, 5, 8),
    "one sequence": lambda: currents(40, 1, 1),
    "four dims": lambda: currents(40, 3, 5, 7, 9)[:, :2, :4, :3, :8],
}


@pytest.mark.parametrize(
    ("many", "layout"),
    representatives(product([False, True], LAYOUTS), quick=(0, 3, 6, 9, 13, 18)),
)
def test_any_layout(many, layout, monkeypatch):
    monkeypatch.setattr(launch, "make_plan", launch.make_plan.__wrapped__)
    monkeypatch.setattr(launch, "MANY_SEQUENCES", 1 if many else math.inf)
    x = LAYOUTS[layout]()
    check_forward(NeuronSpec(), x, state=currents(*x.shape[1:], seed=3))
    if layout not in (
        "same at all times",
        "one number",
    ):  # their potentials settle on the threshold
        check_backward(
            NeuronSpec(),
            x,
            grad_spikes=upstream(x[:, :1]).expand(x.shape),
            grad_final=upstream(x[0]),
        )


def test_gradient_that_is_one_number():
    x = currents(40, 4, 8)
    check_backward(NeuronSpec(), x, grad_spikes=torch.ones(()).expand(x.shape))


def test_more_dims_than_can_be_walked():
    x = currents(3, 4, 4, 4, 4, 4)[:, ::2, ::2, ::2, ::2, ::2]
    with pytest.raises(Unwalkable):
        launch.forward(forward_call(NeuronSpec(), x), cuda_emulation.launch)


CURRENT_DTYPES = [torch.float32, torch.float16, torch.bfloat16]
SPIKE_DTYPES = [*CURRENT_DTYPES, torch.uint8, torch.float64]


@pytest.mark.parametrize(
    ("dtype", "spikes_dtype"),
    representatives(product(CURRENT_DTYPES, SPIKE_DTYPES), quick=(0, 3, 6, 9, 12)),
    ids=str,
)
def test_every_dtype(dtype, spikes_dtype, monkeypatch):
    monkeypatch.setattr(launch, "make_plan", launch.make_plan.__wrapped__)
    monkeypatch.setattr(launch, "MANY_SEQUENCES", 1)
    check_forward(NeuronSpec(), currents(40, 3, 12, dtype=dtype), spikes_dtype=spikes_dtype)


@pytest.mark.parametrize(
    "gradient", representatives([torch.float16, torch.bfloat16, torch.float64], [1]), ids=str
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_gradients_of_every_dtype(dtype, gradient):
    x = currents(40, 3, 12, dtype=dtype)
    check_backward(
        NeuronSpec("hard"),
        x,
        grad_spikes=upstream(x, dtype=gradient),
        grad_trace=upstream(x, seed=4, dtype=gradient),
    )


@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
@pytest.mark.parametrize("last", representatives([1, 5, 8, 19, 24], [1, 2, 3]))
def test_bits(last, many):
    x = currents(35, 3, last)
    check_forward(NeuronSpec(), x, bits=True, trace=many, checkpoints=many)


def test_bits_of_a_transposed_tensor():
    check_forward(NeuronSpec(), currents(35, 19, 6).transpose(1, 2), bits=True)


def test_bits_beside_a_shift_that_fires_alone():
    x = currents(5, 2, 3)
    expected = check_forward(NeuronSpec(), x, bits=True, shift=torch.full((3,), 50.0).expand(2, 3))
    assert (expected.spikes == 7).all()


@pytest.mark.parametrize(
    "spec",
    [
        NeuronSpec("soft", max_spikes=3, threshold=0.3),
        NeuronSpec("none", max_spikes=200),
        NeuronSpec(threshold=0.3, surrogate="straight-through", max_spikes=3, rounding="nearest"),
    ],
)
def test_several_spikes_a_step(spec):
    x = currents(40, 3, 7) * 2
    assert check_forward(spec, x, spikes_dtype=torch.uint8).spikes.max() > 1
    check_forward(spec, x, spikes_dtype=torch.bfloat16)
    check_backward(spec, x, grad_spikes=upstream(x))


@pytest.mark.parametrize("dim", representatives([0, 1, -1], [1]))
def test_channels(dim):
    x = currents(40, 3, 4, 5)
    a, b, c, d, e, f = (channel(seed, x, dim) for seed in range(6))
    mixed = {"mix_error": d, "mix_current": e - 1, "mix_constant": f - 1}
    check_forward(NeuronSpec(), x, scale=a)
    check_forward(NeuronSpec(), x, shift=b - 1)
    check_forward(NeuronSpec(), x, scale=a, shift=b - 1, state=currents(3, 4, 5))
    check_backward(NeuronSpec(), x, grad_spikes=upstream(x), scale=a, shift=b - 1)
    check_backward(
        NeuronSpec(), x, grad_spikes=upstream(x), scale=a, shift=b - 1, center=c, **mixed
    )
    check_backward(NeuronSpec(), x, grad_spikes=upstream(x), **mixed)


@pytest.mark.parametrize("needed", ["grad_currents", "grad_state", "sum_error", "sum_by_current"])
def test_only_what_is_needed_is_written(needed):
    x = currents(40, 3, 5)
    mixed = {
        name: channel(seed, x, 1)
        for seed, name in enumerate(("mix_error", "mix_current", "mix_constant"), 1)
    }
    check_backward(
        NeuronSpec(), x, needed=(needed,), grad_spikes=upstream(x), center=channel(4, x, 1), **mixed
    )


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("width", [1, 2])
def test_a_gradient_split_as_it_is_written(whole, width, monkeypatch):
    monkeypatch.setattr(launch, "make_plan", launch.make_plan.__wrapped__)
    monkeypatch.setattr(launch, "backward_shape", lambda *_: (width, True))
    check_parts(whole)


@pytest.mark.parametrize("given", ["grad_trace", "grad_final"])
def test_gradient_of_one_output(given):
    x = currents(40, 3, 5)
    check_backward(NeuronSpec("none"), x, **{given: upstream(x if given == "grad_trace" else x[0])})


@pytest.mark.parametrize(
    "spec",
    [NeuronSpec(), NeuronSpec("hard"), NeuronSpec("none", max_spikes=3)],
    ids=lambda s: s.reset,
)
def test_nan_and_infinity_stay_in_their_sequence(spec):
    x = currents(40, 2, 8)
    x[7, 0, 1], x[8, 0, 2], x[9, 1, 3] = math.nan, math.inf, -math.inf
    check_forward(spec, x)
    check_forward(spec, x.to(torch.bfloat16))
    check_forward(spec, (x * 3e4).to(torch.float16))  # its trace overflows


def test_more_sequences_than_32_bits_count(monkeypatch):
    monkeypatch.setattr(launch, "make_plan", launch.make_plan.__wrapped__)
    monkeypatch.setattr(launch, "SHORT_INDEX", 0)
    x = LAYOUTS["four dims"]()
    check_forward(NeuronSpec(), x)
    check_backward(NeuronSpec(), x, grad_spikes=upstream(x))


def test_pieces_are_the_whole():
    x = currents(50, 3, 5)
    whole = forward_call(NeuronSpec(), x)
    launch.forward(whole, cuda_emulation.launch)
    state = None
    for piece in x.split([13, 32, 5]):
        part = forward_call(NeuronSpec(), piece, state=state)
        launch.forward(part, cuda_emulation.launch)
        state = part.final_state
    assert torch.equal(state, whole.final_state)
