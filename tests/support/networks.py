"""Networks that the contract is tested with. No user sees them: a case names them by `workload`,
and `workload_of` knows them."""

from snnbench.core.case import Case
from snnbench.core.network import INPUT, Network, Node
from snnbench.kernels.spec import NeuronSpec
from snnbench.workloads import WORKLOADS, Workload

TINY = {"time_steps": 5, "batch": 3}
MANY = {"time_steps": 37, "batch": 3}
WIDEST = NeuronSpec("hard", detach_reset=True, decay=0.5)
"""The neuron that most frameworks have."""
LIANG = NeuronSpec("hard", decay=0.25, threshold=0.25, surrogate="rectangle")
"""Liang et al.'s neuron (DATE 2022, Tab. I): its surrogate is 1 from −0.25 to 0.75."""
FUSION = NeuronSpec("hard", decay=0.2, threshold=0.3, surrogate="rectangle")
"""Temporal fusion's neuron (ICANN 2024); the surrogate is unpublished."""


def contract(case: Case) -> Network:
    """conv – norm – neuron – max_pool – conv – norm – add – neuron – flatten – linear –
    mean_time. The shortcut is the pool behind a norm of its own: spikes as they are would make
    the second neuron fire."""
    spiking = {"neuron": case.neuron}
    return Network(
        (2, 9, 11),
        (
            Node(
                "conv1", "conv", (INPUT,), {"outputs": 4, "kernel": 3, "padding": 1, "bias": False}
            ),
            Node("norm1", "norm", ("conv1",)),
            Node("neuron1", "neuron", ("norm1",), spiking),
            Node("pool1", "max_pool", ("neuron1",), {"kernel": 3, "stride": 2, "padding": 1}),
            Node(
                "conv2",
                "conv",
                ("pool1",),
                {"outputs": 4, "kernel": 3, "padding": 1, "bias": False},
            ),
            Node("norm2", "norm", ("conv2",)),
            Node("norm3", "norm", ("pool1",)),
            Node("add1", "add", ("norm2", "norm3")),
            Node("neuron2", "neuron", ("add1",), spiking),
            Node("flatten1", "flatten", ("neuron2",)),
            Node("linear1", "linear", ("flatten1",), {"outputs": 7}),
            Node("mean1", "mean_time", ("linear1",)),
        ),
    )


def recurrent(case: Case) -> Network:
    """linear – neuron with a recurrent linear inside its time loop – linear – neuron."""
    return Network(
        (13,),
        (
            Node("linear1", "linear", (INPUT,), {"outputs": 11}),
            Node("neuron1", "neuron", ("linear1",), {"neuron": case.neuron, "recurrent": True}),
            Node("linear2", "linear", ("neuron1",), {"outputs": 9}),
            Node("neuron2", "neuron", ("linear2",), {"neuron": case.neuron}),
        ),
    )


def recurrences(case: Case) -> Network:
    """Two recurrent layers of one width."""
    recurring = {"neuron": case.neuron, "recurrent": True}
    return Network(
        (13,),
        (
            Node("linear1", "linear", (INPUT,), {"outputs": 11}),
            Node("neuron1", "neuron", ("linear1",), recurring),
            Node("linear2", "linear", ("neuron1",), {"outputs": 11}),
            Node("neuron2", "neuron", ("linear2",), recurring),
        ),
    )


def potentials(case: Case) -> Network:
    """linear – neuron – linear – neuron that hands out its potentials, for a loss of the
    membrane – mean_time."""
    return Network(
        (13,),
        (
            Node("linear1", "linear", (INPUT,), {"outputs": 11}),
            Node("neuron1", "neuron", ("linear1",), {"neuron": case.neuron}),
            Node("linear2", "linear", ("neuron1",), {"outputs": 9}),
            Node("neuron2", "neuron", ("linear2",), {"neuron": case.neuron, "potentials": True}),
            Node("mean1", "mean_time", ("neuron2",)),
        ),
    )


def readout(*heads: tuple[str, dict]):
    """Returns the function of a network linear – neuron – linear – heads, each head a kind and its
    options, named like its kind."""

    def network(case: Case) -> Network:
        nodes = [
            Node("linear1", "linear", (INPUT,), {"outputs": 11}),
            Node("neuron1", "neuron", ("linear1",), {"neuron": case.neuron}),
            Node("linear2", "linear", ("neuron1",), {"outputs": 12}),
        ]
        for kind, options in heads:
            nodes.append(Node(kind, kind, (nodes[-1].name,), options))
        return Network((13,), tuple(nodes))

    return network


