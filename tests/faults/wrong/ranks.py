"""What goes wrong where ranks compute together. The machinery is ours: a rank that imports this
file has another one."""

import torch.distributed as dist

from snnbench.adapters.ranks import member, time
from snnbench.adapters.ranks.norms import synchronise
from snnbench.adapters.torch_loop import TorchLoop

RIGHT = member.share


class OwnStatistics(TorchLoop):
    """Its norms know their process group and take the statistics of their rank's items."""

    name = "own-statistics"

    def modules(self, case, network):
        from snnbench.adapters.base.torch_network import Merged, layer_of

        made = super().modules(case, network)
        for node in (node for node in network.nodes if node.kind == "norm"):
            norm = layer_of(node, network)
            norm.__class__ = type("Alone", (type(norm),), {"process_group": None})
            made[(node.name,)] = Merged(norm)
        return made


class MeanOfMeans(TorchLoop):
    """The loss is the mean of each rank's items, and gradients are averaged, as DDP does."""

    name = "mean-of-means"

    def prepare(self, case, threads):
        super().prepare(case, threads)
        member.share = lambda program, share: RIGHT(program, 1 / dist.get_world_size())


class Unreduced(TorchLoop):
    """No gradient is reduced over ranks."""

    name = "unreduced"

    def prepare(self, case, threads):
        super().prepare(case, threads)
        member.share = lambda program, share: synchronise(program.network, dist.group.WORLD)


class Truncates(TorchLoop):
    """The state that a rank begins with has no gradient."""

    name = "truncates"

    def prepare(self, case, threads):
        super().prepare(case, threads)
        time.Receive.backward = staticmethod(no_gradient)


def no_gradient(ctx, gradient):
    ctx.before.send(0 * gradient)
    return None, None, None
