"""A linear layer and its neuron as a module for any torch model."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch

from ..plans import CallPlans
from ..spec import NeuronSpec
from ..spike_marks import mark, words_of_spikes
from .functional import INPUTS, OPERANDS, kind_of, linear_lif, planned
from .fused import CallPlan
from .operator import Layer
from .split_formats import TIERS


class LinearLIF(torch.nn.Module):
    """A linear layer over all T·B rows at once, then the neuron: (T, B, …, inputs) → spikes (T, B,
    …, outputs).

    tier          None: products in the parameters' type. "fp32", "fp32-pair", "tf32" or "bf16": on
                  CUDA devices float32 weights become short operands of tensor cores with that
                  accuracy (`split_formats.TIERS`, `split_products`). CPUs multiply in float32,
                  within every tier's error bound.
    input         "spikes": whole numbers from 0 to `input_counts`, which short operands hold
                  exactly; "dense": any numbers. None: spikes if the tensor has a valid mark
                  (`spike_marks`), otherwise dense; always dense under torch.compile.
    check         raise ValueError if an input of spikes holds anything else; so does the
                  environment variable SNNBENCH_CHECK_INPUTS if it is not empty. Otherwise CPUs
                  multiply such an input densely, and GPUs do not check.
    recompute     recompute currents in backward, 32 steps at a time, instead of saving them, and
                  save an input of spikes in bits or bytes. Memory beyond input and output then
                  hardly grows with T.
    spikes_dtype  default: the weight's type, or bfloat16 in tier bf16. In eager calls short spikes
                  have a float32 gradient (in tier bf16 a bfloat16 one); torch.compile rounds it to
                  the spikes' type. "operands": the type that a next layer of this tier multiplies,
                  if the gradient is not rounded to it.
    emulate       multiply the tier's short operands on CPUs too, in float32: slow, but with a
                  tensor core's inputs.
    backend       as for `lif`.

    The neuron adds the bias, and its backward pass sums the bias's gradient. Under autocast the
    library multiplies in autocast's type. The module also loads the `state_dict` of an `nn.Linear`.
    Raises ValueError or TypeError, naming the argument, if an argument is invalid.

    Example:

        >>> layer = LinearLIF(700, 128, spec=NeuronSpec("soft"), input="spikes", recompute=True)
        >>> layer(torch.randint(0, 2, (100, 16, 700)).float()).shape
        torch.Size([100, 16, 128])
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        bias: bool = True,
        spec: NeuronSpec | None = None,
        *,
        tier: str | None = None,
        input: str | None = None,
        input_counts: int = 1,
        recompute: bool = False,
        spikes_dtype: torch.dtype | str | None = None,
        check: bool = False,
        emulate: bool = False,
        backend: str | None = None,
    ):
        super().__init__()
        if tier is not None and tier not in TIERS:
            raise ValueError(f"tier = {tier!r} is not one of {', '.join(TIERS)}")
        if input not in INPUTS:
            raise ValueError(f'input = {input!r} is not "spikes", "dense" or None')
        if type(input_counts) is not int or input_counts < 1:
            raise ValueError(
                f"input_counts = {input_counts!r} must be a whole number of at least 1"
            )
        self.linear = torch.nn.Linear(inputs, outputs, bias=bias)
        self.spec = spec or NeuronSpec()
        self._plans = CallPlans[CallPlan | None]()
        self.options: dict[str, Any] = {
            "input": input,
            "input_counts": input_counts,
            "recompute": recompute,
            "check": check,
            "tier": tier,
            "emulate": emulate,
            "spikes_dtype": spikes_dtype,
            "backend": backend,
        }

    @classmethod
    def stack(
        cls,
        sizes: Sequence[int],
        bias: bool = True,
        spec: NeuronSpec | None = None,
        *,
        input: str | None = None,
        **options,
    ) -> torch.nn.Sequential:
        """Returns layers sizes[0] → sizes[1] → … with one neuron; `input` is for the first layer
        alone.

        Layers return spikes in the type of the tier's operands, so that the next product needs no
        conversion. The stack loads the `state_dict` of a Sequential of `nn.Linear`. Raises
        ValueError for fewer than two sizes.
        """
        if len(sizes) < 2:
            raise ValueError(
                f"sizes = {list(sizes)}: a stack needs those of its input and of at least one layer"
            )
        spec, last = spec or NeuronSpec(), len(sizes) - 2
        inner = {**options, "input": "spikes", "input_counts": spec.max_spikes}
        layers = []
        for index, (inputs, outputs) in enumerate(pairwise(sizes)):
            layer_options = {**options, "input": input} if index == 0 else inner
            cast_spikes = {} if index == last else {"spikes_dtype": OPERANDS}
            layers.append(cls(inputs, outputs, bias, spec, **layer_options | cast_spikes))
        return torch.nn.Sequential(*layers)

    @classmethod
    def of(cls, linear: torch.nn.Linear, spec: NeuronSpec | None = None, **options) -> "LinearLIF":
        """Returns a module that shares the parameters of `linear`."""
        module = cls(
            linear.in_features, linear.out_features, linear.bias is not None, spec, **options
        )
        module.linear = linear
        return module

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight, bias = self.linear.weight, self.linear.bias
        kind = None if torch.compiler.is_compiling() else kind_of(x, weight, bias)
        if kind is not None and kind not in self._plans:
            self._plans[kind] = planned(x, weight, bias, self.spec, **self.options)
        if kind is None or (plan := self._plans[kind]) is None:
            return linear_lif(x, weight, bias, self.spec, **self.options)
        words = weight.new_empty(plan.next_words, dtype=torch.int64) if plan.next_words else None
        spikes = Layer.apply(
            x, weight, bias, plan, words_of_spikes(x) if plan.counts == 1 else None, words
        )
        mark(spikes, self.spec.max_spikes, words)
        return spikes

    def _load_from_state_dict(self, state, prefix, *more):
        for name in ("weight", "bias"):
            if prefix + name in state:
                state[f"{prefix}linear.{name}"] = state.pop(prefix + name)
        super()._load_from_state_dict(state, prefix, *more)

    def extra_repr(self) -> str:
        options = {
            name: value
            for name, value in self.options.items()
            if value not in (None, False) and name != "input_counts"
        }
        return ", ".join(
            [self.spec.label(), *(f"{name}={value}" for name, value in options.items())]
        )
