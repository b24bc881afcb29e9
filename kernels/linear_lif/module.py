"""A linear layer and its neuron as a module, to drop into any torch model."""

from collections.abc import Sequence
from itertools import pairwise

import torch

from ..spec import NeuronSpec
from .functional import INPUTS, OPERANDS, apply
from .split_formats import TIERS


class LinearLIF(torch.nn.Module):
    """Linear over all T·B rows at once, then the neuron: (T, B, …, inputs) → spikes (T, B, …, outputs).

    tier          None: the library's product in the parameters' type. "fp32", "fp32-pair", "tf32" or "bf16": on CUDA devices,
                  float32 weights as short operands of tensor cores, as accurate as the name says (`splits.TIERS`,
                  `products`); on CPUs the plain float32 product, which is within every tier's bound. Not run on a GPU yet.
    input         "spikes": whole numbers from 0 to `input_counts`, exact in short operands; "dense": any numbers. None: spikes
                  if one of our modules made the tensor and nobody has written to it since, else dense; under torch.compile
                  dense. Values are never looked at, unless `check`, or the environment variable SNNBENCH_CHECK_INPUTS, asks
                  for an error where what counts as spikes is not.
    recompute     keep no currents for the backward pass, but multiply again, 32 steps at a time, and keep the input in bits (or
                  bytes) if it is spikes: memory beyond input and output hardly grows with T.
    spikes_dtype  default: that of the weight, in tier bf16 bfloat16. In plain calls short spikes carry the gradient that
                  the tier computes: float32 but in tier bf16; under torch.compile it is rounded to theirs. "operands": the
                  type that a next layer of this tier multiplies, where the gradient is not rounded to it.
    emulate       on a CPU too, multiply the tier's short operands, in float32: slow, to see what a tensor core would be given.

    The bias is added by the neuron, whose backward pass sums up its gradient too. Under autocast the product is the library's
    in autocast's type. Takes the `state_dict` of an `nn.Linear`, and of earlier versions (`linear.weight`).
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
            raise ValueError(f"input_counts = {input_counts!r} must be a whole number of at least 1")
        self.linear = torch.nn.Linear(inputs, outputs, bias=bias)
        self.spec = spec or NeuronSpec()
        self.options = {
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
        cls, sizes: Sequence[int], bias: bool = True, spec: NeuronSpec | None = None, *, input: str | None = None, **options
    ) -> torch.nn.Sequential:
        """Layers sizes[0] → sizes[1] → … of one neuron; `input` is what the first is given, the other options are of all.

        Between layers are spikes, and said to be. They are written in the type of the tier's operands, which the next product
        reads: none is in float32 where those are short. Takes the `state_dict` of a Sequential of `nn.Linear`.
        """
        if len(sizes) < 2:
            raise ValueError(f"sizes = {list(sizes)}: a stack needs those of its input and of at least one layer")
        spec, last = spec or NeuronSpec(), len(sizes) - 2
        inner = {**options, "input": "spikes", "input_counts": spec.max_spikes}
        layers = []
        for index, (inputs, outputs) in enumerate(pairwise(sizes)):
            told = {**options, "input": input} if index == 0 else inner
            handed_on = {} if index == last else {"spikes_dtype": OPERANDS}
            layers.append(cls(inputs, outputs, bias, spec, **told | handed_on))
        return torch.nn.Sequential(*layers)

    @classmethod
    def of(cls, linear: torch.nn.Linear, spec: NeuronSpec | None = None, **options) -> "LinearLIF":
        """The layer `linear`, its parameters shared, and a neuron."""
        made = cls(linear.in_features, linear.out_features, linear.bias is not None, spec, **options)
        made.linear = linear
        return made

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return apply(x, self.linear.weight, self.linear.bias, self.spec, **self.options)

    def _load_from_state_dict(self, state, prefix, *more):
        for name in ("weight", "bias"):
            if prefix + name in state:
                state[f"{prefix}linear.{name}"] = state.pop(prefix + name)
        super()._load_from_state_dict(state, prefix, *more)

    def extra_repr(self) -> str:
        told = {name: value for name, value in self.options.items() if value not in (None, False) and name != "input_counts"}
        return ", ".join([self.spec.label(), *(f"{name}={value}" for name, value in told.items())])
