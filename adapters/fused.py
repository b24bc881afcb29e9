"""The project's own kernels (`snnbench.kernels`): the neuron by a kernel of one language per
construction, `default` the one chosen for the device, and variants of the multiplication before it.

- `vanilla` computes the layers around the neuron once for each step, apart from it.
- `linear-split` multiplies the short operands of the precision's tier (on CPUs in float32: proved
  there, not fast). `linear-recompute` keeps bits of the spikes and no currents;
  `linear-split-recompute` does both.
- `conv-recompute` keeps bits of the spikes in front of a convolution.
"""

from typing import TYPE_CHECKING, Any

from snnbench.core.case import SPIKES, Case
from snnbench.core.contract import Trait
from snnbench.core.network import INPUT, Network, Node
from snnbench.kernels.spec import LEARNED

from .base.torch_adapter import TorchAdapter

if TYPE_CHECKING:
    import torch

LINEAR = {
    "linear-split": {"emulate": True},
    "linear-recompute": {"recompute": True},
    "linear-split-recompute": {"emulate": True, "recompute": True},
}
RECOMPUTED = "conv-recompute"
SPELLINGS = ("reference", "cpp", "triton", "cuda")
EVERY: set[Trait] = {"uncut", "synaptic", "learning", "rounding"}
FLOATS = {"fp16": "float16", "bf16": "bfloat16", "amp-bf16": "bfloat16"}


