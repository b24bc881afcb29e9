"""Norse (https://norse.github.io): `LIFBox`, which has no synapse, and `LIF` with
its synapse switched off.

- `default`, `stepwise`: the step function of `LIFBox`, lifted over time by `SNN`, from a state made
  here.
- `lif-box-cell`: `Lift(LIFBoxCell(...))`, as users write it.
- `lif`: `LIF(...)`, as users write it; without a leak `IAF(...)`. Its synaptic current decays by 1
  − dt/τ_syn; without a synapse dt/τ_syn = 1 forgets it within a step. The reset is hard and
  attached, `{ reset = "hard", detach_reset = false }`.
- `lsnn`: `SNN(lsnn_feed_forward_step, …)`, an adaptive threshold with a hard, attached reset. Its
  synaptic current is forgotten within a step as above, and drives the potential one step later: it
  gets one extra step without current, and its first output is dropped.
- `layers`: `Lift(SequentialState(...))` of torch's layers and `LIFBoxCell`, as users write it.

All but `IAF` multiply their input by dt/τ_mem = 1 − decay, so the currents are scaled by the
inverse. `super` gets an alpha although these versions ignore it: the slope is 1 either way.
"""

from snnbench.core.case import Case
from snnbench.core.network import Network

from .base.torch_adapter import TorchAdapter

METHODS = {
    ("superspike", 1): ("super", 1.0),
    ("triangle", 1): ("triangle", 1.0),
    ("sigmoid", 4): ("tanh", 2.0),
}
"""Surrogates here, each with its only slope in Norse, and Norse's method and alpha. The last one is
sech²(2u)."""


class Norse(TorchAdapter):
    name = "norse"
    requires = ("torch", "norse")
    constructions = {
        **TorchAdapter.constructions,
        "lif-box-cell": {"uncut"},
        "lif": {"uncut", "synaptic"},
        "lsnn": {"uncut", "adaptive"},
        "layers": {"chain", "container"},
    }

    def supports(self, case: Case) -> str | None:
        spec = case.spec
        if case.construction in ("lif", "lsnn") and (spec.reset != "hard" or spec.detach_reset):
            return "LIF, IAF and LSNN only reset to zero, with gradient"
        if case.construction == "lsnn" and spec.adaptation is None:
            return "LSNN always has an adaptive threshold"
        if spec.reset not in ("soft", "hard", "none"):
            return f"LIFBox has no reset {spec.reset!r}"
        if (spec.surrogate, spec.slope) not in METHODS:
            return (
                "Norse's superspike ignores its slope (alpha), its triangle scales the height by "
                "it: both are offered with slope "
                "1; its tanh is the sigmoid of slope 4, and others differ"
            )
        if spec.max_spikes > 1:
            return "Norse's neurons give one spike a step"
        if spec.decay == 1 and spec.current_decay is not None:
            return "IAF has no synaptic current"
        if spec.decay == 1 and case.construction != "lif":
            return "LIFBox always leaks; construction lif is IAF where there is no leak"
        return None

    def current_scale(self, spec) -> float:
        return 1 / (1 - spec.decay) if spec.decay < 1 else 1.0

    def neuron(self, spec, features):
        import torch
        from norse.torch.functional.lif_box import LIFBoxFeedForwardState, lif_box_feed_forward_step
        from norse.torch.module.snn import SNN

        from .base.time_loop import TimeLoop

        parameters = box_parameters(spec)

        def rest(current):
            v = torch.zeros(current.shape[1:], device=current.device, dtype=current.dtype)
            return LIFBoxFeedForwardState(v=v)

        class Loop(TimeLoop):
            def __init__(self):
                super().__init__()
                self.snn = SNN(lif_box_feed_forward_step, rest, parameters, dt=1.0)

            def scan(self, currents, state):
                return self.snn(currents, state)

            def step(self, current, state):
                state = rest(current.unsqueeze(0)) if state is None else state
                return lif_box_feed_forward_step(current, state, parameters, dt=1.0)

        return Loop()

    def lif(self, spec, features, construction):
        import torch

        from .base.time_loop import Uncut

        if construction == "lif-box-cell":
            from norse.torch import LIFBoxCell, Lift

            lif = Lift(LIFBoxCell(box_parameters(spec), dt=1.0))
        elif construction == "lif" and spec.decay == 1:
            from norse.torch import IAF, IAFParameters

            lif = IAF(IAFParameters(v_reset=torch.tensor(0.0), **common_parameters(spec)), dt=1.0)
        elif construction == "lif":
            from norse.torch import LIF, LIFParameters

            leak = {
                "tau_mem_inv": torch.tensor(1 - spec.decay),
                "tau_syn_inv": torch.tensor(1 - (spec.current_decay or 0.0)),
            }
            lif = LIF(LIFParameters(**leak, **common_parameters(spec)), dt=1.0)
        elif construction == "lsnn":
            return lsnn(spec)
        else:
            return super().lif(spec, features, construction)
        return Uncut(lif, lambda lif, currents: lif(currents)[0])

    def modules(self, case: Case, network: Network):
        if case.construction != "layers":
            return super().modules(case, network)
        from norse.torch import LIFBoxCell, Lift, SequentialState

        from .base.torch_containers import Chain, modules_by_node
        from .base.torch_network import Operation

        def neuron_of(node):
            cell = LIFBoxCell(box_parameters(node.options["neuron"]), dt=1.0)
            scaled = Operation(lambda x: x * self.scale_of(case))
            return SequentialState(scaled, cell) if network.scaled_at(node.name) is None else cell

        by_node = modules_by_node(network, {"neuron": neuron_of})
        return {
            tuple(by_node): Chain(
                by_node,
                network.neurons,
                Lift(SequentialState(*by_node.values())),
                lambda net, x: net(x)[0],
            )
        }

    def native(self, features):
        """LIF(): synapse of 5 ms and membrane of 10 ms at steps of 1 ms, to zero with gradient,
        surrogate superspike.

        Source: the spiking classifier in Norse's README, from its MNIST tutorial
        (norse.github.io/notebooks); their `LIFCell()` is applied to every time step by
        `norse.torch.LIF()`, and the defaults of `LIFParameters`. Their `alpha` of 100 is ignored by
        Norse 1.1.
        """
        from norse.torch import LIF

        from .base.time_loop import TimeLoop

        class Loop(TimeLoop):
            def __init__(self):
                super().__init__()
                self.lif = LIF()

            def scan(self, currents, state):
                return self.lif(currents, state)

        return Loop()


