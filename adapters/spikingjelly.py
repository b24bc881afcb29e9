"""SpikingJelly 2 (https://spikingjelly.readthedocs.io): `LIFNode` and its relatives.

- `default`, `stepwise`: `LIFNode` in multi-step mode, without a leak `IFNode`, with a synaptic
  current `CUBALIFNode`, called once per step. On a CUDA device the package chooses a provider; the
  record names it.
- `cuda`, `triton`, `torch`: the same by this provider; on a CPU there is only `torch`.
- `single-step`: `LIFNode` called once per step; with a learned decay `ParametricLIFNode`.
- `parametric`: `ParametricLIFNode`, its time constant trained only where the decay is learned.
- `layers`: `LIFNode` and the package's own `layer.Conv2d`, `BatchNorm2d`, `MaxPool2d`, …, all in
  multi-step mode.
- `attention`: `LIFNode`, and of `sdt-block` the package's own `SpikeDrivenSelfAttention`. The
  threshold of its neuron behind the attention is set, and the bias of its last convolution, which
  the norm behind it removes, is left out.
- `recurrent-container`: recurrent neurons are single-step ones in `LinearRecurrentContainer`,
  which multiplies input and spikes by one weight [I | R] without a bias. The identity I is a
  constant here; as the package makes it, it is trained too.
- `flexsn`: `FlexSN` around one step written here, with the reset `none` too; on a CUDA device the
  package makes a kernel of it where it can.
- `memopt`: a Linear and `LIFNode` in `memopt.checkpoint_module`: backward recomputes them. Inputs
  are kept as bits where all inputs of the network are spikes.
- `sliding-psn`: `SlidingPSN` of order T, its weights the powers of the decay: one product over
  time, no reset.

Spikes that are rounded are those of `ILIFNode`, called once per step, without a memory those of its
function `MultiLevelSpikeCount`. A mix of time steps with a neuron without a memory is `PSN`,
`MaskedPSN` at its last λ, 1, or `SlidingPSN`; by itself that neuron is a surrogate function.
"""

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from snnbench.core.case import NATIVE, SPIKES, Case
from snnbench.core.contract import Unsupported
from snnbench.core.network import OF_TWO, Network

from .base.spikes import torch_spike
from .base.torch_adapter import TorchAdapter, torch_constructions

PROVIDERS = ("cuda", "triton", "torch")
"""SpikingJelly's implementations of its neurons on a CUDA device."""

SHORT = ("bf16", "fp16", "amp-bf16")

SLOPES = {"superspike": (1, 2), "triangle": (1,), "atan": (1,)}
"""The only slopes of surrogates that have no free slope. SoftSign(α) is (α/2)/(1 + α|u|)², the
height of ATan(α) is α/2."""