class Fused(TorchAdapter):
    name = "fused"
    distribution = "snnbench"
    constructions = {
        "default": {*EVERY, "recurrent", "adaptive", "resumable"},
        "reference": {*EVERY, "recurrent", "adaptive", "resumable"},
        "cpp": {*EVERY, "recurrent", "adaptive", "resumable"},
        "triton": EVERY,
        "cuda": EVERY,
        "vanilla": {*EVERY, "recurrent", "adaptive", "resumable"},
        "linear-split": {"uncut", "linear"},
        "linear-recompute": {"uncut", "recurrent", "linear"},
        "linear-split-recompute": {"uncut", "linear"},
        RECOMPUTED: {"uncut"},
    }
    learned_decays = dict.fromkeys(LEARNED, "decay")

    def supports(self, case: Case) -> str | None:
        if "split" in case.construction and case.precision not in ("fp32", "tf32"):
            return f"{case.precision} has short operands already: there is nothing to split"
        if not case.native and case.spec.learned_decay and case.mode != "eager":
            return (
                "our neuron reads a learned decay on the host at every call, which no compiler or "
                "graph can hold"
            )
        if not case.native and case.spec.adaptation is not None and case.mode == "compile":
            return (
                "our neuron with an adaptive threshold is one compiled call already, which "
                "torch.compile cannot look into"
            )
        if (
            case.parallel == "time"
            and not case.native
            and (case.spec.adaptation is not None or case.spec.learned_decay)
        ):
            return (
                "our neuron with an adaptive threshold or a learned decay starts at rest: ranks "
                "cannot share its time steps"
            )
        if _requested(case.construction) is None:
            return None
        from snnbench.kernels.lif import backends

        return backends.unavailable(case.construction, *_tensors_of(case))

    def refuses(self, case: Case, network: Network) -> str | None:
        if case.construction == RECOMPUTED and not convolutions(network):
            return (
                f"{RECOMPUTED} is about the convolution in front of a neuron, and this network has "
                "none"
            )
        handing_out = network.has_neuron("potentials") and not case.native
        if handing_out and (case.spec.adaptation is not None or case.spec.learned_decay):
            return (
                "our neuron with an adaptive threshold or a learned decay hands out no potentials"
            )
        return super().refuses(case, network) or _refuses_recurrent(case, network)

    def lif(self, spec, features, construction):
        from snnbench.kernels import LIF

        return LIF(spec, backend=_requested(construction))

    def potentials(self, spec, features, construction):
        from snnbench.adapters.base.torch_network import Operation
        from snnbench.kernels.lif import lif

        def both(currents):
            spikes, _, potentials = lif(
                currents, spec, trace=True, backend=_requested(construction)
            )
            return spikes, potentials

        return Operation(both)

    def modules(self, case: Case, network: Network):
        """Every chain of linears and neurons becomes one `LinearLIF.stack`, every recurrent neuron
        with the linear in front of it a `RecurrentLIF`, every convolution with its norm and neuron
        a `ConvLIF`, every linear with both a `LinearNormLIF`, every other norm with its neuron a
        `BatchNormLIF`, every integrator an `Integrator`, a linear behind spikes without norm and
        neuron a `SpikesLinear`; other convolutions and norms of images come from `alone`. Layers
        and neurons stay apart where ranks share the time steps, because a state is handed on
        between them."""
        from snnbench.adapters.base.torch_network import Merged, layer_of
        from snnbench.kernels.batch_norm_lif import BatchNormLIF
        from snnbench.kernels.batch_norm_lif.alone import BatchNorm2d
        from snnbench.kernels.conv_lif import LinearNormLIF, alone
        from snnbench.kernels.linear.module import SpikesLinear
        from snnbench.kernels.linear_lif.module import LinearLIF

        backend = _requested(case.construction)
        apart = case.construction == "vanilla" or case.parallel == "time"
        modules: dict[tuple[str, ...], Any] = {}
        for node in network.nodes:
            if node.options.get("recurrent"):
                modules |= self._recurrent_lif(case, network, node, apart)
            if node.kind == "integrator" and not apart:
                modules |= _integrator(network, node, backend)
            if node.kind == "linear" and not apart and _is_readout_of_spikes(network, node):
                inputs, readout = network.shapes[node.inputs[0]][0], node.options
                modules[(node.name,)] = SpikesLinear(
                    inputs, readout["outputs"], bias=readout["bias"]
                )
        if apart or not (case.native or _is_plain(case)):
            return modules
        options = {"backend": backend, **LINEAR.get(case.construction, {})}
        if "split" in case.construction:
            options["tier"] = case.precision
        for chain in chains(network):
            first = network.node(chain[0][0])
            widths = [
                network.shapes[first.inputs[0]][0],
                *(network.node(linear).options["outputs"] for linear, _ in chain),
            ]
            kind = (
                None if first.inputs[0] != INPUT else "spikes" if case.input in SPIKES else "dense"
            )
            bias, spec = first.options["bias"], network.node(chain[0][1]).options["neuron"]
            modules |= zip(
                chain, LinearLIF.stack(widths, bias, spec, input=kind, **options), strict=True
            )
        for run in convolutions(network):
            modules[run] = _in_its_layout(case, self._conv_lif(case, network, run))
        for norm, neuron in network.neurons_behind("norm"):
            if not any(norm in run for run in modules):
                norm_options, spec = (
                    network.node(norm).options,
                    network.node(neuron).options["neuron"],
                )
                channels = network.shapes[norm][0]
                of_norm: dict[str, Any] = {
                    "eps": norm_options["epsilon"],
                    "momentum": norm_options["momentum"],
                    "backend": backend,
                }
                linear = network.only_before(norm, "linear")
                if linear is None:
                    modules[norm, neuron] = BatchNormLIF(channels, spec, **of_norm)
                else:
                    sizes = network.shapes[linear.inputs[0]][0], channels, linear.options["bias"]
                    modules[linear.name, norm, neuron] = LinearNormLIF(*sizes, spec, **of_norm)
        for node in network.nodes:
            if any(node.name in run for run in modules):
                continue
            if node.kind == "conv":
                layer = _in_its_layout(case, layer_of(node, network, alone))
                modules[(node.name,)] = Merged(layer)
            elif node.kind == "norm" and len(network.shapes[node.name]) == 3:
                channels, own = network.shapes[node.name][0], node.options
                modules[(node.name,)] = Merged(
                    BatchNorm2d(channels, own["epsilon"], own["momentum"])
                )
        return modules

    def _conv_lif(self, case: Case, network: Network, run: tuple[str, ...]):
        from snnbench.kernels.conv_lif import ConvLIF

        conv, *norm, neuron = (network.node(name) for name in run)
        norm_options = norm[0].options if norm else {}
        inputs, options = network.shapes[conv.inputs[0]][0], conv.options
        return ConvLIF(
            inputs,
            options["outputs"],
            options["kernel"],
            options["stride"],
            options["padding"],
            options["bias"],
            neuron.options["neuron"],
            norm=bool(norm),
            eps=norm_options.get("epsilon", 0.0),
            momentum=norm_options.get("momentum"),
            recompute=case.construction == RECOMPUTED,
            backend=_requested(case.construction),
        )

    def _recurrent_lif(self, case: Case, network: Network, node: Node, apart: bool):
        """Returns a `RecurrentLIF` by its nodes: the neuron, and the linear that it alone reads
        unless both stay `apart`."""
        from snnbench.kernels.recurrent import RecurrentLIF

        names: tuple[str, ...] = (node.name,)
        options = {}
        if not apart and (linear := network.only_before(node.name, "linear", recurrent=True)):
            names = (linear.name, node.name)
            options = {
                "inputs": network.shapes[linear.inputs[0]][0],
                "bias": linear.options["bias"],
                "recompute": case.construction == "linear-recompute",
            }
        neurons, spec = network.shapes[node.name][0], node.options["neuron"]
        backend = _requested(case.construction)
        return {names: RecurrentLIF(neurons, spec, backend=backend, **options)}

    def parameters(self, layer):
        if hasattr(layer, "weight_ih_l0"):
            return layer.weight_ih_l0, layer.bias_ih_l0
        return super().parameters(layer)

    def recurrent_weight(self, module):
        return module.weight_hh_l0

    def cast_spikes(self, spikes, dtype):
        """Spikes between layers have the type that the next layer multiplies, which may differ from
        that of its weights."""
        return spikes

    def facts(self, case: Case) -> dict:
        from snnbench.kernels.lif import adaptive, backends
        from snnbench.kernels.linear import record

        adapts = not case.native and case.spec.adaptation is not None
        module = adaptive if adapts else backends
        backend = module.choose(*_tensors_of(case), _requested(case.construction))
        # The state is float32 for every storage type: see kernels/lif/contract.py.
        return {"backend": backend, "state_dtype": "float32", **record.facts()}

    def compile_seconds(self) -> float:
        from snnbench.kernels.build import cache

        return cache.build_seconds


