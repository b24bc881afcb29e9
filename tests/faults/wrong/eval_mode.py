"""Adapters that are right in training mode and wrong in eval mode. Every class says how."""

from bases import OfLoop, Recurrence
from networks import Replaced
from torch.nn import functional

from snnbench.adapters.base.torch_network import Merged, layer_of


class OtherDecay(Recurrence):
    def charged(self, after, current, t):
        return (self.spec.decay if self.training else 0.875) * after + current


class DecaysFasterInEval(OfLoop):
    """Has another decay in eval mode."""

    name = "wrong-decays-faster-in-eval"
    kind = OtherDecay


class ChangedNorm(Replaced):
    kinds = ("norm",)

    def module(self, node, features):
        norm = layer_of(node, self.network)
        right = norm.forward
        norm.forward = lambda x: right(x) if norm.training else self.changed(norm, x)
        return Merged(norm)

    def modules(self, case, network):
        self.network = network
        return super().modules(case, network)


class NormsOfTheBatchInEval(ChangedNorm):
    """Normalises by the statistics of the batch in eval mode too."""

    name = "wrong-norms-of-the-batch-in-eval"

    def changed(self, norm, x):
        return functional.batch_norm(x, None, None, norm.weight, norm.bias, True, 0.0, norm.eps)


class StatisticsMoveInEval(ChangedNorm):
    """Moves the running statistics in eval mode, after they were used."""

    name = "wrong-statistics-move-in-eval"

    def changed(self, norm, x):
        mean, variance = norm.running_mean.clone(), norm.running_var.clone()
        norm.running_mean.lerp_(x.mean((0, 2, 3)), 0.1)
        return functional.batch_norm(x, mean, variance, norm.weight, norm.bias, eps=norm.eps)