class SpikingJelly(TorchAdapter):
    name = "spikingjelly"
    requires: tuple[str, ...] = ("torch", "spikingjelly.activation_based.neuron")
    distribution = "spikingjelly"
    constructions = {
        **torch_constructions("synaptic", "learning", "rounding"),
        "single-step": {"synaptic", "learning", "rounding"},
        **{name: set() for name in PROVIDERS},
        "parametric": {"learning"},
        "layers": {"synaptic", "learning", "rounding"},
        "attention": set(),
        "recurrent-container": {"uncut", "recurrent", "feedback"},
        "flexsn": {"uncut"},
        "memopt": {"uncut", "linear"},
        "sliding-psn": {"uncut"},
    }
    learned_decays = MappingProxyType({"sigmoid": "w"})

    def supports(self, case: Case) -> str | None:
        spec, parallel = case.spec, case.construction == "sliding-psn"
        if spec.rounding is not None:
            return refuses_rounded(spec)
        if parallel and spec.reset != "none":
            return "SlidingPSN never resets"
        if (
            not parallel
            and spec.reset not in ("soft", "hard")
            and (case.construction, spec.reset) != ("flexsn", "none")
            and spec.decay
        ):
            return f"LIFNode has no reset {spec.reset!r}"
        if spec.max_spikes > 1:
            return "SpikingJelly's neurons fire once a step"
        if spec.slope not in SLOPES.get(spec.surrogate, (spec.slope,)):
            return (
                "SuperSpike, PiecewiseQuadratic and ATan scale the height with the slope: only "
                "slope 1 is the same; SoftSign is superspike of slope 2"
            )
        if spec.decay == 1 and case.construction in ("parametric", "sliding-psn"):
            return (
                "ParametricLIFNode always leaks"
                if not parallel
                else "SlidingPSN is offered here with a leak"
            )
        return provider_refusal(case.construction, case) if case.construction in PROVIDERS else None

    def refuses(self, case: Case, network: Network):
        if case.construction == "attention" and case.workload != "sdt-block":
            return "SpikeDrivenSelfAttention is the attention of sdt-block"
        return super().refuses(case, network)

    def program(self, case: Case, network: Network):
        self.time_steps = case.time_steps  # the order of SlidingPSN
        # Whether the layers of construction memopt, linears and neurons, read spikes only.
        self.of_spikes = case.input in SPIKES and not (
            {"avg_pool", "integrator", "softmax_sum", "sum", "vote", *OF_TWO}
            & {node.kind for node in network.nodes}
        )
        if case.construction in PROVIDERS and case.device != "cpu":
            force_provider(case.construction)
        return super().program(case, network)

    def facts(self, case: Case) -> dict:
        if case.construction in ("stepwise", "single-step") or self.has_trait("uncut", case):
            return {"backend": "torch"}
        parametric = case.construction == "parametric" or (
            not case.native and case.spec.learned_decay
        )
        return {"backend": provider_of("plif" if parametric else "lif", case)}

    def lif(self, spec, features, construction):
        from spikingjelly.activation_based import neuron

        if construction == "sliding-psn":
            return sliding_psn(spec, self.time_steps, self.surrogate(spec))
        if construction == "flexsn":
            return self.loop(neuron.FlexSN(flexible(spec), num_states=1), ("_state_0",))
        if spec.decay == 0:
            return self.without_memory(spec)
        if spec.rounding is not None:
            return self.rounded(spec, construction)
        if spec.current_decay is not None:
            reset = 0.0 if spec.reset == "hard" else None
            node = neuron.CUBALIFNode(
                spec.current_decay, spec.decay, float(spec.threshold), reset, self.surrogate(spec)
            )
            node.detach_reset = spec.detach_reset
            return self.loop(node, ("v", "c"))
        alike = {
            "decay_input": False,
            "v_threshold": float(spec.threshold),
            "v_reset": 0.0 if spec.reset == "hard" else None,
            "detach_reset": spec.detach_reset,
            "surrogate_function": self.surrogate(spec),
        }
        alike["step_mode"] = "s" if construction == "single-step" else "m"
        if construction != "parametric" and spec.learned_decay is None:
            if spec.decay == 1:
                del alike["decay_input"]
                return self.loop(neuron.IFNode(**alike))
            return self.loop(neuron.LIFNode(1 / (1 - spec.decay), **alike))
        node = neuron.ParametricLIFNode(1 / (1 - spec.decay), **alike)
        node.w.requires_grad_(spec.learned_decay is not None)
        return self.loop(node)

    def rounded(self, spec, construction):
        """Returns the TimeLoop of a neuron that rounds."""
        from spikingjelly.activation_based import neuron, surrogate

        counts = surrogate.MultiLevelSpikeCount(spec.max_spikes)
        mode = "s" if construction == "single-step" else "m"
        return self.loop(
            neuron.ILIFNode(
                1 / (1 - spec.decay), float(spec.threshold), counts, spec.detach_reset, mode
            )
        )

    def fired(self, spec):
        """Returns the surrogate function of potentials before they are compared with θ."""
        from spikingjelly.activation_based import surrogate

        if spec.rounding is not None:
            counts = surrogate.MultiLevelSpikeCount(spec.max_spikes)
            return lambda v: counts(v / spec.threshold)
        fires = self.surrogate(spec)
        return lambda v: fires(v - spec.threshold)

    def without_memory(self, spec):
        from .base.time_loop import TimeLoop

        fired = self.fired(spec)

        class WithoutMemory(TimeLoop):
            def scan(self, currents, state):
                return fired(currents), None

        return WithoutMemory()

    def recurrent(self, spec, neurons, construction):
        if construction != "recurrent-container":
            return super().recurrent(spec, neurons, construction)
        return contained(self.lif(spec, (neurons,), "single-step").lif, neurons)

    def recurrent_weight(self, module):
        if hasattr(module, "container"):
            return module.container.rc.parametrizations.weight.original
        return super().recurrent_weight(module)

    def layer(self, spec, inputs, outputs, bias, construction):
        layer = super().layer(spec, inputs, outputs, bias, construction)
        return checkpointed(layer, self.of_spikes) if construction == "memopt" else layer

    def modules(self, case: Case, network: Network):
        if case.construction == "attention" and case.workload == "sdt-block":
            return own_attention(case, network, lambda: self.lif(case.spec, (), "default").lif)
        parallels = {
            (mix, neuron): parallel(network.node(mix).options, self.fired(spec))
            for mix, neuron in network.neurons_behind("mix_time")
            if (spec := network.node(neuron).options["neuron"]) != NATIVE and spec.decay == 0
        }
        if case.construction != "layers":
            return super().modules(case, network) | parallels
        from spikingjelly.activation_based import functional, layer

        from .base.torch_network import ITEMWISE, layer_of

        made = {
            (node.name,): layer_of(node, network, layer)
            for node in network.nodes
            if node.kind in ITEMWISE
        }
        for module in made.values():
            functional.set_step_mode(module, "m")
        return made | parallels

    def parameters(self, layer):
        if hasattr(layer, "psn"):
            return layer.psn.weight, layer.psn.bias
        return super().parameters(layer)

    def surrogate(self, spec):
        from spikingjelly.activation_based import surrogate

        return {
            "superspike": lambda: (
                superspike(spec) if spec.slope == 1 else surrogate.SoftSign(alpha=2.0)
            ),
            "atan": lambda: surrogate.ATan(alpha=2.0),
            "sigmoid": lambda: surrogate.Sigmoid(alpha=spec.slope),
            "triangle": lambda: surrogate.PiecewiseQuadratic(alpha=spec.slope),
            "rectangle": lambda: surrogate.Rect(alpha=spec.slope),
            "exponential": lambda: surrogate.PiecewiseExp(alpha=spec.slope),
            "straight-through": lambda: surrogate.DeterministicPass(),
        }[spec.surrogate]()

    def loop(self, node, states=("v",)):
        """Returns the TimeLoop of a neuron that keeps `states` in attributes of these names."""
        import torch

        from .base.time_loop import TimeLoop

        class Loop(TimeLoop):
            def __init__(self):
                super().__init__()
                self.lif = node

            def start(self, state):
                self.lif.reset()
                for name, value in zip(states, state or (), strict=False):
                    setattr(self.lif, name, value)

            def after(self):
                return tuple(getattr(self.lif, name) for name in states)

            def scan(self, currents, state):
                self.start(state)
                if self.lif.step_mode == "m":
                    return self.lif(currents), self.after()
                return torch.stack(
                    [self.lif(current) for current in currents.unbind(0)]
                ), self.after()

            def step(self, current, state):
                self.start(state)
                return self.lif.single_step_forward(current), self.after()

        return Loop()

    def native(self, features):
        """LIFNode(tau=2, ATan()): v + (x − v)/2, to zero with gradient, surrogate atan(2).

        Source: SpikingJelly's tutorial "Single Fully Connected Layer SNN to Classify MNIST" and its
        code (spikingjelly/activation_based/examples/lif_fc_mnist.py), and the defaults of
        `LIFNode`. All steps are given at once (`step_mode="m"`), which its documentation
        recommends.
        """
        from spikingjelly.activation_based import neuron, surrogate

        return self.loop(
            neuron.LIFNode(tau=2.0, surrogate_function=surrogate.ATan(), step_mode="m")
        )


