"""Batch normalisation and the neuron as a module for any torch model."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from ..lif.autograd import suffices
from ..lif.functional import LIFOutput, cached_options, lif, options_of, request_of
from ..spec import NeuronSpec
from ..spike_marks import mark
from .autograd import NormalisedNeuron
from .operator import batch_norm_lif_op
from .statistics import scale_and_shift

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


class BatchNormLIF(torch.nn.modules.batchnorm._BatchNorm):
    """Batch normalisation and the neuron: currents (T, B, C, …) → spikes (T, B, C, …).

    Outputs, gradients and running statistics equal those of `nn.BatchNorm` on (T·B, C, …) followed
    by `LIF`; the module loads the `state_dict` of an `nn.BatchNorm`. In `eval` mode the running
    statistics give the neuron's scale and shift. The first arguments are those of `nn.BatchNorm`,
    `channel_dim` is the dim C of the currents, and the others are those of `LIF`. Raises the errors
    of `lif`, and ValueError if the currents do not have `num_features` channels or, in training,
    have a single value for each channel.

    With a `process_group` of torch.distributed, statistics cover the parts of all its ranks, of any
    sizes, also empty: one all_gather in forward and one all_reduce in backward, so all ranks must
    call together. Gradients by the currents are those of the whole batch; those by `weight` and
    `bias` cover the rank's part and are to be summed over ranks, as DistributedDataParallel does.
    Such a layer cannot be compiled.

    Example:

        >>> layer = BatchNormLIF(64, NeuronSpec("hard"))
        >>> layer(torch.randn(100, 16, 64, 8, 8)).shape
        torch.Size([100, 16, 64, 8, 8])
    """

    def __init__(
        self,
        num_features: int,
        spec: NeuronSpec | None = None,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        channel_dim: int = 2,
        spikes_dtype: torch.dtype | str | None = None,
        return_state: bool = False,
        trace: bool = False,
        backend: str | None = None,
        process_group: "ProcessGroup | None" = None,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats)
        self.spec, self.channel_dim, self.return_state = (
            spec or NeuronSpec(),
            channel_dim,
            return_state,
        )
        self.process_group = process_group
        self.options: dict[str, Any] = {
            "spikes_dtype": spikes_dtype,
            "trace": trace,
            "backend": backend,
        }

    def forward(self, currents: Tensor, state: Tensor | None = None) -> Tensor | LIFOutput:
        if currents.shape[self.channel_dim] != self.num_features:
            channels = f"{self.num_features} channels in dim {self.channel_dim}"
            raise ValueError(f"currents {tuple(currents.shape)} need {channels}")
        # Other ranks wait for an empty part too.
        has_values = currents.numel() > 0 or self.process_group is not None
        if has_values and (self.training or self.running_mean is None):
            out = self._normalised_by_the_batch(currents, state)
        else:
            scale, shift = self.weight, self.bias
            if currents.numel():
                scale, shift = scale_and_shift(
                    self.running_mean, self.running_var, scale, shift, self.eps
                )
            out = lif(
                currents,
                self.spec,
                state=state,
                scale=scale,
                shift=shift,
                channel_dim=self.channel_dim,
                **self.options,
            )
        return out if self.return_state or self.options["trace"] else out.spikes

    def _normalised_by_the_batch(self, currents: Tensor, state: Tensor | None) -> LIFOutput:
        if currents.numel() == self.num_features and self.process_group is None:
            raise ValueError(
                "training needs more than one value a channel, currents are"
                f" {tuple(currents.shape)}"
            )
        tensors = (currents, state, self.weight, self.bias)
        request = request_of(tensors, self.spec, self.channel_dim, **self.options)
        if suffices(tensors):
            options = cached_options(request)
            spikes, final_state, trace, mean, variance, count = NormalisedNeuron.apply(
                *tensors, self.eps, options, self.process_group
            )
        elif self.process_group is not None:
            raise RuntimeError(
                "BatchNormLIF with a process group runs in plain eager calls: no compiler,"
                " transform or mode"
            )
        else:
            options = options_of(*request)
            spikes, final_state, trace, _, mean, variance = batch_norm_lif_op(
                *tensors, self.eps, *options.arguments()
            )
            count = currents.numel() // self.num_features
        if self.training and self.track_running_stats:
            self.update_statistics(mean.detach(), variance.detach(), count)
        if options.spikes != "bits":
            mark(spikes, self.spec.max_spikes)
        return LIFOutput(spikes, final_state, trace if options.trace else None)

    @torch.no_grad()
    def update_statistics(self, mean: Tensor, variance: Tensor, count: int) -> None:
        """Updates running statistics as `nn.BatchNorm` does; `count` is the numbers in a
        channel."""
        self.num_batches_tracked.add_(1)
        rate = 1.0 / self.num_batches_tracked if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), rate)
        self.running_var.lerp_(
            (variance * (count / max(count - 1, 1))).to(self.running_var.dtype), rate
        )

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, {self.spec.label()}"
