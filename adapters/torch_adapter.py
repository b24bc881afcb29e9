"""The base class of every adapter whose framework runs on PyTorch."""

from .base import Adapter, Case


class TorchAdapter(Adapter):
    """Subclass with `name` and `neuron`; the rest has defaults.

    `neuron` returns an nn.Module that maps currents (T, B, *features) to spikes of that shape. Every call is one
    whole sequence from rest: a state that the framework keeps is reset inside the call.
    """

    requires = ("torch",)

    def neuron(self, spec, features: tuple[int, ...]):
        raise NotImplementedError(f"{type(self).__name__} does not define neuron(spec, features)")

    def layer(self, spec, inputs: int, outputs: int, bias: bool, construction: str):
        """An nn.Module (T, B, inputs) → (T, B, outputs): one Linear over all T·B rows, then the neuron."""
        from .torch_program import LinearNeuron

        return LinearNeuron(inputs, outputs, bias, self.neuron(spec, (outputs,)))

    def parameters(self, layer):
        """Where a layer keeps its (weight, bias) parameters."""
        return layer.linear.weight, layer.linear.bias

    def prepare(self, case: Case, threads: int) -> None:
        import torch

        torch.set_num_threads(threads)
        # "highest" keeps fp32 products in fp32 on every backend; "high" allows TF32 on CUDA.
        torch.set_float32_matmul_precision("high" if case.precision == "tf32" else "highest")
        torch.backends.cudnn.allow_tf32 = case.precision == "tf32"

    def program(self, case: Case):
        from .torch_program import TorchProgram

        return TorchProgram(self, case)
