"""The CUDA kernels read and write no memory outside a call's tensors, in the emulation on a CPU."""

import ctypes
import mmap
import os

import pytest
import torch
from support import cuda_emulation
from support.cuda_checks import currents, forward_call, upstream

from snnbench.kernels.lif.contract import Backward
from snnbench.kernels.lif.cuda import launch
from snnbench.kernels.spec import NeuronSpec

pytestmark = pytest.mark.skipif(cuda_emulation.COMPILER is None, reason="needs g++")


class Fenced:
    """Memory between two pages that may not be touched; tensors lie at its very beginning or
    end."""

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
        return (
            torch.frombuffer(memory, dtype=tensor.dtype, count=tensor.numel(), offset=offset)
            .view(tensor.shape)
            .copy_(tensor)
        )


@pytest.mark.parametrize("at_end", [False, True], ids=["before", "beyond"])
def test_nothing_is_touched_outside_the_tensors(at_end):
    """Loads run ahead of the steps, and a load beyond a tensor's end faults on a GPU. In a
    process that may crash."""
    process = os.fork()
    if process == 0:
        try:
            fence = Fenced(at_end)
            for steps in (5, 32, 40, 64, 70):
                x = fence(currents(steps, 3, 24))
                for bits in (False, True):
                    call = forward_call(NeuronSpec(), x, bits=bits)
                    call.spikes, call.trace, call.checkpoints = (
                        fence(call.spikes),
                        fence(call.trace),
                        fence(call.checkpoints),
                    )
                    launch.forward(call, cuda_emulation.launch)
                given = {"grad_spikes": fence(upstream(x)), "grad_final": fence(upstream(x[0]))}
                outputs = {"grad_currents": fence(x), "grad_state": fence(x[0])}
                launch.backward(
                    Backward(
                        spec=NeuronSpec(),
                        currents=x,
                        checkpoints=call.checkpoints,
                        **given,
                        **outputs,
                    ),
                    cuda_emulation.launch,
                )
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(process, 0)[1] == 0