def votes(case: Case) -> Network:
    """linear – neuron – vote – max_time: votes of spikes, with many equal maxima."""
    return Network(
        (13,),
        (
            Node("linear1", "linear", (INPUT,), {"outputs": 12}),
            Node("neuron1", "neuron", ("linear1",), {"neuron": case.neuron}),
            Node("vote", "vote", ("neuron1",), {"group": 3}),
            Node("max_time", "max_time", ("vote",)),
        ),
    )


LEAKY = ("integrator", {"decay": 0.9})
NORMAL = ("integrator", {"decay": 0.75, "normal": True})
READOUTS = {
    "integrator": readout(LEAKY),
    "normal": readout(NORMAL),
    "max-time": readout(LEAKY, ("max_time", {})),
    "softmax-sum": readout(NORMAL, ("softmax_sum", {})),
    "last-time": readout(("vote", {"group": 4}), LEAKY, ("last_time", {})),
    "votes": votes,
}
"""Networks with a readout over time, without a neuron behind."""


def attention(case: Case) -> Network:
    """Spikes of two grouped convolutions, in heads of three features and 15 tokens, multiplied in
    every way. The output is a whole number of eighths."""
    return Network(
        (4, 3, 5),
        (
            *_in_heads(case, 1, groups=2),
            *_in_heads(case, 2, groups=2),
            Node("product1", "product", ("reshape1", "reshape2"), {"left": True}),
            Node("product2", "product", ("reshape2", "product1"), {"scale": 1 / 8, "right": True}),
            Node("sum1", "sum", ("reshape1",), {"axis": 2}),
            Node("multiply1", "multiply", ("product2", "sum1")),
        ),
    )


def ties(case: Case) -> Network:
    """Spikes of two convolutions, multiplied and summed over tokens: whole numbers in front of a
    neuron with a threshold that many of its potentials meet exactly if it is 1 and the decay ½."""
    return Network(
        (4, 3, 5),
        (
            *_in_heads(case, 1),
            *_in_heads(case, 2),
            Node("multiply1", "multiply", ("reshape1", "reshape2")),
            Node("sum1", "sum", ("multiply1",), {"axis": 2}),
            Node("neuron3", "neuron", ("sum1",), {"neuron": case.neuron}),
        ),
    )


def _in_heads(case: Case, number: int, groups: int = 1) -> tuple[Node, ...]:
    """conv – neuron – reshape, their names with this number."""
    conv = {"outputs": 6, "kernel": 3, "padding": 1, "groups": groups}
    return (
        Node(f"conv{number}", "conv", (INPUT,), conv),
        Node(f"neuron{number}", "neuron", (f"conv{number}",), {"neuron": case.neuron}),
        Node(f"reshape{number}", "reshape", (f"neuron{number}",), {"shape": (2, 3, 15)}),
    )


NETWORKS = {
    **{
        name: Workload(name, network, axes=(), small={"time_steps": 37, "batch": 3})
        for name, network in READOUTS.items()
    },
    "contract": Workload("contract", contract, axes=(), small=TINY),
    "attention": Workload("attention", attention, axes=(), small=MANY),
    "ties": Workload("ties", ties, axes=(), small=MANY),
    "recurrent": Workload("recurrent", recurrent, axes=(), small=MANY),
    "recurrences": Workload("recurrences", recurrences, axes=(), small=MANY),
    "potentials": Workload("potentials", potentials, axes=(), small=MANY),
}


def workload_of(case: Case) -> Workload:
    """The workload that a case names, of the product or of the tests."""
    return {**WORKLOADS, **NETWORKS}[case.workload]


def network_of(case: Case) -> Network:
    return workload_of(case).network(case)


def sized(workload: str, **changes) -> Case:
    """A case of a network at its small odd sizes, in the common neuron."""
    case = Case(
        "torch",
        workload=workload,
        neuron=WIDEST,
        width=8,
        image=16,
        classes=10,
        norm=True,
        neurons=97,
        inputs=61,
        outputs=7,
        recurrent=True,
        readout="max_time",
        heads=1,
    )
    named = workload_of(case)
    return named.small_case(named.canonical(case), **changes)
