"""The Triton kernel without a GPU: where it is unavailable, and in the interpreter."""

from pathlib import Path

import pytest
import torch

pytest.importorskip("triton")

from support.gpuless import QUICK, SLOW, run_interpreted

from snnbench.kernels.events import PackedFrames, backends
from snnbench.kernels.events.storage import Delivery
from snnbench.kernels.events.triton import launch

CASES = Path(__file__).with_name("interpreted.py")


@pytest.mark.parametrize("marked", [QUICK, pytest.param(SLOW, marks=pytest.mark.slow)])
def test_in_the_interpreter(marked):
    run_interpreted(CASES, marked)


def test_it_needs_a_gpu_or_the_interpreter():
    with pytest.raises(RuntimeError, match=r"backend 'triton' cannot run float32 on cpu: .* set TRITON_INTERPRET=1"):
        PackedFrames([torch.zeros(2, 5)], 3).batch(torch.tensor([0]), backend="triton")


@pytest.mark.parametrize("dtype", launch.DTYPES, ids=str)
def test_gpus_are_served_by_triton(dtype):
    assert backends.choose("cuda", dtype) == "triton"


def test_other_types_are_left_to_torch():
    assert launch.unavailable(torch.device("cuda"), torch.uint8) == "it delivers float32, float16 or bfloat16"


@pytest.mark.parametrize(("channels", "group"), [(97, 2), (100, 8), (128, 16), (700, 8)])
def test_the_compiler_is_told_how_recordings_lie(channels, group):
    kept = PackedFrames([torch.zeros(1, channels)], 250)
    launched = launch.launch(Delivery(kept.stored, torch.tensor([0]), None, torch.empty(1, 250 * channels)))
    assert launched.arguments["GROUP"] == group and launched.arguments["groups"] * group == 250 * channels