def refuses_rounded(spec):
    """Returns the reason why `ILIFNode` cannot compute a neuron that rounds, or None."""
    from spikingjelly.activation_based import neuron

    if not hasattr(neuron, "ILIFNode"):
        return "this SpikingJelly has no ILIFNode"
    if spec.decay == 1:
        return "ILIFNode always leaks"
    if spec.current_decay is not None:
        return "ILIFNode has no synaptic current"
    return "ILIFNode always subtracts" if spec.reset != "soft" and spec.decay else None


def superspike(spec):
    """Returns 1/(1 + |u|)²: the package's own since version 2, before that a custom one."""
    from spikingjelly.activation_based import surrogate

    if hasattr(surrogate, "SuperSpike"):
        return surrogate.SuperSpike(alpha=1.0)
    fires = torch_spike(replace(spec, threshold=1.0)).apply
    return lambda x: fires(x + 1.0)


def provider_refusal(provider: str, case: Case) -> str | None:
    """Returns the reason why `provider` cannot be forced, or None. Looks at files only: importing
    the package would fix its choice."""
    if case.device == "cpu":
        return (
            None
            if provider == "torch"
            else f"SpikingJelly's provider {provider} runs on CUDA devices only"
        )
    if case.precision in SHORT:
        return (
            "SpikingJelly refuses a forced provider where the state is not float32, as in "
            f"{case.precision}"
        )
    if provider == "triton" and find_spec("triton") is None:
        return "SpikingJelly's provider triton needs Triton, which is not installed"
    package = find_spec("spikingjelly")
    if (
        provider == "cuda"
        and package
        and package.origin
        and not list(Path(package.origin).parent.glob("_ops/lif/_C*"))
    ):
        return (
            "this SpikingJelly was installed without its CUDA kernels (SJ_BUILD_NATIVE_CUDA=1 at a "
            "build from source)"
        )
    return None