def _refuses_recurrent(case: Case, network: Network) -> str | None:
    specs = [node.options["neuron"] for node in network.nodes if node.options.get("recurrent")]
    if specs and case.device_type != "cpu":
        return "our recurrent layer has no kernel for GPUs"
    if any(spec.max_spikes > 1 or spec.rounding for spec in specs):
        return "our recurrent layer has no counts of spikes"
    return None


def _integrator(
    network: Network, node: Node, backend: str | None
) -> dict[tuple[str, ...], "torch.nn.Module"]:
    """Returns an `Integrator` by its nodes: the integrator, and a sum of softmax that alone reads
    it."""
    from snnbench.kernels.lif.integrator import Integrator

    decay, readers = node.options["decay"], network.readers[node.name]
    gain = 1 - decay if node.options["normal"] else 1.0
    summed = [reader.name for reader in readers if reader.kind == "softmax_sum"]
    together = len(readers) == len(summed) == 1
    names = (node.name, *summed) if together else (node.name,)
    return {names: Integrator(decay, gain, softmax_sum=together, backend=backend)}


def _is_readout_of_spikes(network: Network, linear: Node) -> bool:
    """Returns True if a linear reads the 0/1 spikes of a neuron, and neither neuron nor norm reads
    it."""
    if linear.inputs[0] == INPUT:
        return False
    before = network.node(linear.inputs[0])
    return (
        before.kind == "neuron"
        and not before.options["potentials"]
        and getattr(before.options["neuron"], "max_spikes", 0) == 1
        and all(each.kind not in ("neuron", "norm") for each in network.readers[linear.name])
    )


def _is_plain(case: Case) -> bool:
    return (
        case.spec.current_decay is None
        and case.spec.learned_decay is None
        and case.spec.adaptation is None
    )


def _in_its_layout(case: Case, layer: "torch.nn.Module") -> "torch.nn.Module":
    """Lets the weight of a convolution lie as our kernels read it and write its gradient; otherwise
    every step copies both."""
    import torch

    ours = (case.device_type, case.precision, case.mode) == ("cpu", "fp32", "eager")
    return layer.to(memory_format=torch.channels_last) if ours else layer


def _requested(construction: str) -> str | None:
    """Returns the kernel language that a construction asks for; None: any that runs."""
    return construction if construction in SPELLINGS else None


def _tensors_of(case: Case):
    import torch

    return case.device_type, getattr(torch, FLOATS.get(case.precision, "float32"))


def chains(network: Network) -> list[list[tuple[str, str]]]:
    """Returns runs of (linear, neuron) with equal bias and neuron, in which only the next linear
    reads each neuron."""
    chains: list[list[tuple[str, str]]] = []
    for linear, neuron in network.neurons_behind("linear"):
        if chains and _continues(network, *chains[-1][-1], linear, neuron):
            chains[-1].append((linear, neuron))
        else:
            chains.append([(linear, neuron)])
    return chains


def _continues(
    network: Network, last_linear: str, last_neuron: str, linear: str, neuron: str
) -> bool:
    reads = network.node(linear).inputs == (last_neuron,) and len(network.readers[last_neuron]) == 1
    bias = network.node(last_linear).options["bias"] == network.node(linear).options["bias"]
    return reads and bias and network.node(last_neuron).options == network.node(neuron).options


def convolutions(network: Network) -> list[tuple[str, ...]]:
    """Returns runs of (conv, neuron) and (conv, norm, neuron) without other readers and groups."""
    runs = [
        *network.neurons_behind("conv"),
        *(
            (conv.name, norm, neuron)
            for norm, neuron in network.neurons_behind("norm")
            if (conv := network.only_before(norm, "conv"))
        ),
    ]
    return [run for run in runs if network.node(run[0]).options["groups"] == 1]
