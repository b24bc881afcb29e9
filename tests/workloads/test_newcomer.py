"""A newcomer's network: one function, as CONTRIBUTING says, is all that a proof takes."""

import inspect

from support.expected import adapter_of
from support.networks import WIDEST
from support.proofs import wait_for_writers

from snnbench.core.case import Case
from snnbench.proof.calibration import calibrate
from snnbench.proof.stages import prove
from snnbench.workloads.base import workload
from snnbench.workloads.builder import Builder

SMALL = {"time_steps": 5, "batch": 3, "width": 4, "image": 19, "classes": 7}


@workload("vgg-recurrent", axes=("width", "image", "classes"), small=SMALL)
def vgg_recurrent(case):
    """Two stages of two convolutions and a pool, and a recurrent layer before the classifier."""
    net = Builder(case, (3, case.image, case.image))
    for stage in range(2):
        for _ in range(2):
            net.conv(case.width << stage)
            net.norm()
            net.neuron()
        net.max_pool(2, 2, 0)
    net.flatten()
    net.linear(8 * case.width)
    net.neuron(recurrent=True)
    net.linear(case.classes)
    net.mean_time()
    return net.network


def test_a_network_of_one_function_is_proved():
    assert len(inspect.getsource(vgg_recurrent.network).splitlines()) <= 25
    case = vgg_recurrent.canonical(
        Case("torch", workload=vgg_recurrent.name, neuron=WIDEST, **SMALL)
    )
    proof = prove(
        adapter_of("torch"),
        case,
        vgg_recurrent,
        calibrate(case, vgg_recurrent.network(case)),
        wait_for_writers,
    )
    assert proof.passed, proof.reason
    assert proof.stages[-1].name == "own size, fp32"
    assert set(proof.stages[-1].verdict.errors) == {"weight", "bias", "recurrent", "input"}
