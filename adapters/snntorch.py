"""snnTorch (https://snntorch.readthedocs.io): `Leaky`, one call per step, and its two neurons
without a loop.

- `default`, `stepwise`: `Leaky`. Its own `subtract` reset takes θ off *after* the decay and
  detached, one of the neurons of `soft-undecayed`; for `soft` the reset is applied here to the
  membrane that `Leaky` returns, the purpose of its `reset_mechanism="none"`. With a synaptic
  current `Synaptic`, which adds a step's input before it uses the current; the reset is applied
  here, for its own clears the current too.
- `lapicque`: `Lapicque`, with the resistance and capacitance of the decay.
- `state-leaky`: `StateLeaky`, a convolution over time, no reset.
- `linear-leaky`: `LinearLeaky`, the same with the linear layer inside.
- `rleaky`: recurrent neurons are `RLeaky`, its Linear without the bias. Its own `subtract` is that
  of `soft-undecayed`; for `soft` and `hard` the reset is applied here. Its own `zero` is neither:
  after a spike all of the step's current is lost, input and feedback.
- `layers`: torch's layers and `Leaky(init_hidden=True)` in a `Sequential` that is called once for
  each step after `utils.reset`, as tutorials write it.
"""

from math import log, prod
from types import MappingProxyType

from snnbench.core.case import Case
from snnbench.core.contract import Unsupported
from snnbench.core.network import Network
from snnbench.kernels.surrogates import derivative

from .base.spikes import reset
from .base.torch_adapter import TorchAdapter, torch_constructions

OTHER_FAMILIES = {
    "alpha": (
        "Alpha's membrane is the difference of two currents that decay, which is no neuron of the "
        "equations here"
    ),
    "rsynaptic": (
        "RSynaptic feeds spikes back by a layer of its own; a linear from the spikes of a Synaptic "
        "to its currents is offered here"
    ),
    "slstm": "SLSTM has the gates of an LSTM, and no membrane that decays by a constant",
    "sconv2dlstm": (
        "SConv2dLSTM has the gates of an LSTM, and no membrane that decays by a constant"
    ),
}
"""Reasons why snnTorch's other neurons are not offered."""
SIGMOID = (
    "snnTorch's own sigmoid overflows to NaN far below the threshold: its formula is written here "
    "without the overflow, by custom_surrogate"
)
PARALLEL = {"state-leaky": "StateLeaky", "linear-leaky": "LinearLeaky"}


class SnnTorch(TorchAdapter):
    name = "snntorch"
    requires = ("torch", "snntorch")
    constructions = {
        **torch_constructions("synaptic", "learning"),
        "lapicque": set(),
        "state-leaky": {"uncut"},
        "linear-leaky": {"uncut", "linear"},
        "layers": {"chain", "container", "learning"},
        "rleaky": {"feedback", "learning"},
        **{name: set() for name in OTHER_FAMILIES},
    }
    learned_decays = MappingProxyType({"direct": "beta"})

    def supports(self, case: Case) -> str | None:
        spec = case.spec
        if reason := OTHER_FAMILIES.get(case.construction):
            return reason
        if spec.max_spikes > 1:
            return "snnTorch's neurons fire once a step"
        if spec.decay == 1 and case.construction == "lapicque":
            return "Lapicque always leaks"
        if spec.reset == "hard" and case.construction == "lapicque":
            return "Lapicque's reset to zero comes a step late and loses that step's input"
        if spec.current_decay is not None:
            return None
        if neuron := PARALLEL.get(case.construction):
            return None if spec.reset == "none" else f"{neuron} never resets"
        if spec.reset == "hard-straight" or (
            spec.reset == "soft-undecayed" and not spec.detach_reset
        ):
            return f"Leaky has no reset {spec.reset!r} with this gradient"
        if spec.reset == "hard" and not spec.detach_reset:
            return "Leaky's hard reset is always detached"
        if case.construction == "layers" and spec.reset == "soft":
            return (
                "Leaky's own subtraction is soft-undecayed, and a Leaky that keeps its membrane "
                "itself takes no other"
            )
        if case.construction == "layers" and case.precision in ("bf16", "fp16"):
            return (
                f"Leaky's spikes are float32, and layers behind them, here in {case.precision}, "
                "take them unconverted"
            )
        return None

    def neuron(self, spec, features):
        return (
            loop(leaky_of(spec), spec if spec.reset == "soft" else None)
            if spec.current_decay is None
            else synaptic_loop(spec)
        )

    def recurrent(self, spec, neurons, construction):
        if construction != "rleaky":
            return super().recurrent(spec, neurons, construction)
        from snntorch import RLeaky

        how = {**resetting(spec), "reset_mechanism": "none"} if applied(spec) else resetting(spec)
        leaky = RLeaky(spec.decay, linear_features=neurons, **how)
        leaky.recurrent.bias = None
        return recurrent_loop(leaky, spec if applied(spec) else None)

    def modules(self, case: Case, network: Network):
        if case.construction != "layers":
            return super().modules(case, network)
        from torch.nn import Sequential

        from .base.torch_containers import Chain, modules_by_node

        by_node = modules_by_node(
            network, {"neuron": lambda node: leaky_of(node.options["neuron"], init_hidden=True)}
        )
        return {
            tuple(by_node): Chain(
                by_node, network.neurons, Sequential(*by_node.values()), each_step
            )
        }

    def lif(self, spec, features, construction):
        if construction == "lapicque":
            from snntorch import Lapicque

            membrane = {"R": 1 / (1 - spec.decay), "C": 1.0, "time_step": 1.0}
            return loop(
                Lapicque(**membrane, **resetting(spec)), spec if spec.reset == "soft" else None
            )
        if construction != "state-leaky":
            return super().lif(spec, features, construction)
        from snntorch import StateLeaky

        return spikes_only(StateLeaky, beta_of(spec), prod(features), **options(spec))

    def potentials(self, spec, features, construction):
        from .base.time_loop import Potentials

        return Potentials(self.lif(spec, features, construction))

    def layer(self, spec, inputs, outputs, bias, construction):
        if construction != "linear-leaky":
            return super().layer(spec, inputs, outputs, bias, construction)
        from snntorch import LinearLeaky

        return spikes_only(LinearLeaky, beta_of(spec), inputs, outputs, bias=bias, **options(spec))

    def refuses(self, case: Case, network: Network) -> str | None:
        if case.construction == "layers" and network.has_neuron("potentials"):
            return "a Leaky that keeps its membrane itself is offered without handing it out"
        return super().refuses(case, network)

    def facts(self, case: Case) -> dict:
        written = not case.native and case.spec.surrogate == "sigmoid"
        return {"warnings": [SIGMOID]} if written else {}

    def native(self, features):
        """Leaky(beta=0.95): β = 0.95, subtracts θ undecayed and detached, surrogate atan(2).

        Source: snnTorch's tutorial 5, "Training Spiking Neural Networks with snntorch"
        (docs/tutorials/tutorial_5.rst), and the defaults of `snntorch.Leaky`. The linear layer
        stands before the loop over time, not in it as in the tutorial.
        """
        from snntorch import Leaky

        return loop(Leaky(beta=0.95))


