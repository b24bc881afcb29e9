"""The base class of every adapter whose framework runs on PyTorch."""

import os
import shutil
import sys
from importlib.util import find_spec

from .case import Case
from .contract import Adapter, Unsupported
from .modes import COMPILE_MODES

CXX = "clang++" if sys.platform == "darwin" else "g++"
"""What torch.compile starts where the environment variable CXX names nothing else."""


class TorchAdapter(Adapter):
    """Subclass with `name` and `neuron`; the rest has defaults.

    `neuron` returns an nn.Module that maps currents (T, B, *features) to spikes of that shape. Every call is one
    whole sequence from rest: a state that the framework keeps is reset inside the call. A framework that loops over
    time in Python returns a `TimeLoop` (see `time_loop.py`): then long sequences are compiled in chunks, and the
    linear layer can be put inside the loop (construction `stepwise`).

    Modes: `eager`; `compile`, torch.compile; `compile-reduce-overhead` and `compile-max-autotune`, its modes of these names,
    on CUDA devices; `graph`, a CUDA graph of every phase.
    """

    requires = ("torch",)
    constructions = ("default", "stepwise")
    modes = ("eager", *COMPILE_MODES, "graph")

    def neuron(self, spec, features: tuple[int, ...]):
        raise NotImplementedError(f"{type(self).__name__} does not define neuron(spec, features)")

    def lif(self, spec, features: tuple[int, ...], construction: str):
        """The neuron as `construction` spells it, like `neuron`; workload `lif` is this alone."""
        return self.neuron(spec, features)

    def layer(self, spec, inputs: int, outputs: int, bias: bool, construction: str):
        """An nn.Module (T, B, inputs) → (T, B, outputs): one Linear over all T·B rows, then the neuron.

        `stepwise`: a Linear over the B rows of each step, then one step of the neuron. Raises Unsupported where the
        neuron is no TimeLoop.
        """
        from .time_loop import Stepwise, TimeLoop
        from .torch_program import LinearNeuron

        neuron = self.lif(spec, (outputs,), construction)
        if construction != "stepwise":
            return LinearNeuron(inputs, outputs, bias, neuron)
        if not isinstance(neuron, TimeLoop):
            raise Unsupported(f"{self.name}'s neuron hands out no state: no linear layer fits into its loop over time")
        return Stepwise(inputs, outputs, bias, neuron)

    def native_layer(self, inputs: int, outputs: int, bias: bool):
        """`native` behind one Linear over all T·B rows; else the layer, weights and neuron in one, that the tutorial builds."""
        from .torch_program import LinearNeuron

        return LinearNeuron(inputs, outputs, bias, self.native((outputs,)))

    def stack(self, case: Case) -> list:
        """The layers of workload `linear-lif`, first to last, each from `layer`; for adapters whose layers know of each other."""
        made = range(case.layers)
        return [self.layer(case.neuron, case.neurons, case.neurons, case.bias, case.construction) for _ in made]

    def handed_on(self, spikes, dtype):
        """Spikes of a layer as the next takes them: in its weights' type, for some frameworks hand out float32 whatever they
        are given."""
        return spikes.to(dtype)

    def parameters(self, layer):
        """Where a layer keeps its (weight, bias) parameters."""
        return layer.linear.weight, layer.linear.bias

    def facts(self, case: Case) -> dict:
        """More that a reader of the record should know of this run, such as which of its kernels a framework chose."""
        return {}

    def compile_seconds(self) -> float | None:
        """What compiling kernels of the framework's own has taken in this process; None: it has none."""
        return None

    def prepare(self, case: Case, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        # "highest" keeps fp32 products in fp32 on every backend; "high" allows TF32 on CUDA.
        torch.set_float32_matmul_precision("high" if case.precision == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = case.precision == "tf32"

    def refuses(self, case: Case) -> str | None:
        return super().refuses(case) or _refuses_variant(case)

    def program(self, case: Case):
        if case.mode in COMPILE_MODES:
            from .torch_compile import CompiledProgram as Program
        elif case.mode == "graph":
            from .torch_graph import GraphProgram as Program
        else:
            from .torch_program import TorchProgram as Program
        return Program(self, case)


def _refuses_variant(case: Case) -> str | None:
    """Why nobody's framework can be run this way here."""
    on_cpu = case.device == "cpu"
    if case.construction == "stepwise" and case.workload == "lif":
        return "stepwise puts the linear layer into the time loop, and workload lif has no linear layer"
    if case.mode == "graph" and on_cpu:
        return "mode graph is a CUDA graph, which needs a CUDA device"
    if case.mode in COMPILE_MODES and case.mode != "compile" and on_cpu:
        return f"mode {case.mode} is for CUDA devices; on a CPU there is compile"
    if case.mode == "compile" and on_cpu and shutil.which(cxx := os.environ.get("CXX") or CXX) is None:
        return f"mode compile needs a C++ compiler on a CPU, and {cxx} (set CXX for another) is not here"
    if case.mode in COMPILE_MODES and not on_cpu and find_spec("triton") is None:
        return f"mode {case.mode} needs Triton on a CUDA device, and it is not installed"
    return None
