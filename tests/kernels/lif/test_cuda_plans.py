"""How the work of a call of the CUDA kernels is divided among threads and blocks."""

import pytest
import torch
from support.cuda_checks import forward_call

from snnbench.kernels.lif.cuda import launch
from snnbench.kernels.spec import NeuronSpec


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
            assert (
                depth == max(launch.DEPTHS)
                or sequences * item * depth >= launch.BYTES_IN_FLIGHT
                or 4 * depth * width >= 128
            )


@pytest.mark.parametrize("sequences", [1, 31, 32, 33, 4096, 20000])
def test_blocks_cover_every_sequence(sequences):
    x = torch.zeros(2, sequences)
    work = launch.prepare(forward_call(NeuronSpec(), x))
    assert (work.grid - 1) * work.block < sequences <= work.grid * work.block