def force_provider(provider: str) -> None:
    """Binds `LIFNode` to one provider. The package reads the variable once, when its operator is
    first imported."""
    os.environ["SJ_LIF_CUDA_IMPLEMENTATION"] = provider
    from spikingjelly._ops.lif import _selection

    if _selection._requested != provider:
        raise Unsupported(
            f"this process has already bound SpikingJelly to its provider {_selection._requested!r}"
        )


def provider_of(kind: str, case: Case) -> str:
    """Returns the provider of the neuron `kind`, "lif" or "plif", in multi-step mode."""
    import torch
    from spikingjelly.activation_based import functional

    if not hasattr(functional, "neuron_implementation"):
        return "torch"  # before version 2 a neuron's argument chooses; torch is its default
    execution = "compile" if case.mode.startswith("compile") else "eager"
    chosen = functional.neuron_implementation(kind, torch.device(case.device), execution=execution)[
        "implementation"
    ]
    # A state in a short format leaves the fused kernels, which `neuron_implementation` ignores.
    return "torch-reference" if case.precision in SHORT else chosen


def flexible(spec):
    """Returns one step (current, potential) → (spikes, potential) as `FlexSN` takes it: a function
    without tensors and modules, such as SpikingJelly's surrogates."""
    import torch

    from .base.spikes import reset, torch_spike

    fire = torch_spike(spec).apply

    def step(current, v):
        v = spec.decay * v + current
        s = fire(v)
        return s, reset(spec, v, s, torch.Tensor.detach)

    return step


def checkpointed(layer, of_spikes):
    """Returns a Linear and its neuron that backward recomputes from their input, kept as bits if it
    is `of_spikes`."""
    from spikingjelly.activation_based import memopt
    from torch import nn

    class Checkpointed(nn.Module):
        def __init__(self, linear, node):
            super().__init__()
            self.linear, self.node = linear, node
            compressor = memopt.BitSpikeCompressor() if of_spikes else None
            self.both = memopt.checkpoint_module(nn.Sequential(linear, node), compressor=compressor)

        def forward(self, x):
            self.node.reset()
            return self.both(x)

    return Checkpointed(layer.linear, layer.neuron.lif)


