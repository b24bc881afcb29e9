"""Batch norms with the statistics of all ranks."""

from typing import Any

import torch
from torch import Tensor, nn

from snnbench.core.contract import Unsupported
from snnbench.kernels.batch_norm_lif.ranks import Group, merged, summed

PLAIN = (nn.BatchNorm1d, nn.BatchNorm2d)


class _Normalised(torch.autograd.Function):
    """(x − μ)·r of items (M, C, …), with μ and r = 1/√(variance + ε) over all ranks; gradients by x
    are those of the whole."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, epsilon: float, group: Group
    ) -> tuple[Tensor, Tensor, Tensor, int]:
        others = [axis for axis in range(x.dim()) if axis != 1]
        variance, mean = torch.var_mean(x, others, correction=0)
        mean, variance, count = merged(mean, variance, x.numel() // x.shape[1], group)
        shape = (1, -1, *(1,) * (x.dim() - 2))
        rate = torch.rsqrt(variance + epsilon)
        normalised = (x - mean.view(shape)) * rate.view(shape)
        ctx.save_for_backward(normalised, rate)
        ctx.group, ctx.count, ctx.others, ctx.shape = group, count, others, shape
        ctx.mark_non_differentiable(mean, variance)
        return normalised, mean, variance, count

    @staticmethod
    def backward(ctx: Any, error: Tensor, *_: Any) -> tuple[Tensor, None, None]:
        normalised, rate = ctx.saved_tensors
        sums = summed(
            torch.stack([error.sum(ctx.others), (error * normalised).sum(ctx.others)]), ctx.group
        )
        total, product = (each.view(ctx.shape) / ctx.count for each in sums)
        return (error - total - normalised * product) * rate.view(ctx.shape), None, None


class SynchronisedNorm(nn.modules.batchnorm._BatchNorm):
    """`nn.BatchNorm` over the items of all ranks: in training one all_gather in forward, one
    all_reduce in backward; in eval mode it uses the running statistics. It shares parameters and
    running statistics with `norm`. torch's own SyncBatchNorm takes no CPU tensors."""

    def __init__(self, norm: nn.modules.batchnorm._BatchNorm, group: Group) -> None:
        super().__init__(
            norm.num_features, norm.eps, norm.momentum, norm.affine, norm.track_running_stats
        )
        self.weight, self.bias, self.group = norm.weight, norm.bias, group
        self.running_mean, self.running_var = norm.running_mean, norm.running_var
        self.num_batches_tracked = norm.num_batches_tracked

    def _check_input_dim(self, input: Tensor) -> None:
        """Takes an input of any dims, for the superclass."""

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        shape = (1, -1, *(1,) * (x.dim() - 2))
        normalised, mean, variance, count = _Normalised.apply(x, self.eps, self.group)
        with torch.no_grad():
            rate, unbiased = self.momentum or 0.0, count / max(count - 1, 1)
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), rate)
            self.running_var.lerp_((variance * unbiased).to(self.running_var.dtype), rate)
        return normalised * self.weight.view(shape) + self.bias.view(shape)


def synchronise(network: nn.Module, group: Group) -> None:
    """Gives every batch norm in `network` the statistics of all ranks. Raises Unsupported for a
    framework's own norm."""
    for parent in list(network.modules()):
        for name, child in list(parent.named_children()):
            if type(child) in PLAIN:
                setattr(parent, name, SynchronisedNorm(child, group))
            elif isinstance(child, SynchronisedNorm):
                continue
            elif isinstance(child, nn.modules.batchnorm._BatchNorm):
                if not hasattr(child, "process_group"):
                    raise Unsupported(
                        f"{type(child).__name__} takes statistics of its own rank's items only"
                    )
                child.process_group = group
