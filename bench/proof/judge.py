"""Is this the same network? Numbers in, a verdict with reasons out.

The rules were tried on 82 constructions before they were written down. In fp32 they prove structure *and* constants;
in the short formats they prove structure only, which is why a construction must pass in fp32 first.
"""

from dataclasses import dataclass, field

import numpy as np

from snnbench.kernels.spec import NeuronSpec

from . import oracle


@dataclass(frozen=True)
class Limits:
    """The most that may differ: share of decisions, their distance to a threshold, relative L2 errors of gradients."""

    decisions: float
    distance: float
    gradient: float
    bias_gradient: float


def limits(precision: str, spec: NeuronSpec, inputs: int, time_steps: int, batch: int, layers: int = 1) -> Limits:
    """Limits for a stack of `layers` with `inputs` inputs each.

    Rounding grows with the root of the number of summed products and with the membrane's memory μ, which is 2.9 at
    the canonical decay.
    """
    memory = time_steps if spec.decay == 1 else min(time_steps, 1 / (1 - spec.decay**2))
    memory = max(1.0, np.sqrt(memory) / 2.9)
    band = 1e-5 * spec.threshold * max(1.0, np.sqrt(inputs / 512)) * memory
    if precision == "fp32":
        gradient = 1e-5 * max(1.0, np.sqrt(max(inputs, time_steps * batch) / 16384)) * memory
        return Limits(1e-4, band, gradient, gradient)
    # In short formats the rounding of every layer above enters a gradient: 0.018 in one layer and 0.042 in two were seen
    # of right networks in bf16.
    stack = np.sqrt(layers)
    return {
        "tf32": Limits(1e-4, 2 * band, 1e-3 * stack, 1e-3 * stack),
        "fp16": Limits(2e-3, 0.02 * spec.threshold, 6e-3 * stack, 1e-2 * stack),
        "bf16": Limits(8e-3, 0.15 * spec.threshold, 0.04 * stack, 0.06 * stack),
        "amp-bf16": Limits(8e-3, 0.15 * spec.threshold, 0.04 * stack, 0.06 * stack),
    }[precision]


@dataclass
class Verdict:
    """Findings are reasons to reject, in words; empty means the same network. Errors are the largest over layers.

    Decisions that no oracle judged are None.
    """

    findings: list[str] = field(default_factory=list)
    wrong_decisions: float | None = 0.0
    distance: float | None = 0.0
    errors: dict[str, float] = field(default_factory=dict)
    firing_rate: float | None = None

    @property
    def passed(self) -> bool:
        return not self.findings

    @property
    def grad_error(self) -> float | None:
        return max(self.errors.values(), default=None)


def judge(problem, x: np.ndarray, borders: list[np.ndarray], gradients, limit: Limits) -> Verdict:
    """Hold one call's spikes (by layer, whole) and gradients (None: spikes only) against the forced oracle."""
    verdict = Verdict(firing_rate=float(borders[-1].mean()))
    shape = problem.upstream.shape
    for index, border in enumerate(borders):
        where = f" of layer {index + 1}" if len(borders) > 1 else ""
        if border.shape != shape:
            verdict.findings.append(f"spikes{where} have shape {border.shape}, not (T, B, N) = {shape}")
        elif finding := not_spikes(border, problem.spec.max_spikes):
            verdict.findings.append(f"spikes{where} {finding}")
    if verdict.findings:
        return verdict
    judged, rows, x = problem.judged_part(), problem.rows, problem.judged_input(x)
    seen = borders if rows is None else [border[:, :, rows] for border in borders]
    layers = oracle.forward(judged, x, seen) if rows is None or len(borders) == 1 else _layers_apart(judged, x, borders)
    for index, layer in enumerate(layers):
        _decisions(verdict, problem.spec, layer, seen[index], index, len(layers), limit)
    if gradients is not None:
        upstream = problem.upstream if rows is None else problem.upstream[:, :, rows]
        given = oracle.backward(judged, x, seen, layers, upstream)
        _gradients(verdict, problem, layers, given, gradients, limit)
    return verdict