def contained(node, neurons):
    """Returns a single-step neuron in `LinearRecurrentContainer`, from currents (T, B, neurons) to
    spikes, from rest. Its weight [I | R] is made of the parameter R at each call."""
    import torch
    from spikingjelly.activation_based import functional, layer

    class BesideIdentity(torch.nn.Module):
        def forward(self, recurrent):
            return torch.cat([torch.eye(neurons, device=recurrent.device), recurrent], 1)

        def right_inverse(self, weight):
            return weight[:, neurons:]

    class Contained(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.container = layer.LinearRecurrentContainer(node, neurons, neurons, bias=False)
            torch.nn.utils.parametrize.register_parametrization(
                self.container.rc, "weight", BesideIdentity()
            )

        def forward(self, currents):
            functional.reset_net(self.container)
            with torch.nn.utils.parametrize.cached():
                return torch.stack([self.container(current) for current in currents.unbind(0)])

    return Contained()


ATTENTION = {
    **{"neuron1": "shortcut_lif", "conv2": "q_conv", "norm2": "q_bn", "neuron2": "q_lif"},
    **{"conv3": "k_conv", "norm3": "k_bn", "neuron3": "k_lif"},
    **{"conv4": "v_conv", "norm4": "v_bn", "neuron4": "v_lif"},
    **{"neuron5": "attn_lif", "conv5": "proj_conv", "norm5": "proj_bn"},
}
"""Parts of `SpikeDrivenSelfAttention` by the nodes of `sdt-block`."""


def own_attention(case, network, node):
    """Returns `SpikeDrivenSelfAttention` as the NodeContainer of the nodes from neuron1 to add1;
    `node` makes its neurons."""
    from spikingjelly.activation_based import functional
    from spikingjelly.activation_based.layer import SpikeDrivenSelfAttention

    from .base.torch_network import NodeContainer

    attention = SpikeDrivenSelfAttention(case.width, case.heads, lambda **options: node())
    attention.proj_conv.bias = None
    attention.attn_lif.v_threshold = float(network.node("neuron5").options["neuron"].threshold)
    names = [each.name for each in network.nodes]
    run = tuple(names[names.index("neuron1") : names.index("add1") + 1])
    by_node = {name: getattr(attention, part) for name, part in ATTENTION.items()}

    class Attention(NodeContainer):
        def __init__(self):
            super().__init__(by_node, tuple(name for name in run if name in network.neurons))
            self.attention, self.spikes = attention, {}
            for name in self.neurons:
                by_node[name].register_forward_hook(
                    lambda part, inputs, spikes, name=name: self.spikes.update({name: spikes})
                )

        def forward(self, x, every_border):
            functional.reset_net(attention)
            value, spikes = attention(x), self.spikes
            self.spikes = {}
            last = spikes["neuron5"].mT  # tokens stand before features there
            return {**spikes, "neuron5": last} if every_border else {"neuron5": last}, value

    return {run: Attention()}


def parallel(mix, fired):
    """Returns a parallel neuron for the options of a `mix_time`."""
    import torch
    from spikingjelly.activation_based import functional, neuron

    steps, order = mix["steps"], mix["order"]
    if mix["sliding"]:
        psn = neuron.SlidingPSN(order, surrogate_function=fired, step_mode="m")
        psn.bias = torch.nn.Parameter(torch.zeros(1))
    elif order is not None:
        psn = neuron.MaskedPSN(order, steps, 1.0, fired, step_mode="m")
    else:
        psn = neuron.PSN(steps, fired)

    class Parallel(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.psn = psn

        def forward(self, currents):
            functional.reset_net(psn)
            return psn(currents)

    return Parallel()


def sliding_psn(spec, time_steps, surrogate):
    import torch
    from spikingjelly.activation_based.neuron import SlidingPSN

    psn = SlidingPSN(k=time_steps, surrogate_function=surrogate, step_mode="m")
    psn.weight.data = float(spec.decay) ** torch.arange(time_steps - 1, -1, -1)
    psn.bias.data = torch.tensor(-float(spec.threshold))
    return psn.requires_grad_(False)
