"""The base class of adapters for frameworks on PyTorch."""

import os
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Set
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snnbench.core.case import Case
from snnbench.core.contract import Adapter, Program, Trait, Unsupported
from snnbench.core.network import LAYERS, OF_TWO, OVER_TIME, Network
from snnbench.core.variant import COMPILE_MODES
from snnbench.kernels.spec import NeuronSpec

from ..ranks.refused import cannot_share

if TYPE_CHECKING:
    import torch

CXX = "clang++" if sys.platform == "darwin" else "g++"
"""The compiler that torch.compile starts unless the environment variable CXX names another."""
PYTHON_HEADER = Path(sysconfig.get_path("include")) / "Python.h"
"""A header that all C++ code of torch.compile includes."""


def _first_before_a_neuron(network: Network) -> str | None:
    """Returns the kind of the first node that frameworks have no layer for, such as an integrator,
    and that has a neuron behind it, or None."""
    kinds = [node.kind for node in network.nodes]
    heads = (
        "integrator",
        "mix_time",
        "delayed",
        "vote",
        "reshape",
        "multiply",
        "product",
        "sum",
        *OVER_TIME,
    )
    first = next((index for index, kind in enumerate(kinds) if kind in heads), len(kinds))
    return kinds[first] if "neuron" in kinds[first:] else None


def torch_constructions(*traits: Trait) -> dict[str, Set[Trait]]:
    """Returns the constructions that every TorchAdapter has, with traits of its neurons."""
    return {"default": {*traits}, "stepwise": {*traits, "linear"}, "vanilla": {*traits}}


