"""Sinabs' `LIF`, batch first, the time loop inside (https://sinabs.readthedocs.io).

- `default`, `stepwise`: `LIF` with its time constant, from which it computes the decay at every
  call; without a leak `IAF`.
- `alphas`: `LIF` with the decay itself (`train_alphas=True`), trained only where the decay is
  learned. With an adaptive threshold `ALIF`; its spike function, written here, gives the
  threshold a gradient too.
- `lif-recurrent`: recurrent neurons are `LIFRecurrent`. It keeps its membrane and not its last
  spikes, so that a sequence cannot be run in pieces.
- `layers`: `LIFSqueeze` or `IAFSqueeze` and torch's layers on merged batch and time (B·T, …),
  `Merge` for sums.
"""

import math
from functools import partial
from importlib import import_module
from types import MappingProxyType

from snnbench.core.case import Case
from snnbench.core.network import INPUT, Network
from snnbench.kernels.surrogates import derivative

from .base.torch_adapter import TorchAdapter, torch_constructions


class Sinabs(TorchAdapter):
    name = "sinabs"
    requires = ("torch", "sinabs")
    constructions = {
        **torch_constructions("synaptic", "adaptive", "learning", "rounding"),
        "alphas": {"synaptic", "adaptive", "learning", "rounding"},
        "lif-recurrent": {"uncut", "recurrent", "feedback", "rounding"},
        "layers": {"learning", "rounding", "container"},
    }
    layers = "sinabs.layers"
    learned_decays = MappingProxyType({"direct": "alpha_mem", "time-constant": "tau_mem"})

    def supports(self, case: Case) -> str | None:
        spec = case.spec
        if spec.reset == "hard-straight":
            return "LIF has no reset that backward does not see"
        if spec.reset == "hard" and not spec.detach_reset:
            return "MembraneReset is always detached"
        if spec.reset.startswith("soft") and spec.detach_reset:
            return "MembraneSubtract is never detached"
        if spec.decay == 0:
            return "LIF always remembers"
        if spec.decay == 1 and (
            case.construction in ("alphas", "lif-recurrent")
            or spec.current_decay is not None
            or spec.adaptation is not None
        ):
            return "LIF and ALIF always leak"
        if case.construction == "alphas" and spec.learned_decay == "time-constant":
            return "alphas learns the decay itself"
        if spec.adaptation is not None and spec.reset == "soft-undecayed":
            return "ALIF subtracts its threshold, or a constant"
        if case.construction == "layers" and case.precision in ("bf16", "fp16"):
            return (
                f"Sinabs' spikes are float32, and layers behind them, here in {case.precision}, "
                "take them unconverted"
            )
        return None

    def current_scale(self, spec) -> float:
        """The synaptic input decays before it is used: the current is the decayed sum of old and
        new."""
        return 1.0 if spec.current_decay is None else 1 / spec.current_decay

    def modules(self, case: Case, network: Network):
        if case.construction != "layers":
            return super().modules(case, network)
        from .base.torch_containers import modules_by_node

        merge = import_module(self.layers).Merge
        made = partial(self.made, construction="layers", batch_size=case.batch)
        by_node = modules_by_node(
            network, {"neuron": lambda n: made(n.options["neuron"]), "add": lambda n: merge()}
        )
        return {tuple(by_node): squeezed(network, by_node)}

    def lif(self, spec, features, construction):
        return loop(self.made(spec, construction))

    def recurrent(self, spec, neurons, construction):
        if construction != "lif-recurrent":
            return super().recurrent(spec, neurons, construction)
        import torch

        module = loop(self.made(spec, construction, torch.nn.Linear(neurons, neurons, bias=False)))
        module.recurrent = module.lif.rec_connect
        return module

    def made(self, spec, construction, rec_connect=None, **squeezed):
        """Returns Sinabs' `LIF` or `IAF` of `spec`; with a `batch_size` the one that takes batch
        and time merged, with the layer `rec_connect` the recurrent one."""
        import torch
        from sinabs import activation

        slope_at = derivative(spec, torch)
        # None subtracts the threshold.
        subtracted = {"soft": None, "soft-undecayed": spec.subtracted, "none": 0.0}
        reset = (
            activation.MembraneReset()
            if spec.reset == "hard"
            else activation.MembraneSubtract(subtracted[spec.reset])
        )
        # The default, MultiSpike, has no upper bound.
        spikes = (
            activation.SingleSpike if spec.max_spikes == 1 else activation.MaxSpike(spec.max_spikes)
        )
        if spec.adaptation is not None:
            spikes = spike_at_threshold()
        if spec.rounding is not None:
            spikes = rounded_spikes(spec)
        alike = {
            "spike_threshold": torch.tensor(float(spec.threshold)),
            "spike_fn": spikes,
            "reset_fn": reset,
            "surrogate_grad_fn": lambda v, threshold: slope_at(v - threshold),
            **squeezed,
        }
        layers = import_module(self.layers)
        if spec.adaptation is not None:
            decays = {"tau_mem": spec.decay, "tau_adapt": spec.adaptation_decay}
            taus = {name: torch.tensor(-1 / math.log(decay)) for name, decay in decays.items()}
            scale = spec.adaptation / (1 - spec.adaptation_decay)
            alif = layers.ALIF(
                **taus,
                adapt_scale=scale,
                norm_input=False,
                train_alphas=construction == "alphas",
                **alike,
            )
            if construction == "alphas":
                alif.alpha_mem.data.fill_(spec.decay)
                alif.alpha_adapt.data.fill_(spec.adaptation_decay)
            return alif.requires_grad_(False)
        if spec.decay == 1:
            return (layers.IAFSqueeze if squeezed else layers.IAF)(**alike).requires_grad_(False)
        tau = torch.tensor(-1 / math.log(spec.decay))
        kind = layers.LIFSqueeze if squeezed else layers.LIF
        if rec_connect is not None:
            kind = partial(layers.LIFRecurrent, rec_connect=rec_connect)
        if spec.current_decay is not None:
            alike["tau_syn"] = torch.tensor(-1 / math.log(spec.current_decay))
        alphas = construction == "alphas" or spec.learned_decay == "direct"
        lif = kind(tau_mem=tau, norm_input=False, train_alphas=alphas, **alike)
        lif.requires_grad_(False)
        if rec_connect is not None:
            rec_connect.requires_grad_()
        if spec.learned_decay == "time-constant":
            lif.tau_mem.requires_grad_()
        if alphas:
            lif.alpha_mem.fill_(spec.decay).requires_grad_(spec.learned_decay is not None)
            if spec.current_decay is not None:
                lif.alpha_syn.fill_(spec.current_decay)
        return lif

    def native(self, features):
        """LIF(tau_mem=40, norm_input=False): β = exp(−1/40), many spikes a step, subtracts θ each,
        surrogate exponential.

        Source: Sinabs' tutorial "Choosing a neuron model" (docs/tutorials/neuron_models.ipynb) and
        the defaults of `sinabs.layers.LIF`. Its time constant is trained along.
        """
        return loop(import_module(self.layers).LIF(tau_mem=40.0, norm_input=False))


