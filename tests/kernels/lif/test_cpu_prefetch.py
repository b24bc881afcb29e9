"""The C++ neuron fetches rows ahead of their use."""

import platform
import subprocess

import pytest
from support.paths import ROOT

from snnbench.kernels.build import cpp
from snnbench.kernels.build.source import inlined
from snnbench.kernels.lif.contract import CHECKPOINT_STEPS, neuron_macros
from snnbench.kernels.lif.cpu.launch import FEATURES
from snnbench.kernels.lif.strides import MAX_DIMS
from snnbench.kernels.spec import NeuronSpec

INSTRUCTION = {"x86_64": "prefetch", "aarch64": "prfm"}


@pytest.mark.skipif(
    platform.machine() not in INSTRUCTION or cpp.compiler() is None,
    reason="no compiler, or another CPU",
)
@pytest.mark.parametrize("direction", ["FORWARD", "BACKWARD"])
def test_prefetches_reach_the_machine_code_although_they_have_no_effect_on_results(direction):
    call = "ForwardCall" if direction == "FORWARD" else "BackwardCall"
    macros = {
        **neuron_macros(NeuronSpec("soft")),
        **{
            **dict.fromkeys(FEATURES, 0),
            "LIF_BITS": 0,
            "LIF_CHUNK": CHECKPOINT_STEPS,
            "LIF_DIMS": MAX_DIMS,
        },
        **{
            f"LIF_{direction}": 1,
            "LIF_BYTES": f"sizeof({call})",
            "LIF_CURRENT": "float",
            "LIF_SPIKE": "float",
        },
    }
    options = [option for option in cpp.FLAGS if option != "-shared"]
    command = [*cpp.compiler(), *options, *(f"-D{name}={value}" for name, value in macros.items())]
    source = inlined(ROOT / "kernels/lif/cpu/lif.cpp")
    assembly = subprocess.run(
        [*command, "-S", "-x", "c++", "-", "-o", "-"],
        input=source,
        capture_output=True,
        text=True,
        check=True,
    )
    assert INSTRUCTION[platform.machine()] in assembly.stdout