class TorchAdapter(Adapter):
    """Subclass with `name` and `neuron`; the rest has defaults.

    `neuron` returns an nn.Module that maps currents (T, B, *features) to spikes of that shape.
    Every call is one whole sequence from rest: a state that the framework keeps is reset inside the
    call. A framework that loops over time in Python returns a `TimeLoop`: then long sequences are
    compiled in chunks, and a linear layer fits inside the loop, in front of the neuron
    (construction `stepwise`) or from its spikes back to it (a recurrent neuron).

    `default` computes layers without a state once over all time steps, `vanilla` once for each,
    norms excepted: their statistics are over all steps. A construction `layers`, where a framework
    has it, is a network of the framework's own layers or in its own containers, as its users write
    it.

    Modes: `eager`; `compile`, torch.compile; `compile-reduce-overhead` and `compile-max-autotune`,
    its modes of these names, on CUDA devices; `graph`, a CUDA graph of every phase.

        class Mine(TorchAdapter):
            name = "mine"
            requires = ("torch", "my_framework")
            distribution = "my-framework"

            def neuron(self, spec, features):
                return my_framework.LIF(decay=spec.decay, threshold=spec.threshold)
    """

    requires: tuple[str, ...] = ("torch",)
    constructions: Mapping[str, Set[Trait]] = torch_constructions()
    modes: tuple[str, ...] = ("eager", *COMPILE_MODES, "graph")

    def layer(
        self, spec: NeuronSpec, inputs: int, outputs: int, bias: bool, construction: str
    ) -> "torch.nn.Module":
        """Returns an nn.Module (T, B, inputs) → (T, B, outputs): one Linear over all T·B rows, then
        the neuron. `stepwise`: a Linear over the B rows of each step, then one step of the neuron.
        Raises Unsupported where the neuron is no TimeLoop."""
        from .time_loop import Stepwise, TimeLoop
        from .torch_network import LinearNeuron

        neuron = self.lif(spec, (outputs,), construction)
        if construction != "stepwise":
            return LinearNeuron(inputs, outputs, bias, neuron)
        if not isinstance(neuron, TimeLoop):
            raise Unsupported(
                f"{self.name}'s neuron hands out no state: no linear layer fits into its loop over "
                "time"
            )
        return Stepwise(inputs, outputs, bias, neuron)

    def native_layer(self, inputs: int, outputs: int, bias: bool) -> "torch.nn.Module":
        """Returns `native` after one Linear over all T·B rows. Override it where the tutorial
        builds weights and neuron as one layer."""
        from .torch_network import LinearNeuron

        return LinearNeuron(inputs, outputs, bias, self.native((outputs,)))

    def modules(self, case: Case, network: Network) -> dict[tuple[str, ...], "torch.nn.Module"]:
        """Returns the framework's modules by the nodes of `network` that each computes: every
        linear and its neuron, by `layer` or `native_layer`. Other neurons are made by `lif` and
        `potentials`, other nodes of torch's own layers.

        Override it where layers depend on each other, or where a framework has a module for another
        run of nodes.
        """
        modules: dict[tuple[str, ...], torch.nn.Module] = {}
        if case.construction == "vanilla":
            return modules
        for linear, neuron in network.neurons_behind("linear"):
            options, (inputs,) = (
                network.node(linear).options,
                network.shapes[network.node(linear).inputs[0]],
            )
            sizes = inputs, options["outputs"], options["bias"]
            spec = network.node(neuron).options["neuron"]
            modules[linear, neuron] = (
                self.native_layer(*sizes)
                if case.native
                else self.layer(spec, *sizes, case.construction)
            )
        return modules

    def cast_spikes(self, spikes: "torch.Tensor", dtype: "torch.dtype") -> "torch.Tensor":
        """Casts a node's input to the network's type: some frameworks return float32 spikes for any
        input."""
        return spikes.to(dtype)

    def parameters(self, layer: Any) -> "tuple[torch.nn.Parameter, torch.nn.Parameter | None]":
        """Returns the (weight, bias) parameters of a module of `modules`."""
        return layer.linear.weight, layer.linear.bias

    def recurrent(self, spec: NeuronSpec, neurons: int, construction: str) -> "torch.nn.Module":
        """Returns the module of a recurrent neuron, from currents (T, B, neurons) to spikes: `lif`
        with torch's Linear from its spikes back to it. Override it where a framework has a class
        for both; the module with the weight is its attribute `recurrent`. Raises Unsupported where
        the neuron is no TimeLoop."""
        from .time_loop import TimeLoop
        from .torch_network import Recurrent

        neuron = self.lif(spec, (neurons,), construction)
        if not isinstance(neuron, TimeLoop):
            raise Unsupported(
                f"{self.name}'s neuron hands out no state: no recurrent linear fits into its loop"
            )
        return Recurrent(neurons, neuron)

    def recurrent_weight(self, module: Any) -> "torch.nn.Parameter":
        """Returns the recurrent weight (N, N) within the module of a recurrent neuron."""
        return next(
            part for part in module.modules() if hasattr(part, "recurrent")
        ).recurrent.weight

    def facts(self, case: Case) -> dict[str, Any]:
        """Returns more facts for the record, such as the kernel that the framework chose."""
        return {}

    def compile_seconds(self) -> float | None:
        """Seconds that this process spent on compiling the framework's own kernels; None if it has
        none."""
        return None

    def prepare(self, case: Case, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        # "highest" keeps fp32 products in fp32 on every backend; "high" allows TF32 on CUDA.
        torch.set_float32_matmul_precision("high" if case.precision == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = case.precision == "tf32"
        # torch's default: partial sums of a product of short formats may be added in that format.
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True

    def refuses(self, case: Case, network: Network) -> str | None:
        if reason := super().refuses(case, network):
            return reason
        on_cpu, compiled = case.device == "cpu", case.mode in COMPILE_MODES
        if case.construction in ("vanilla", "layers") and not any(
            node.kind in LAYERS for node in network.nodes
        ):
            return (
                f"{case.construction} is about the layers around a neuron, and this network has "
                "none"
            )
        if reason := self._refuses_shape(case, network):
            return reason
        if case.mode == "graph" and on_cpu:
            return "mode graph is a CUDA graph, which needs a CUDA device"
        if compiled and case.mode != "compile" and on_cpu:
            return f"mode {case.mode} is for CUDA devices; on a CPU there is compile"
        cxx = os.environ.get("CXX") or CXX
        if case.mode == "compile" and on_cpu and shutil.which(cxx) is None:
            return (
                f"mode compile needs a C++ compiler on a CPU, and {cxx} (set CXX for another) is "
                "not here"
            )
        if case.mode == "compile" and on_cpu and not PYTHON_HEADER.exists():
            return f"mode compile needs Python's headers on a CPU, and there is no {PYTHON_HEADER}"
        if compiled and not on_cpu and find_spec("triton") is None:
            return f"mode {case.mode} needs Triton on a CUDA device, and it is not installed"
        if case.ranks:
            return cannot_share(self, case, network)
        return None

    def _refuses_shape(self, case: Case, network: Network) -> str | None:
        if network.has_neuron("recurrent"):
            if case.construction == "layers":
                return f"{self.name}'s own layers are offered here without recurrent neurons"
            if self.has_trait("uncut", case) and not self.has_trait("recurrent", case):
                return (
                    f"{self.name}'s neuron hands out no state: no recurrent linear fits into its "
                    "loop"
                )
        kinds = {node.kind for node in network.nodes} if self.has_trait("chain", case) else set()
        if "norm" in kinds:
            return (
                f"{self.name}'s own container is called once for each step, and a norm's "
                "statistics are over all steps"
            )
        if kinds & {"mix_time", "delayed"}:
            return (
                f"{self.name}'s own container is called once for each step, and a mix of steps is "
                "over all"
            )
        if kinds & {*OF_TWO}:
            return f"{self.name}'s own container is a chain, and this network has shortcuts"
        if self.has_trait("container", case) and (kind := _first_before_a_neuron(network)):
            return f"{self.name}'s own container is offered here without neurons behind a {kind}"
        return None

    def program(self, case: Case, network: Network) -> Program:
        if case.mode in COMPILE_MODES:
            from .torch_compile import CompiledProgram

            return CompiledProgram(self, case, network)
        if case.mode == "graph":
            from .torch_graph import GraphProgram

            return GraphProgram(self, case, network)
        from .torch_program import TorchProgram

        return TorchProgram(self, case, network)
