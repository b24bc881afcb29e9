"""The named networks: each a function from a case to a network, in a file of its own, listed
here."""

from ..core.case import Case
from .alexnet import alexnet
from .cifar import cifar_large, cifar_medium, cifar_small
from .conv_lif import conv_lif
from .data import data
from .frames_mlp import frames_mlp
from .lif import lif
from .linear_lif import linear_lif, one_layer
from .mnist_mlp import mnist_mlp
from .own import own
from .recurrent_lif import recurrent_lif
from .resnet import resnet34, sew_resnet18, spiking_resnet18, spiking_resnet34, spiking_resnet50
from .workload import Workload

LAYERS = (linear_lif, lif, conv_lif, recurrent_lif)
NETWORKS = (
    *(frames_mlp, mnist_mlp, cifar_small, cifar_medium, cifar_large, alexnet, resnet34),
    *(spiking_resnet18, spiking_resnet34, spiking_resnet50, sew_resnet18),
)
WORKLOADS: dict[str, Workload] = {each.name: each for each in (*LAYERS, *NETWORKS, data, own)}
"""Every workload by its name."""


def workload_of(case: Case) -> Workload:
    return WORKLOADS[case.workload]


__all__ = ["WORKLOADS", "Workload", "one_layer", "workload_of"]
