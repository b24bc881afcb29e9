"""Rockpool on torch (https://rockpool.ai), batch first. Time constants, threshold and bias,
trainable by default, are constants here, except a decay that is learned as a time constant. Its
time loops cannot be cut: `compile` unrolls the whole sequence.

- `default`: `LIFNeuronTorch`, without synapse and recurrence.
- `lif-torch`: `LIFTorch` as shipped, which multiplies by an N × N matrix of zero recurrent weights
  at every step. Its synapse, which decays the input before use, is switched off by a tiny decay and
  currents scaled by its inverse. Recurrent neurons are the same with their weights in place of the
  zeros.
- `lif-torch-without-recurrence`: the same with that matrix deleted, which `LIFTorch` allows.
- `numpy`: its `LIF` in NumPy, which is refused.
"""

from math import log, prod
from types import MappingProxyType, SimpleNamespace

from snnbench.core.case import Case
from snnbench.core.contract import Unsupported

from .base.spikes import torch_spike
from .base.torch_adapter import TorchAdapter, torch_constructions

SYNAPSE_OFF = 2.0**-40
"""A synaptic decay: a power of two, so that its inverse scales currents exactly."""


class Rockpool(TorchAdapter):
    name = "rockpool"
    requires = ("torch", "rockpool.nn.modules")
    distribution = "rockpool"
    constructions = {
        **torch_constructions("uncut", "learning", "rounding"),
        "lif-torch": {"uncut", "recurrent", "rounding"},
        "lif-torch-without-recurrence": {"uncut", "rounding"},
        "numpy": set(),
    }
    learned_decays = MappingProxyType({"time-constant": "tau_mem"})

    def supports(self, case: Case) -> str | None:
        spec, synaptic = case.spec, case.construction.startswith("lif-torch")
        if case.construction == "numpy":
            return "Rockpool's LIF in NumPy runs forward alone: no gradient passes it"
        if spec.reset != "soft" or spec.detach_reset:
            return "Rockpool's neurons only subtract, with gradient"
        if spec.decay in (0, 1) and not synaptic:
            return f"LIFNeuronTorch always {'remembers' if spec.decay == 0 else 'leaks'}"
        if case.construction == "stepwise":
            return (
                "LIFNeuronTorch keeps the state of the first batch item only, detached: its time "
                "loop cannot be cut"
            )
        if synaptic and case.precision == "fp16":
            return (
                "switching LIFTorch's synapse off takes currents 2⁴⁰ times as large, which fp16 "
                "cannot hold"
            )
        if synaptic and case.optimizer == "adam":
            return (
                "switching LIFTorch's synapse off takes gradients 2⁻⁴⁰ times as large, and "
                "float32 cannot hold their squares, which Adam keeps"
            )
        if case.construction == "lif-torch" and case.precision == "bf16":
            return (
                "LIFTorch's recurrent weights stay float32 in a bf16 module, and torch does not "
                "multiply the two"
            )
        return None

    def scale_of(self, case: Case) -> float:
        return (
            1 / SYNAPSE_OFF if case.construction.startswith("lif-torch") else super().scale_of(case)
        )

    def lif(self, spec, features, construction):
        import torch

        if not construction.startswith("lif-torch"):
            from rockpool.nn.modules import LIFNeuronTorch

            tau = -1 / log(spec.decay)
            tau_mem = torch.tensor([tau]) if spec.learned_decay else constant(tau)
            return from_rest(LIFNeuronTorch(prod(features), tau_mem=tau_mem, **options(spec)))
        lif = lif_torch(spec, prod(features))
        if construction == "lif-torch-without-recurrence":
            del lif.w_rec
        return from_rest(lif)

    def recurrent(self, spec, neurons, construction):
        if construction != "lif-torch":
            return super().recurrent(spec, neurons, construction)
        import torch

        lif = lif_torch(spec, neurons)
        del lif.w_rec
        module = from_rest(lif)
        module.recurrent = torch.nn.Linear(neurons, neurons, bias=False)

        def transpose(module, inputs):
            object.__setattr__(lif, "w_rec", module.recurrent.weight.t())

        module.register_forward_pre_hook(transpose)
        return module

    def native(self, features):
        """LIFTorch(N): synapse and membrane of 20 ms at steps of 1 ms, many spikes a step,
        surrogate StepPWL.

        Source: the class that Rockpool's tutorial "Training a spiking network with Torch" is about,
        with the defaults of `rockpool.nn.modules.LIFTorch`. A spike subtracts θ; each step also
        multiplies by the (N, N) matrix of zeros that the class keeps where it is not recurrent.
        Time constants, thresholds and biases are trained along.
        """
        import torch
        from rockpool.nn.modules import LIFTorch

        def refuse_short_formats(module, inputs):
            if module.lif.threshold.dtype != torch.float32:
                raise Unsupported(
                    "LIFTorch makes its spikes float32 and then fails to multiply them by its "
                    "recurrent weights"
                )

        spikes = from_rest(LIFTorch(prod(features)))
        spikes.register_forward_pre_hook(refuse_short_formats)
        return spikes


def constant(value):
    import torch
    from rockpool.parameters import Constant

    return Constant(torch.tensor(float(value)))


def lif_torch(spec, neurons):
    """Returns a `LIFTorch` of `spec` with its synapse switched off."""
    from rockpool.nn.modules import LIFTorch

    decays = {
        "leak_mode": "decays",
        "alpha": constant(spec.decay),
        "beta": constant(SYNAPSE_OFF),
    }
    return LIFTorch(neurons, **decays, **options(spec))


def options(spec) -> dict:
    import torch

    spike = torch_spike(spec).apply
    return {
        "threshold": constant(spec.threshold),
        "bias": constant(0.0),
        "dt": 1.0,
        # Counts by itself, as the specification says.
        "spike_generation_fn": SimpleNamespace(apply=lambda v, *_: spike(v)),
        "max_spikes_per_dt": torch.tensor(float(spec.max_spikes)),
    }


def from_rest(lif):
    """Wraps a neuron as currents (T, B, *features), flat inside, → spikes. It is reset before each
    call: Rockpool keeps the state of the first batch item, for all items."""
    from .base.time_loop import Uncut

    def spikes(lif, currents):
        lif.reset_state()
        return lif(currents.flatten(2).transpose(0, 1))[0].transpose(0, 1).reshape(currents.shape)

    return Uncut(lif, spikes, state="vmem")
