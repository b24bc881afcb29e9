"""The CUDA kernels' source, launch geometry and arguments on a CPU, against the reference."""

import ctypes
import math
import mmap
import os

import pytest
import torch
from support import cuda_emulation
from support.cuda_checks import (
    assert_untouched,
    channel,
    check_backward,
    check_forward,
    currents,
    forward_call,
    guarded,
    upstream,
)

from snnbench.kernels.build import nvrtc
from snnbench.kernels.lif import reference
from snnbench.kernels.lif.contract import Backward
from snnbench.kernels.lif.cuda import launch
from snnbench.kernels.lif.strides import Unwalkable
from snnbench.kernels.linear_lif.split_formats import bf16_triple
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
]


@pytest.mark.parametrize("spec", NEURONS, ids=lambda spec: f"{spec.reset}-{spec.detach_reset}-{spec.surrogate}")
def test_every_neuron(spec):
    x = currents(67, 3, 5)
    assert 0 < check_forward(spec, x).spikes.mean() < 1
    check_backward(spec, x, grad_spikes=upstream(x))


@pytest.mark.parametrize("steps", [1, 7, 31, 32, 33, 64, 67, 129])
def test_any_number_of_steps(steps):
    x = currents(steps, 2, 19, seed=steps)
    check_forward(NeuronSpec(), x)
    check_backward(NeuronSpec(), x, grad_spikes=upstream(x))


@pytest.mark.parametrize("depth", launch.DEPTHS)
@pytest.mark.parametrize("width", [1, 4])
def test_every_depth_and_width(depth, width, monkeypatch):
    monkeypatch.setattr(launch, "PLANS", {})
    monkeypatch.setattr(launch, "forward_width", lambda *_: width)
    monkeypatch.setattr(launch, "forward_depth", lambda *_: depth)
    for steps in (depth - 1, depth, depth + 1, 2 * depth, 3 * depth + 5):
        check_forward(NeuronSpec("hard", True), currents(steps, 3, 20))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("ahead", [False, True])
def test_wide_backward_and_chunks_ahead(dtype, ahead, monkeypatch):
    monkeypatch.setattr(launch, "PLANS", {})
    monkeypatch.setattr(launch, "backward_shape", lambda *_: (2, ahead))
    for steps in (20, 32, 70, 96):
        x = currents(steps, 3, 20, dtype=dtype)
        check_backward(NeuronSpec(), x, grad_spikes=upstream(x, dtype=dtype), center=channel(1, x, 1))


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


@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout(layout, many, monkeypatch):
    monkeypatch.setattr(launch, "PLANS", {})
    monkeypatch.setattr(launch, "MANY_SEQUENCES", 1 if many else math.inf)
    x = LAYOUTS[layout]()
    check_forward(NeuronSpec(), x, state=currents(*x.shape[1:], seed=3))
    if layout not in ("same at all times", "one number"):  # whose potentials settle on the threshold
        check_backward(NeuronSpec(), x, grad_spikes=upstream(x[:, :1]).expand(x.shape), grad_final=upstream(x[0]))


def test_gradient_that_is_one_number():
    x = currents(40, 4, 8)
    check_backward(NeuronSpec(), x, grad_spikes=torch.ones(()).expand(x.shape))


def test_more_dims_than_can_be_walked():
    x = currents(3, 4, 4, 4, 4, 4)[:, ::2, ::2, ::2, ::2, ::2]
    with pytest.raises(Unwalkable):
        launch.forward(forward_call(NeuronSpec(), x), cuda_emulation.launch)


