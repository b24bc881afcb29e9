"""lava-dl's SLAYER, its CUBA neuron in a Dense block (https://lava-nc.org/lava-lib-dl): integer
arithmetic, as on Loihi.

The state is a multiple of 1/(64·scale), the decay of 1/4096. Construction `default` uses a scale of
2¹⁸ and `pre_hook_fx=None`, so that float32 computes without fixed point. In `quantised` Dense
rounds weights to 8 bits, multiples of 2/scale, with the scale that fits the weights of a layer of
that width. Backward is a filter that ignores the reset (`hard-straight`). For `none` the *current*
integrates and the voltage passes it through, so that the reset has no effect.

On a CPU steps carry the state as 64-bit integers in every precision; only outputs have the
requested precision. In bf16 one potential therefore decides the spike and another the reset: where
rounding lifts the first over the threshold, the neuron fires without a reset.
"""

import math
import sys
import time
import types

from snnbench.core.case import Case
from snnbench.core.contract import FixedPoint
from snnbench.kernels.surrogates import derivative

from .base.torch_adapter import TorchAdapter

# SLAYER imports its object detector, which needs torchvision and OpenCV; no neuron uses it.
DETECTOR = "lava.lib.dl.slayer.object_detection"
sys.modules.setdefault(DETECTOR, types.ModuleType(DETECTOR))

EXACT = 1 << 18

TUTORIAL = {"threshold": 0.1, "current_decay": 1, "voltage_decay": 0.1, "requires_grad": True}


