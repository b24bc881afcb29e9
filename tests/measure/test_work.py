"""Work that nothing can avoid, against figures reckoned by hand."""

from dataclasses import replace

import pytest
from support.networks import MANY, network_of

from snnbench.core.case import NATIVE, Case
from snnbench.core.network import INPUT, Network, Node
from snnbench.kernels.spec import NeuronSpec
from snnbench.measure.work import Work, mandatory, products

CASE = Case("any", neurons=10, time_steps=7, batch=3)
PRODUCT = 2 * 7 * 3 * 10 * 10  # 4200 flops
NUMBERS = 7 * 3 * 10
BORDER = 4 * NUMBERS  # 840 bytes
WEIGHTS = 10 * 10 * 4  # 400 bytes
HALF = 0.5
EVENTS = NUMBERS / 8  # a bit for each


def changed(**values):
    return replace(CASE, **values)


DENSE, DEEP, ALONE = changed(input="dense"), changed(layers=3), changed(workload="lif")
SHORT, AMP = changed(precision="bf16"), changed(precision="amp-bf16", input="dense")


@pytest.mark.parametrize(
    ("case", "phase", "flops", "moved"),
    [
        # spikes need no more than a byte, and no product
        (CASE, "forward", 0, WEIGHTS + BORDER + NUMBERS),
        (CASE, "inference", 0, WEIGHTS + BORDER + NUMBERS),
        # reads weights, the events of the input and a gradient in the format of the spikes; writes
        # gradients of weights and input
        (CASE, "backward", PRODUCT, WEIGHTS + EVENTS + 2 * NUMBERS + WEIGHTS + BORDER),
        # all that is common to both is moved once
        (CASE, "step", PRODUCT, WEIGHTS + BORDER + NUMBERS + 2 * NUMBERS + WEIGHTS + BORDER),
        # without an input gradient one product less, and the weights are not read
        (changed(input_grad=False), "backward", 0, EVENTS + 2 * NUMBERS + WEIGHTS),
        (DEEP, "forward", 0, 3 * WEIGHTS + BORDER + NUMBERS),
        (DEEP, "backward", PRODUCT * 3, 6 * WEIGHTS + EVENTS + 2 * NUMBERS + BORDER),
        (
            changed(layers=3, input_grad=False),
            "backward",
            PRODUCT * 2,
            6 * WEIGHTS + EVENTS + 2 * NUMBERS,
        ),
        (SHORT, "forward", 0, (WEIGHTS + BORDER) / 2 + NUMBERS),
        # of other inputs the products of those that are not zero
        (DENSE, "forward", PRODUCT / 2, WEIGHTS + BORDER + NUMBERS),
        (DENSE, "step", 2 * PRODUCT, WEIGHTS + BORDER + NUMBERS + 2 * NUMBERS + WEIGHTS + BORDER),
        # autocast keeps copies of the weights and of the input in two bytes
        (
            AMP,
            "backward",
            PRODUCT / 2 + PRODUCT,
            WEIGHTS / 2 + 2 * NUMBERS + 2 * NUMBERS + WEIGHTS + BORDER,
        ),
        (
            DENSE,
            "backward",
            PRODUCT / 2 + PRODUCT,
            WEIGHTS + BORDER + 2 * NUMBERS + WEIGHTS + BORDER,
        ),
        # of currents that are zero nothing need be kept
        (ALONE, "forward", 0, BORDER + NUMBERS),
        (ALONE, "backward", 0, BORDER / 2 + 2 * NUMBERS + BORDER),
        (ALONE, "step", 0, BORDER + NUMBERS + 2 * NUMBERS + BORDER),
    ],
)
def test_work_that_nothing_can_avoid(case, phase, flops, moved):
    work = mandatory(case, network_of(case), phase, HALF)
    assert (work.flops, work.bytes) == (pytest.approx(flops), pytest.approx(moved))


def test_what_is_not_known_to_be_there_counts_nothing():
    assert mandatory(DENSE, network_of(DENSE), "forward", 0.0).flops == 0
    deep = changed(layers=3, input="dense")
    assert mandatory(deep, network_of(deep), "forward", HALF).flops == PRODUCT / 2
    assert mandatory(deep, network_of(deep), "backward", HALF).flops == PRODUCT * (0.5 + 3)


@pytest.mark.parametrize("surrogate", ["rectangle", "triangle", "sigmoid", "exponential"])
def test_gradients_that_may_be_zero_need_no_product(surrogate):
    case = changed(neuron=NeuronSpec(surrogate=surrogate), input="dense")
    assert mandatory(case, network_of(case), "backward", HALF).flops == 0
    assert mandatory(case, network_of(case), "step", HALF).flops == PRODUCT / 2


@pytest.mark.parametrize(
    "neuron", [NATIVE, *(NeuronSpec(surrogate=name) for name in ("rectangle", "straight-through"))]
)
def test_backward_of_a_neuron_alone_may_need_none_of_its_currents(neuron):
    case = changed(workload="lif", neuron=neuron)
    assert mandatory(case, network_of(case), "backward", 1.0).bytes == 2 * NUMBERS + BORDER


def conv(kernel, stride, padding=0, behind=()):
    first = Node(
        "conv1",
        "conv",
        (INPUT,),
        {"outputs": 4, "kernel": kernel, "stride": stride, "padding": padding},
    )
    return Network((2, 9, 11), (first, *behind))