@pytest.mark.parametrize("spikes_dtype", [torch.float32, torch.float16, torch.bfloat16, torch.uint8, torch.float64], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_every_dtype(dtype, spikes_dtype, monkeypatch):
    monkeypatch.setattr(launch, "PLANS", {})
    monkeypatch.setattr(launch, "MANY_SEQUENCES", 1)
    check_forward(NeuronSpec(), currents(40, 3, 12, dtype=dtype), spikes_dtype=spikes_dtype)


@pytest.mark.parametrize("gradient", [torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_gradients_of_every_dtype(dtype, gradient):
    x = currents(40, 3, 12, dtype=dtype)
    check_backward(NeuronSpec("hard"), x, grad_spikes=upstream(x, dtype=gradient), grad_trace=upstream(x, seed=4, dtype=gradient))


@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
@pytest.mark.parametrize("last", [1, 5, 8, 19, 24])
def test_bits(last, many):
    x = currents(35, 3, last)
    check_forward(NeuronSpec(), x, bits=True, trace=many, checkpoints=many)


def test_bits_of_a_transposed_tensor():
    check_forward(NeuronSpec(), currents(35, 19, 6).transpose(1, 2), bits=True)


def test_bits_beside_a_shift_that_fires_alone():
    x = currents(5, 2, 3)
    expected = check_forward(NeuronSpec(), x, bits=True, shift=torch.full((3,), 50.0).expand(2, 3))
    assert (expected.spikes == 7).all()


@pytest.mark.parametrize("spec", [NeuronSpec("soft", max_spikes=3, threshold=0.3), NeuronSpec("none", max_spikes=200)])
def test_several_spikes_a_step(spec):
    x = currents(40, 3, 7) * 2
    assert check_forward(spec, x, spikes_dtype=torch.uint8).spikes.max() > 1
    check_forward(spec, x, spikes_dtype=torch.bfloat16)
    check_backward(spec, x, grad_spikes=upstream(x))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_channels(dim):
    x = currents(40, 3, 4, 5)
    a, b, c, d, e, f = (channel(seed, x, dim) for seed in range(6))
    check_forward(NeuronSpec(), x, scale=a)
    check_forward(NeuronSpec(), x, shift=b - 1)
    check_forward(NeuronSpec(), x, scale=a, shift=b - 1, state=currents(3, 4, 5))
    check_backward(NeuronSpec(), x, grad_spikes=upstream(x), scale=a, shift=b - 1)
    check_backward(NeuronSpec(), x, grad_spikes=upstream(x), scale=a, shift=b - 1, center=c, mix=(d, e - 1, f - 1))
    check_backward(NeuronSpec(), x, grad_spikes=upstream(x), mix=(d, e - 1, f - 1))


@pytest.mark.parametrize("needed", ["grad_currents", "grad_state", "sum_error", "sum_by_current"])
def test_only_what_is_needed_is_written(needed):
    x = currents(40, 3, 5)
    mixed = channel(1, x, 1), channel(2, x, 1), channel(3, x, 1)
    check_backward(NeuronSpec(), x, needed=(needed,), grad_spikes=upstream(x), center=channel(4, x, 1), mix=mixed)


def check_parts(whole: bool) -> None:
    """The parts are those of splitting the gradient afterwards, beside it or in its place."""
    x = currents(70, 3, 10)
    gs, gv = upstream(x), upstream(x, seed=4)
    gv[40, 0, 1], gv[69, 1, 2] = math.nan, math.inf
    gv[69, 1, 3], gv[69, 1, 4] = 3.4e38, -3.4e38  # which bfloat16 would round to infinity
    kept = forward_call(NeuronSpec(), x)
    reference.forward(kept)
    absent = dict.fromkeys(("scale", "shift", "grad_final", "center", "mix", "grad_state", "sum_error", "sum_by_current"))
    upstreams = {"grad_spikes": gs, "grad_trace": gv}
    given = {"spec": NeuronSpec(), "currents": x, "checkpoints": kept.checkpoints, **upstreams, **absent}
    alone = Backward(**given, grad_currents=torch.empty_like(x))
    parts = guarded(x.expand(3, *x.shape).contiguous(), torch.bfloat16)
    call = Backward(**given, grad_currents=guarded(x) if whole else None, grad_parts=parts)
    for each in (alone, call):
        launch.backward(each, cuda_emulation.launch)
    if whole:
        assert_untouched(call.grad_currents)
        torch.testing.assert_close(call.grad_currents, alone.grad_currents, rtol=0, atol=0, equal_nan=True)
    assert_untouched(parts)
    for found, expected in zip(parts, bf16_triple(alone.grad_currents.flatten(1)).parts, strict=True):
        torch.testing.assert_close(found.flatten(1), expected, rtol=0, atol=0, equal_nan=True, msg="part")


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("width", [1, 2])
def test_a_gradient_split_as_it_is_written(whole, width, monkeypatch):
    monkeypatch.setattr(launch, "PLANS", {})
    monkeypatch.setattr(launch, "backward_shape", lambda *_: (width, True))
    check_parts(whole)


@pytest.mark.parametrize("given", ["grad_trace", "grad_final"])
def test_gradient_of_one_output(given):
    x = currents(40, 3, 5)
    check_backward(NeuronSpec("none"), x, **{given: upstream(x if given == "grad_trace" else x[0])})


@pytest.mark.parametrize("spec", [NeuronSpec(), NeuronSpec("hard"), NeuronSpec("none", max_spikes=3)], ids=lambda s: s.reset)
def test_nan_and_infinity_stay_in_their_sequence(spec):
    x = currents(40, 2, 8)
    x[7, 0, 1], x[8, 0, 2], x[9, 1, 3] = math.nan, math.inf, -math.inf
    check_forward(spec, x)
    check_forward(spec, x.to(torch.bfloat16))
    check_forward(spec, (x * 3e4).to(torch.float16))  # whose trace overflows


def test_more_sequences_than_32_bits_count(monkeypatch):
    monkeypatch.setattr(launch, "PLANS", {})
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


class Fenced:
    """Memory between two pages that may not be touched; tensors lie at its very beginning or end."""

    def __init__(self, at_end: bool):
        self.at_end, self.held = at_end, []

    def __call__(self, tensor: torch.Tensor) -> torch.Tensor:
        size, page = tensor.numel() * tensor.element_size(), mmap.PAGESIZE
        inner = -(-size // page) * page
        memory = mmap.mmap(-1, inner + 2 * page)
        self.held.append(memory)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for fence in (address, address + page + inner):
            assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(fence), page, 0) == 0
        offset = page + (inner - size if self.at_end else 0)
        return torch.frombuffer(memory, dtype=tensor.dtype, count=tensor.numel(), offset=offset).view(tensor.shape).copy_(tensor)


@pytest.mark.parametrize("at_end", [False, True], ids=["before", "beyond"])
def test_nothing_is_touched_outside_the_tensors(at_end):
    """Loads run ahead of the steps, and a load beyond a tensor's end faults on a GPU. In a process that may crash."""
    process = os.fork()
    if process == 0:
        try:
            fence = Fenced(at_end)
            for steps in (5, 32, 40, 64, 70):
                x = fence(currents(steps, 3, 24))
                for bits in (False, True):
                    call = forward_call(NeuronSpec(), x, bits=bits)
                    call.spikes, call.trace, call.checkpoints = fence(call.spikes), fence(call.trace), fence(call.checkpoints)
                    launch.forward(call, cuda_emulation.launch)
                given = {"grad_spikes": fence(upstream(x)), "grad_final": fence(upstream(x[0]))}
                absent = dict.fromkeys(("scale", "shift", "grad_trace", "center", "mix", "sum_error", "sum_by_current"))
                outputs = {"grad_currents": fence(x), "grad_state": fence(x[0])}
                launch.backward(
                    Backward(spec=NeuronSpec(), currents=x, checkpoints=call.checkpoints, **given, **absent, **outputs),
                    cuda_emulation.launch,
                )
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0


def test_contraction_is_noticed():
    """Planted: fused multiply-adds round differently, so the potentials do."""
    call, expected = (
        forward_call(NeuronSpec(decay=0.9), currents(60, 4, 8)),
        forward_call(NeuronSpec(decay=0.9), currents(60, 4, 8)),
    )
    reference.forward(expected)
    work = launch.prepare_forward(call)
    cuda_emulation.library(work.program, ("-ffp-contract=fast", "-O2", "-mfma"))(work)
    assert not torch.equal(call.trace, expected.trace)


FORWARD_FAULTS = [
    ("++j, currents_at += currents_step)", "++j, currents_at += currents_last)"),
    ("if (j < rest) {", "if (j <= rest) {"),
    ("s[i] = lif_spike(neuron, v[i])", "s[i] = lif_spike(neuron, p[i])"),
    ("if (t % LIF_CHUNK == 0)", "if (t % LIF_CHUNK == 1)"),
]
BACKWARD_FAULTS = [
    ("is_step ? decay * e : gp[i]", "is_step ? e : gp[i]"),
    ("gp[i] = is_step ? decay * e : gp[i]", "gp[i] = decay * e"),
    ("is_step ? errors[i] + e : errors[i]", "errors[i] + e"),
    ("checkpoints_at -= checkpoints_step;", ""),
    ("now = next;", ""),
]


PARTS_FAULTS = [
    ("rest = rest - second;", ""),
    ("place, parts[k]", "place, parts[0]"),
    ("k * next_part", "k * 0"),
    ("finite ? x - first : 0.0f", "x - first"),
    ("x > largest ? largest :", ""),
    ("x < -largest ? -largest :", ""),
]


@pytest.mark.parametrize(
    "check, fault",
    [(check_forward, f) for f in FORWARD_FAULTS]
    + [(check_backward, f) for f in BACKWARD_FAULTS]
    + [(lambda *_: check_parts(True), f) for f in PARTS_FAULTS],
)
def test_planted_faults_are_noticed(check, fault, monkeypatch):
    right, wrong = fault
    source = nvrtc.Program.source
    planted = []

    def faulty(program):
        planted.append(right in source(program))
        return source(program).replace(right, wrong)

    monkeypatch.setattr(nvrtc.Program, "source", faulty)
    monkeypatch.setattr(cuda_emulation, "library", cuda_emulation.library.__wrapped__)
    x = currents(102, 3, 5)
    with pytest.raises(AssertionError, match=r"spikes|checkpoints|trace|grad_currents|sum_error|part|written beside"):
        check(NeuronSpec(), x, **({"grad_spikes": upstream(x), "grad_final": upstream(x[0])} if check is check_backward else {}))
    assert planted and all(planted)


def test_depth_and_width_follow_the_size():
    assert launch.forward_width(1000, wide=True, bits=False) == 1
    assert launch.forward_width(launch.MANY_SEQUENCES, wide=True, bits=False) == 4
    assert launch.forward_width(launch.MANY_SEQUENCES, wide=False, bits=False) == 1
    assert launch.forward_width(10, wide=False, bits=True) == 8
    assert launch.forward_depth(4096, 4, 1, 500) == 64
    assert launch.forward_depth(4096, 4, 1, 20) == 32
    assert launch.forward_depth(4096, 4, 1, 1) == 8
    assert launch.forward_depth(65536, 4, 4, 500) == 16
    assert launch.forward_depth(262144, 4, 4, 500) == 8
    assert launch.forward_depth(262144, 2, 4, 500) == 8
    assert launch.backward_shape(4096, True, [4, 4]) == (1, True)
    assert launch.backward_shape(4096, True, [4, 4, 4]) == (1, False)
    assert launch.backward_shape(262144, True, [4, 4]) == (1, False)
    assert launch.backward_shape(262144, True, [2, 2]) == (2, False)
    assert launch.backward_shape(262144, False, [2, 2]) == (1, False)
    assert launch.backward_shape(262144, True, [2, 2, 2]) == (1, False)
    for sequences in (1, 8192, 65536, 262144):
        for item in (2, 4):
            width = launch.forward_width(sequences, True, False)
            depth = launch.forward_depth(sequences, item, width, 1000)
            assert depth == max(launch.DEPTHS) or sequences * item * depth >= launch.BYTES_IN_FLIGHT or 4 * depth * width >= 128


@pytest.mark.parametrize("sequences", [1, 31, 32, 33, 4096, 20000])
def test_blocks_cover_every_sequence(sequences):
    x = torch.zeros(2, sequences)
    work = launch.prepare_forward(forward_call(NeuronSpec(), x))
    assert (work.grid - 1) * work.block < sequences <= work.grid * work.block
