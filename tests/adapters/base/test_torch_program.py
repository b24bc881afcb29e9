"""The torch program apart from a framework."""

import pytest
from support.expected import adapter_of, case_of
from support.networks import network_of


def test_running_statistics_come_back_after_an_exception():
    """A CUDA graph holds the buffers."""
    case = case_of("torch", workload="contract", time_steps=5, batch=3)
    program = adapter_of("torch").program(case, network_of(case))
    norm = program.network.norms()["norm1"]
    with pytest.raises(ZeroDivisionError), program.unchanged_statistics():
        norm.running_mean += 1
        raise ZeroDivisionError
    assert norm.running_mean is program.running_stats["norm1"]["mean"]
    assert not norm.running_mean.any()