@pytest.mark.parametrize(
    ("kernel", "stride", "pixels", "savings"),
    [(3, 1, 7 * 9, 4), (3, 2, 4 * 5, 1), (5, 1, 5 * 7, 1)],
)
def test_a_convolution_that_winograd_can_do_counts_a_quarter(kernel, stride, pixels, savings):
    """A direct 3×3 convolution of stride 1 is no lower bound: a floor of its flops would refuse
    true times."""
    case, network = changed(input="dense"), conv(kernel, stride)
    direct = 2 * (7 * 3 * pixels) * (2 * kernel**2) * 4
    moved = 4 * (7 * 3 * (2 * 9 * 11 + 4 * pixels) + 4 * 2 * kernel**2)
    assert mandatory(case, network, "forward", 1.0) == Work(direct / savings, moved)
    # of few spikes the direct one needs less
    assert mandatory(case, network, "forward", 0.1).flops == pytest.approx(0.1 * direct)


def test_padding_is_not_multiplied():
    taps = (9 * 5 - 2 * (2 + 1)) * (
        11 * 5 - 2 * (2 + 1)
    )  # the rows and columns at the edges miss two and one
    assert mandatory(DENSE, conv(5, 1, 2), "forward", 1.0).flops == pytest.approx(
        2 * 7 * 3 * taps * 2 * 4
    )


@pytest.mark.parametrize(
    ("kind", "options", "needed"),
    [
        ("norm", {}, True),
        ("neuron", {"neuron": NeuronSpec()}, True),
        ("flatten", {}, True),
        ("reshape", {"shape": (28, 9, 1)}, True),
        ("sum", {"axis": 0}, False),
        ("mean_time", {}, False),
        ("max_time", {}, False),
        ("integrator", {"decay": 0.5}, False),
        ("avg_pool", {"kernel": 2, "stride": 2}, False),
        ("max_pool", {"kernel": 2, "stride": 2}, False),
    ],
)
def test_a_product_that_could_be_taken_after_a_mean_is_not_mandatory(kind, options, needed):
    first = Node("conv1", "conv", (INPUT,), {"outputs": 4, "kernel": 3, "bias": False})
    network = Network((2, 9, 11), (first, Node("after", kind, ("conv1",), options)))
    assert (mandatory(DENSE, network, "forward", HALF).flops > 0) == needed


def test_behind_a_maximum_gradients_are_not_dense():
    spiking = Node("neuron1", "neuron", ("conv1",), {"neuron": NeuronSpec()})
    pools = [
        Node("pool1", f"{kind}_pool", ("neuron1",), {"kernel": 2, "stride": 2})
        for kind in ("max", "avg")
    ]
    behind_max, behind_mean = (
        mandatory(DENSE, conv(3, 1, 0, (spiking, pool)), "backward", HALF).flops for pool in pools
    )
    assert behind_max == 0 < behind_mean


@pytest.mark.parametrize(
    ("kinds", "dense"),
    [
        (["integrator"], True),
        (["integrator", "mean_time"], True),
        (["integrator", "max_time"], False),
        (["softmax_sum"], False),
        (["last_time"], False),
    ],
    ids=str,
)
def test_behind_a_node_over_time_gradients_are_dense_only_if_it_is_a_mean(kinds, dense):
    nodes = [
        Node("linear1", "linear", (INPUT,), {"outputs": 7}),
        Node("neuron1", "neuron", ("linear1",), {"neuron": NeuronSpec()}),
        Node("linear2", "linear", ("neuron1",), {"outputs": 5}),
    ]
    for kind in kinds:
        options = {"decay": 0.5} if kind == "integrator" else {}
        nodes.append(Node(kind, kind, (nodes[-1].name,), options))
    network = Network((13,), tuple(nodes))
    assert (mandatory(DENSE, network, "backward", HALF).flops > 0) == dense


def test_products_of_spikes_and_what_stands_before_them_need_no_multiplication():
    """A zero in the other factor leaves a gradient of zero."""
    case = Case("torch", workload="attention", **MANY)
    forward, backward = (
        mandatory(case, network_of(case), phase, HALF) for phase in ("forward", "backward")
    )
    assert forward.flops == backward.flops == 0


def test_of_a_network_only_weights_and_the_outer_borders_are_moved():
    case = changed(workload="contract")
    weights = 4 * 2 * 9 + 4 * 4 * 9 + 7 * 4 * 5 * 6
    given, handed_out = 7 * 3 * 2 * 9 * 11, 1 * 3 * 7
    assert mandatory(case, network_of(case), "forward", HALF).bytes == 4 * (
        weights + given + handed_out
    )
    assert (
        mandatory(case, network_of(case), "backward", HALF).bytes
        == 4 * (2 * weights + given + handed_out) + given / 8
    )


def test_a_recurrent_linear_has_no_product_at_the_first_step():
    case = changed(workload="recurrent")
    assert products(case, network_of(case))["neuron1"].flops(1.0) == 2 * 6 * 3 * 11 * 11
    assert mandatory(case, network_of(case), "forward", HALF).flops == 0, "spikes go back, and on"


def test_gradients_pass_a_neuron_that_hands_out_potentials():
    neuron = {"neuron": NeuronSpec(surrogate="rectangle"), "potentials": True}
    nodes = (
        Node("linear1", "linear", (INPUT,), {"outputs": 10}),
        Node("neuron1", "neuron", ("linear1",), neuron),
    )
    behind = (Node("linear2", "linear", ("neuron1",), {"outputs": 10}),)
    assert mandatory(CASE, Network((10,), nodes), "backward", HALF).flops == PRODUCT, (
        "the input's gradient"
    )
    assert mandatory(DENSE, Network((10,), nodes), "backward", HALF).flops == PRODUCT * 1.5
    assert mandatory(CASE, Network((10,), nodes + behind), "forward", HALF).flops == PRODUCT, (
        "potentials are no spikes"
    )
