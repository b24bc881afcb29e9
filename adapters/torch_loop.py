"""A plain PyTorch loop, as a user writes it without any framework: the baseline of other adapters.

- `checkpointed`: every neuron with the linear in front of it in segments of √T steps, which
  `torch.utils.checkpoint` computes again in backward.
"""

from snnbench.kernels.spec import LEARNED, decay_of, parameter_of_decay

from .base.spikes import reset, torch_spike
from .base.torch_adapter import TorchAdapter, torch_constructions


class TorchLoop(TorchAdapter):
    name = "torch"
    constructions = {
        **torch_constructions(
            "synaptic", "adaptive", "coupled", "learning", "rounding", "resumable"
        ),
        "checkpointed": {"synaptic", "adaptive"},
    }
    learned_decays = dict.fromkeys(LEARNED, "decay")

    def supports(self, case):
        if case.construction == "checkpointed" and case.mode != "eager":
            return "segments that are computed again run eagerly"
        return None

    def modules(self, case, network):
        if case.construction != "checkpointed":
            return super().modules(case, network)
        import torch

        from .base.time_loop import Checkpointed

        modules = {}
        for name in network.neurons:
            node, (neurons, *more) = network.node(name), network.shapes[name]
            if node.options["potentials"]:
                continue
            spec, linear = node.options["neuron"], network.only_before(name, "linear", True)
            neuron = (
                self.recurrent(spec, neurons, case.construction)
                if node.options["recurrent"]
                else self.neuron(spec, (neurons, *more))
            )
            if linear is None:
                modules[(name,)] = Checkpointed(None, neuron)
            else:
                (inputs,) = network.shapes[linear.inputs[0]]
                layer = torch.nn.Linear(inputs, neurons, linear.options["bias"])
                modules[linear.name, name] = Checkpointed(layer, neuron)
        return modules

    def neuron(self, spec, features):
        import torch

        from .base.time_loop import Firing

        spike = torch_spike(spec).apply

        class Loop(Firing):
            def fire(self, current, p):
                v = spec.decay * (torch.zeros_like(current) if p is None else p) + current
                s = spike(v)
                return s, v, reset(spec, v, s, torch.Tensor.detach)

        class Learning(Firing):
            def __init__(self):
                super().__init__()
                self.decay = torch.nn.Parameter(torch.tensor([parameter_of_decay(spec)]))

            def fire(self, current, p):
                p = torch.zeros_like(current) if p is None else p
                v = decay_of(spec, self.decay, torch) * p + current
                s = spike(v)
                return s, v, reset(spec, v, s, torch.Tensor.detach)

        class Adapting(Firing):
            def fire(self, current, state):
                p, a = state or (torch.zeros_like(current), torch.zeros_like(current))
                v = spec.decay * p + current
                s = spike(v - a)
                after = reset(spec, v, s, torch.Tensor.detach, a)
                return s, v, (after, spec.adaptation_decay * a + spec.adaptation * s)

        class AdaptingCurrent(Firing):
            def fire(self, current, state):
                p, a = state or (torch.zeros_like(current), torch.zeros_like(current))
                v = spec.decay * p + current - a
                s = spike(v)
                a = spec.adaptation_decay * a + spec.adaptation * s + spec.adaptation_coupling * v
                return s, v, (reset(spec, v, s, torch.Tensor.detach), a)

        class WithSynapse(Loop):
            def fire(self, current, state):
                i, p = state or (torch.zeros_like(current), None)
                i = spec.current_decay * i + current
                s, v, p = super().fire(i, p)
                return s, v, (i, p)

        if spec.learned_decay:
            return Learning()
        if spec.adaptation_coupling is not None:
            return AdaptingCurrent()
        if spec.adaptation is not None:
            return Adapting()
        return Loop() if spec.current_decay is None else WithSynapse()

    def potentials(self, spec, features, construction):
        from .base.time_loop import Potentials

        return Potentials(self.neuron(spec, features))