class LavaDl(TorchAdapter):
    name = "lava-dl"
    requires = ("torch", "lava.lib.dl.slayer")
    distribution = "lava-dl"
    constructions = {"default": set(), "quantised": {"linear"}}
    modes = ("eager", "compile")

    def __init__(self):
        self.compiling: float | None = None

    def supports(self, case: Case) -> str | None:
        spec = case.spec
        if spec.reset not in ("none", "hard-straight") or (
            spec.reset == "hard-straight" and not spec.detach_reset
        ):
            return (
                f"CUBA resets to zero, and its backward does not see it; it has no {spec.label()}"
            )
        if spec.max_spikes > 1:
            return "CUBA fires once a step"
        if (spec.decay * 4096) % 1 or spec.decay == 1:
            return "CUBA's decay is a multiple of 1/4096 below 1"
        if case.construction == "quantised" and case.neurons is None:
            return (
                "quantised takes the scale of its weights from the width that all layers share, "
                "and this network has none"
            )
        scale = EXACT if case.construction == "default" else _scale(case.neurons)
        if (spec.threshold * scale) % 1 or spec.threshold > 32:
            return f"CUBA's threshold is here a multiple of 1/{scale}, at most 32"
        if case.precision == "fp16":
            return "the potential in CUBA's units of 1/(64·scale) is more than fp16 holds"
        if spec.reset == "hard-straight" and case.precision in ("bf16", "amp-bf16"):
            return (
                "CUBA resets by its whole numbers and fires by what bf16 makes of them: it fires "
                "without a reset"
            )
        return None

    def fixed_point(self, case: Case) -> FixedPoint | None:
        """Input and decayed state are truncated to a unit in each step, at most 2/(1 − decay) units
        in sum."""
        if case.construction != "quantised":
            return None
        scale = _scale(case.neurons)
        distance = 2 / (64 * scale) / (1 - case.spec.decay)
        return FixedPoint(
            "default", 2 / scale, -256 / scale, 254 / scale, 2e-3, distance, 4 * distance
        )

    def parameters_of(self, spec, scale: int = EXACT) -> dict:
        """Returns the neuron in CUBA's terms; its decays are the part that is lost in a step."""
        lost = 1 - spec.decay
        decays = (lost, 1.0) if spec.reset == "none" else (1.0, lost)
        return {
            "threshold": spec.threshold,
            "current_decay": decays[0],
            "voltage_decay": decays[1],
            "scale": scale,
        }

    def prepared(self, spec=None):
        """Returns SLAYER with the surrogate of `spec` (None: its own), compiled for the present
        GPU."""
        import lava.lib.dl.slayer as slayer
        import torch

        _set_surrogate(slayer.spike.spike, spec and derivative(spec, torch))
        if torch.cuda.is_available() and self.compiling is None:
            # SLAYER asks for sm_80 code on everything newer, which does not run there.
            slayer.jitconfig.TORCH_CUDA_ARCH_LIST = "{}.{}".format(
                *torch.cuda.get_device_capability()
            )
            start = time.perf_counter()
            _ = slayer.neuron.dynamics.leaky_integrator.Accelerated.leaky_integrator
            self.compiling = time.perf_counter() - start
        return slayer

    def compile_seconds(self) -> float | None:
        return self.compiling

    def neuron(self, spec, features):
        return time_last(self.prepared(spec).neuron.cuba.Neuron(**self.parameters_of(spec)))

    def layer(self, spec, inputs, outputs, bias, construction):
        scale, hook = (
            (_scale(inputs), {}) if construction == "quantised" else (EXACT, {"pre_hook_fx": None})
        )
        dense = self.prepared(spec).block.cuba.Dense
        return _with_bias(
            dense(self.parameters_of(spec, scale), inputs, outputs, delay_shift=False, **hook),
            outputs,
            bias,
        )

    def parameters(self, layer):
        return layer.lif.synapse.weight, layer.lif.synapse.bias

    def native(self, features):
        """block.cuba.Dense: weights of 8 bits, β = 0.9, θ = 0.09375, to zero unseen by backward, a
        step late, own surrogate.

        Source: SLAYER's tutorial "Spike to Spike Regression: Oxford"
        (tutorials/lava/lib/dl/slayer/oxford/train.ipynb) and the defaults of
        `slayer.block.cuba.Dense`, which cut the tutorial's threshold of 0.1 off at a multiple of
        1/64. The surrogate is an exponential, 0.0053·exp(−|v − θ|/9.375). The decays are trained
        along. A bias is what our case adds.
        """
        slayer = self.prepared()
        return time_last(
            slayer.neuron.cuba.Neuron(**TUTORIAL), lambda spikes: slayer.axon.delay(spikes, 1)
        )

    def native_layer(self, inputs, outputs, bias):
        return _with_bias(
            self.prepared().block.cuba.Dense(TUTORIAL, inputs, outputs), outputs, bias
        )

    def facts(self, case: Case) -> dict:
        return {"state_dtype": "int64"} if case.device == "cpu" and case.mode == "eager" else {}


def _set_surrogate(module, slope_at) -> None:
    """Replaces the surrogate that `module` looks up by name, for which there is no argument, with
    `slope_at`(v − θ); None restores SLAYER's own, an exponential, so that it does not leak into the
    next run."""
    original = getattr(module._spike_backward, "original", module._spike_backward)
    if slope_at is None:
        module._spike_backward = original
        return

    def surrogate(v, threshold, *_):
        return slope_at(v - threshold)

    vars(surrogate)["original"] = original
    module._spike_backward = surrogate


def _with_bias(block, outputs: int, bias: bool):
    import torch

    if bias:
        block.synapse.bias = torch.nn.Parameter(torch.zeros(outputs))
    return time_last(block)


def _scale(inputs: int) -> int:
    """Returns a power of two for which ±256/scale, the range of 8-bit weights, is about eight of
    their standard deviations 1/√inputs."""
    return 2 ** round(math.log2(32 * math.sqrt(inputs)))


def time_last(lif, change=None):
    """Wraps a module that takes (B, N, T) as one from (T, B, *features) to spikes, flat inside;
    `change` is applied to them first."""
    from .base.time_loop import Uncut

    def spikes(lif, x):
        spikes = lif(x.flatten(2).permute(1, 2, 0))
        spikes = (spikes if change is None else change(spikes)).permute(2, 0, 1)
        return spikes.unflatten(2, x.shape[2:]) if x.dim() > 3 else spikes

    return Uncut(lif, spikes)