def leaky_of(spec, **how):
    from snntorch import Leaky

    learning = {} if spec.learned_decay is None else {"learn_beta": True}
    try:
        return Leaky(spec.decay, **learning, **resetting(spec), **how)
    except ValueError as error:
        if "reset_mechanism" not in str(error):
            raise
        raise Unsupported(f"this version's Leaky always resets by itself: {error}") from None


def resetting(spec) -> dict:
    return {
        "reset_mechanism": {"hard": "zero", "soft-undecayed": "subtract"}.get(spec.reset, "none"),
        **options(spec),
    }


def each_step(net, x):
    import torch
    from snntorch import utils

    utils.reset(net)
    return torch.stack([net(step) for step in x.unbind(0)])


def loop(leaky, spec=None):
    """Returns the loop of a `Leaky`; the reset of `spec`, if given, is applied here to the
    membrane, which `Leaky` hands out as it was before the spike."""
    import torch

    from .base.time_loop import Firing

    class Loop(Firing):
        def __init__(self):
            super().__init__()
            self.leaky = leaky

        def fire(self, current, mem):
            spike, mem = self.leaky(current, torch.zeros_like(current) if mem is None else mem)
            return spike, mem, mem if spec is None else reset(spec, mem, spike, torch.Tensor.detach)

    return Loop()


def applied(spec) -> bool:
    """Returns True if the reset of a recurrent `spec` is applied here, to the membrane."""
    return spec.reset in ("soft", "hard")


def recurrent_loop(leaky, spec):
    """Returns the TimeLoop of an `RLeaky`; the reset of `spec`, if given, is applied here to the
    membrane."""
    import torch

    from .base.time_loop import TimeLoop

    class Loop(TimeLoop):
        def __init__(self):
            super().__init__()
            self.leaky = leaky

        def step(self, current, state):
            spike, mem = state or (torch.zeros_like(current), torch.zeros_like(current))
            spike, mem = self.leaky(current, spike, mem)
            after = mem if spec is None else reset(spec, mem, spike, torch.Tensor.detach)
            return spike, (spike, after)

    return Loop()


def synaptic_loop(spec):
    """Returns the loop of a `Synaptic`; the reset of `spec` is applied here to the membrane."""
    import torch
    from snntorch import Synaptic

    from .base.time_loop import Firing

    class Loop(Firing):
        def __init__(self):
            super().__init__()
            self.lif = Synaptic(
                spec.current_decay, spec.decay, reset_mechanism="none", **options(spec)
            )

        def fire(self, current, state):
            syn, mem = state or (torch.zeros_like(current), torch.zeros_like(current))
            spike, syn, mem = self.lif(current, syn, mem)
            return spike, mem, (syn, reset(spec, mem, spike, torch.Tensor.detach))

    return Loop()


def options(spec) -> dict:
    """Returns the options that its neurons share: the threshold, and snnTorch's surrogate for σ' of
    `spec`, or a custom one where it has none. Its own sigmoid overflows: exp(−k·u) is infinite
    where k·u is below −88. The height of its atan(α) is α/2, so only atan(2) is one of ours."""
    import torch
    from snntorch import surrogate

    slope_at = derivative(spec, torch)
    surrogates = {
        "superspike": lambda: surrogate.fast_sigmoid(slope=spec.slope),
        "straight-through": lambda: surrogate.straight_through_estimator(),
    }
    if spec.slope == 1:
        surrogates["atan"] = lambda: surrogate.atan(alpha=2.0)

    def written():
        return surrogate.custom_surrogate(lambda u, gradient, spikes: gradient * slope_at(u))

    return {"threshold": spec.threshold, "spike_grad": surrogates.get(spec.surrogate, written)()}


def beta_of(spec):
    """Returns the `beta` of `StateLeaky`, which decays by exp(−(1 − beta)) per step."""
    import torch

    return torch.tensor(1 + log(spec.decay))


def spikes_only(kind, *arguments, **options):
    """Returns a neuron of `kind`, which returns spikes and membrane, reduced to its spikes."""

    class Spikes(kind):
        def forward(self, x):
            spikes = super().forward(x.flatten(2))[0]
            return spikes.unflatten(2, x.shape[2:]) if x.dim() > 3 else spikes

    return Spikes(*arguments, **options)