STATES = ("v_mem", "i_syn", "b")


def loop(layer):
    """Returns the TimeLoop of a layer of Sinabs, batch first, that keeps its states itself:
    `v_mem`, and others if it has them."""
    from .base.time_loop import TimeLoop

    class Loop(TimeLoop):
        def __init__(self):
            super().__init__()
            self.lif = layer

        def scan(self, currents, state):
            if state is None:
                self.lif.reset_states()
            for name, value in (state or {}).items():
                setattr(self.lif, name, value)
            spikes = self.lif(currents.transpose(0, 1)).transpose(0, 1)
            return spikes, {
                name: getattr(self.lif, name) for name in STATES if hasattr(self.lif, name)
            }

    return Loop()


def spike_at_threshold():
    """Returns SingleSpike with a gradient for the threshold too, as a custom spike function."""
    import torch

    class SpikeAtThreshold(torch.autograd.Function):
        required_states = ("v_mem",)

        @staticmethod
        def forward(ctx, v_mem, spike_threshold, surrogate_grad_fn):
            ctx.save_for_backward(v_mem, spike_threshold)
            ctx.surrogate_grad_fn = surrogate_grad_fn
            return (v_mem - spike_threshold >= 0).to(v_mem.dtype)

        @staticmethod
        def backward(ctx, gradient):
            by_v = gradient * ctx.surrogate_grad_fn(*ctx.saved_tensors)
            return by_v, -by_v, None

    return SpikeAtThreshold


def rounded_spikes(spec):
    """Returns a custom spike function that rounds to whole numbers."""
    from types import SimpleNamespace

    from .base.spikes import torch_spike

    spike = torch_spike(spec).apply
    return SimpleNamespace(required_states=["v_mem"], apply=lambda v, *_: spike(v))


def squeezed(network, by_node):
    """Returns the NodeContainer of modules that take batch and time merged, batch first."""
    import torch
    from sinabs import reset_states

    from .base.torch_network import NodeContainer

    class Squeezed(NodeContainer):
        def __init__(self):
            super().__init__(by_node, network.neurons)
            self.all = torch.nn.ModuleList(by_node.values())

        @property
        def state(self):
            return by_node[self.neurons[0]].v_mem

        def forward(self, x, every_border):
            reset_states(self)
            values, borders = {INPUT: x.transpose(0, 1).flatten(0, 1)}, {}
            last = {each: node.name for node in network.nodes for each in node.inputs}
            for name, module in by_node.items():
                inputs = network.node(name).inputs
                values[name] = module(*[values[each] for each in inputs])
                if name in self.neurons if every_border else name == self.neurons[-1]:
                    borders[name] = values[name].unflatten(0, (x.shape[1], -1)).transpose(0, 1)
                values = {each: value for each, value in values.items() if last.get(each) != name}
            return borders, values[name].unflatten(0, (x.shape[1], -1)).transpose(0, 1)

    return Squeezed()
