"""The named networks, each a function from a case to a network."""

from ..core.case import Case
from .base import Workload
from .convnets import (
    alexnet,
    cifar_large,
    cifar_medium,
    cifar_small,
    conv_large,
    conv_medium,
    conv_small,
)
from .layers import conv_lif, lif, linear_lif, one_layer, recurrent_lif
from .parallel import masked_psn, psn, sliding_psn
from .perceptrons import data, frames_mlp, mlp, mnist_mlp
from .resnet import resnet34, sew_resnet18, spiking_resnet18, spiking_resnet34, spiking_resnet50
from .sequences import adding, psmnist, shd, shd_delays, ssc
from .transformers import sdt_block, sdt_v3_block, spikformer, spikformer_block
from .user_network import user_network

LAYERS = (linear_lif, lif, conv_lif, recurrent_lif)
NETWORKS = (
    *(mlp, frames_mlp, mnist_mlp, cifar_small, cifar_medium, cifar_large, alexnet, resnet34),
    *(conv_small, conv_medium, conv_large),
    *(spiking_resnet18, spiking_resnet34, spiking_resnet50, sew_resnet18),
    *(shd, ssc, psmnist, adding, shd_delays),
    *(psn, masked_psn, sliding_psn),
    *(spikformer_block, sdt_block, spikformer, sdt_v3_block),
)
WORKLOADS: dict[str, Workload] = {
    each.name: each for each in (*LAYERS, *NETWORKS, data, user_network)
}
"""Every workload by its name."""
PARTS = (*LAYERS, psn, masked_psn, sliding_psn, spikformer_block, sdt_block, sdt_v3_block)
"""Workloads that stand inside a network: their backward hands on the gradient of their input."""
WHOLE = tuple(each.name for each in NETWORKS if each not in PARTS)
"""Names of networks that begin at the data, which training asks for no gradient."""


def workload_of(case: Case) -> Workload:
    return WORKLOADS[case.workload]


__all__ = ["WHOLE", "WORKLOADS", "Workload", "one_layer", "workload_of"]
