"""A plain PyTorch loop, as a user writes it without any framework: the baseline of other adapters,
and the only torch adapter with potentials.

- `checkpointed`: every neuron with the linear in front of it in segments of √T steps, which
  `torch.utils.checkpoint` computes again in backward.
"""

from snnbench.kernels.spec import LEARNED, decay_of, parameter_of_decay

from .base.spikes import reset, torch_spike
from .base.torch_adapter import TorchAdapter, torch_constructions


class TorchLoop(TorchAdapter):
    name = "torch"
    constructions = {
        **torch_constructions("synaptic", "adaptive", "learning", "rounding", "resumable"),
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

        from .base.time_loop import TimeLoop

        spike = torch_spike(spec).apply

        class Loop(TimeLoop):
            def step(self, current, v):
                v = torch.zeros_like(current) if v is None else v
                v = spec.decay * v + current
                s = spike(v)
                return s, reset(spec, v, s, torch.Tensor.detach)

        class Learning(TimeLoop):
            def __init__(self):
                super().__init__()
                self.decay = torch.nn.Parameter(torch.tensor([parameter_of_decay(spec)]))

            def step(self, current, v):
                v = torch.zeros_like(current) if v is None else v
                v = decay_of(spec, self.decay, torch) * v + current
                s = spike(v)
                return s, reset(spec, v, s, torch.Tensor.detach)

        class Adapting(TimeLoop):
            def step(self, current, state):
                v, a = state or (torch.zeros_like(current), torch.zeros_like(current))
                v = spec.decay * v + current
                s = spike(v - a)
                return s, (
                    reset(spec, v, s, torch.Tensor.detach, a),
                    spec.adaptation_decay * a + spec.adaptation * s,
                )

        class WithSynapse(Loop):
            def step(self, current, state):
                i, v = state or (torch.zeros_like(current), None)
                i = spec.current_decay * i + current
                s, v = super().step(i, v)
                return s, (i, v)

        if spec.learned_decay:
            return Learning()
        if spec.adaptation is not None:
            return Adapting()
        return Loop() if spec.current_decay is None else WithSynapse()

    def potentials(self, spec, features, construction):
        import torch

        spike = torch_spike(spec).apply

        class Potentials(torch.nn.Module):
            def forward(self, currents):
                after, potentials, spikes = torch.zeros_like(currents[0]), [], []
                i, current_decay, a = (
                    after,
                    spec.current_decay or 0.0,
                    after if spec.adaptation is not None else None,
                )
                for current in currents.unbind(0):
                    i = current_decay * i + current
                    v = spec.decay * after + i
                    s = spike(v if a is None else v - a)
                    after = reset(spec, v, s, torch.Tensor.detach, a)
                    a = None if a is None else spec.adaptation_decay * a + spec.adaptation * s
                    potentials.append(v)
                    spikes.append(s)
                return torch.stack(spikes), torch.stack(potentials)

        return Potentials()