def lsnn(spec):
    """Returns Norse's neuron with an adaptive threshold, from currents (T, B, …) to spikes, from
    rest."""
    import torch
    from norse.torch.functional.lsnn import (
        LSNNFeedForwardState,
        LSNNParameters,
        lsnn_feed_forward_step,
    )
    from norse.torch.module.snn import SNN

    from .base.time_loop import Uncut

    decays = {
        "tau_mem_inv": torch.tensor(1 - spec.decay),
        "tau_adapt_inv": torch.tensor(1 - spec.adaptation_decay),
    }
    beta = torch.tensor(spec.adaptation / spec.adaptation_decay)  # it decays before it is used
    parameters = LSNNParameters(
        tau_syn_inv=torch.tensor(1.0),
        v_reset=torch.tensor(0.0),
        beta=beta,
        **decays,
        **common_parameters(spec),
    )

    def rest(currents):
        zeros = torch.zeros(currents.shape[1:], device=currents.device, dtype=currents.dtype)
        return LSNNFeedForwardState(v=zeros, i=zeros, b=zeros + spec.threshold)

    def spikes(snn, currents):
        return snn(torch.cat([currents, torch.zeros_like(currents[:1])]))[0][1:]

    return Uncut(SNN(lsnn_feed_forward_step, rest, parameters, dt=1.0), spikes)


def common_parameters(spec):
    import torch

    method, alpha = METHODS[spec.surrogate, spec.slope]
    return {"method": method, "v_th": torch.tensor(spec.threshold), "alpha": torch.tensor(alpha)}


def box_parameters(spec):
    import torch
    from norse.torch.functional.lif_box import LIFBoxParameters
    from norse.torch.functional.reset import reset_subtract

    def spike_of(z):
        return z.detach() if spec.detach_reset else z

    reset = {
        "soft": lambda z, v, v_reset, v_th: reset_subtract(spike_of(z), v, v_reset, v_th),
        "hard": lambda z, v, v_reset, v_th: v * (1 - spike_of(z)),
        "none": lambda z, v, v_reset, v_th: v,
    }[spec.reset]
    return LIFBoxParameters(
        reset_method=reset, tau_mem_inv=torch.tensor(1 - spec.decay), **common_parameters(spec)
    )
