"""The CUDA kernels launched by cuda-core through a stub of the driver, which runs them on the CPU:
binding, the order of arguments, strides, grid and kernel in one. test_cuda_launch.py runs this file
in a process that loads the stub.
"""

import ctypes
import math
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from support import cuda_emulation
from support.cuda_checks import (
    channel,
    check_backward,
    check_forward,
    check_parts,
    currents,
    upstream,
)

from snnbench.kernels.build import nvrtc
from snnbench.kernels.lif.cuda import launch
from snnbench.kernels.spec import NeuronSpec

STREAM = 0x5EED00
driver = ctypes.CDLL("libcuda.so.1")


def seen(name: str, kind=ctypes.c_uint):
    return kind.in_dll(driver, name).value


@pytest.fixture(autouse=True)
def device(tmp_path, monkeypatch):
    """Device 0 with what torch tells of it, and host-compiled libraries for cubins; every launch
    of the checks goes to it."""

    def compiled(program, architecture):
        assert architecture == "sm_90"
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        cubin = folder / "kernel.cubin"
        cubin.write_bytes(bytes(cuda_emulation.build(program, folder)) + b"\0")
        return cubin

    nvrtc.kernel.cache_clear()
    monkeypatch.setattr(torch.cuda, "device", lambda index: nullcontext())
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda index: (9, 0))
    monkeypatch.setattr(
        torch.cuda, "current_stream", lambda index: SimpleNamespace(cuda_stream=STREAM)
    )
    monkeypatch.setattr(nvrtc, "compiled", compiled)
    monkeypatch.setattr(cuda_emulation, "launch", launched)
    monkeypatch.setattr(launch, "make_plan", launch.make_plan.__wrapped__)


def launched(work) -> None:
    before = seen("launches")
    nvrtc.launch(replace(work, device=torch.device("cuda", 0)))
    assert seen("launches") == before + 1 and seen("last_stream", ctypes.c_void_p) == STREAM
    macros = dict(work.program.macros)
    *outer, last = work.arguments[-4 - macros["LIF_DIMS"] : -4]
    threads, grid, block = (
        math.prod(outer) * -(-last // macros["LIF_WIDTH"]),
        seen("last_grid"),
        seen("last_block"),
    )
    assert (grid - 1) * block < threads <= grid * block and block == macros["LIF_BLOCK"], "grid"


def everything(x):
    """Both passes with all optional tensors."""
    a, b, c, d, e, f = (channel(seed, x, 1) for seed in range(6))
    check_forward(
        NeuronSpec(decay=0.9), x, scale=a, shift=b - 1, state=currents(*x.shape[1:], seed=3)
    )
    given = {
        "grad_spikes": upstream(x),
        "grad_trace": upstream(x, seed=4),
        "grad_final": upstream(x[0]),
    }
    mixed = {"center": c, "mix_error": d, "mix_current": e - 1, "mix_constant": f - 1}
    check_backward(NeuronSpec("hard"), x, **given, scale=a, shift=b - 1, **mixed)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("many", [False, True])
def test_both_passes_with_every_tensor(many, monkeypatch):
    monkeypatch.setattr(launch, "MANY_SEQUENCES", 1 if many else math.inf)
    everything(currents(37, 3, 97))
    everything(currents(35, 4, 5, 12)[:, :3, :, ::2].transpose(1, 2))


def test_bits_short_types_and_parts():
    check_forward(NeuronSpec(), currents(37, 3, 19), bits=True)
    check_forward(NeuronSpec(), currents(37, 3, 97, dtype=torch.bfloat16), spikes_dtype=torch.uint8)
    check_parts(True)


def test_a_stream_and_a_configuration_are_made_once():
    assert nvrtc.stream(0, STREAM) is nvrtc.stream(0, STREAM) is not nvrtc.stream(1, STREAM)
    assert nvrtc.configuration(3, 32) is nvrtc.configuration(3, 32)


def swapped(first, second):
    def plant(work):
        arguments = list(work.arguments)
        arguments[first], arguments[second] = arguments[second], arguments[first]
        return replace(work, arguments=tuple(arguments))

    return plant


def changed(position, value):
    return lambda work: replace(
        work, arguments=(*work.arguments[:position], value, *work.arguments[position:][1:])
    )


def step_of_spikes(step):
    def plant(work):
        macros = {**dict(work.program.macros), "spikes_step": f"{step}LL"}
        return replace(work, program=replace(work.program, macros=tuple(macros.items())))

    return plant


FAULTS = {
    "trace and spikes swapped": swapped(0, 6),
    "decay and threshold swapped": swapped(-4, -3),
    "spikes of all steps at one place": step_of_spikes(0),
    "spikes of all neurons at one place": changed(7, 0),
    "a step too few": lambda work: changed(-7, work.arguments[-7] - 1)(work),
    "a block too few": lambda work: replace(work, grid=work.grid - 1),
    "a block too many": lambda work: replace(work, grid=work.grid + 1),
    "blocks of half the size": lambda work: replace(work, block=work.block // 2),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_of_the_launch_are_noticed(fault, monkeypatch):
    prepare = launch.prepare
    monkeypatch.setattr(launch, "prepare", lambda call: FAULTS[fault](prepare(call)))
    with pytest.raises(AssertionError, match=r"spikes|trace|final_state|checkpoints|grid"):
        check_forward(NeuronSpec(decay=0.9), currents(37, 3, 97))