def _layers_apart(judged, x, borders):
    """Each layer's judged rows on the whole spikes of the layer below: for wide stacks, decisions only."""
    layers = []
    for index in range(len(borders)):
        currents = oracle.currents_of(judged, index, borders[index - 1] if index else x)
        v, expected = oracle.run(judged.spec, currents, borders[index][:, :, judged.rows])
        layers.append(oracle.Layer(v, expected))
    return layers


def not_spikes(border: np.ndarray, most: float) -> str | None:
    """Why an output (T, B, N) holds no spikes, up to `most` a step; None if it does."""
    if not np.isfinite(border).all():
        return "hold NaN or infinity"
    if not np.array_equal(border, np.round(border)):
        return "are not whole numbers"
    if border.min() < 0 or border.max() > most:
        return f"lie between {border.min():g} and {border.max() + 0.0:g}, not 0 and {most} (several spikes a step?)"
    return None


def _decisions(verdict, spec, layer, spikes, index, count, limit):
    wrong = spikes != layer.expected
    share = float(wrong.mean())
    verdict.wrong_decisions = max(verdict.wrong_decisions, share)
    if not share:
        return
    multiple = np.clip(np.round(layer.v / spec.threshold), 1, spec.max_spikes)
    distance = np.abs(layer.v - multiple * spec.threshold)
    worst = float(distance[wrong].max())
    verdict.distance = max(verdict.distance, worst)
    if share <= limit.decisions and worst <= limit.distance:
        return
    t, b, n = np.argwhere(wrong & (distance > limit.distance))[0] if worst > limit.distance else np.argwhere(wrong)[0]
    where = f" in layer {index + 1}" if count > 1 else ""
    verdict.findings.append(
        f"{share:.2%} of the decisions{where} are wrong (allowed {limit.decisions:.2%} within {limit.distance:.1e} of the "
        f"threshold), the first at step {t}, item {b}, neuron {n}: v = {layer.v[t, b, n]:.6f} calls for "
        f"{layer.expected[t, b, n]:.0f} spikes, the framework gave {spikes[t, b, n]:.0f}"
    )


def _gradients(verdict, problem, layers, given, gradients, limit):
    rows = problem.rows
    for index, layer in enumerate(layers if problem.weights else []):
        where = f" of layer {index + 1}" if len(layers) > 1 else ""
        _compare(verdict, f"weight{where}", gradients.weights[index], layer.weight_gradient, limit.gradient, rows)
        if problem.biases[index] is not None:
            _compare(verdict, f"bias{where}", gradients.biases[index], layer.bias_gradient, limit.bias_gradient, rows)
    if gradients.input is not None:
        # Where currents are given their gradient exists by neuron, and is judged on the sampled ones.
        judged = gradients.input if problem.weights or rows is None else gradients.input[:, :, rows]
        _compare(verdict, "input", judged, given, limit.gradient, None)


def _compare(verdict, name, got, expected, tolerance, rows):
    key = name.split(" ")[0]
    if got is None:
        verdict.errors[key] = 1.0
        verdict.findings.append(f"the gradient of the {name} is missing")
        return
    if got.shape[0] != expected.shape[0] and rows is not None:
        others = np.delete(got, rows, axis=0)
        if others.any():
            verdict.findings.append(f"the gradient of the {name} is not zero for neurons without upstream gradient")
        got = got[rows]
    if got.shape != expected.shape:
        verdict.findings.append(f"the gradient of the {name} has shape {got.shape}, not {expected.shape}")
        return
    difference = got.astype(np.float64) - expected
    error = float(np.linalg.norm(difference) / max(np.linalg.norm(expected), 1e-300))
    verdict.errors[key] = max(verdict.errors.get(key, 0.0), error)
    if not error <= tolerance:  # NaN is an error too
        scale = float(np.vdot(got, expected) / max(np.vdot(expected, expected), 1e-300))
        same = np.linalg.norm(got - scale * expected) <= tolerance * np.linalg.norm(expected)
        told = "is zero" if not got.any() else f"is {scale:.6g} times the right one" if same else f"is off by {error:.1e}"
        verdict.findings.append(f"the gradient of the {name} {told} (relative L2, allowed {tolerance:.1e})")
