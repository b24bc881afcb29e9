"""Finds the neuron that is most like one that hardly any framework computes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from snnbench.adapters.registry import OURS
from snnbench.kernels.spec import NEURONS, NeuronSpec

from ..core.case import Case
from ..core.jobs import Inquiry
from ..core.variant import VariantPattern
from ..environments.inventory import take_inventory
from ..experiment.values import neuron_table
from .planning import PlannedCase, plan_cases

PLAIN = (*OURS, "torch", "jax")
"""Frameworks of this project, and plain loops: they compute every neuron."""
RESETS = {
    "soft": "a spike subtracts θ before the decay",
    "hard": "a spike resets to zero",
    "none": "nothing resets",
    "soft-undecayed": "a spike subtracts θ after the decay",
    "hard-straight": "a spike resets to zero, unseen by backward",
}
SURROGATES = (("superspike", 1.0), ("atan", 1.0), ("rectangle", 1.0))
"""Surrogates, with their slopes, that most frameworks have."""
RARE = {
    "current_decay": "no synaptic current",
    "adaptation": "a constant threshold",
    "learned_decay": "a constant decay",
    "rounding": "counts that are not rounded",
}
"""Fields of a neuron that few frameworks have, and words for a neuron without them."""
ENOUGH = 2
"""Frameworks that make a comparison."""


def nearest_in_words(planned: Sequence[PlannedCase], files: list[str]) -> list[str]:
    """Returns a sentence on the neuron of `planned`, if fewer than ENOUGH frameworks besides the
    plain ones compute it and others refuse it: the nearest neuron that more of them compute, their
    variants, and what changes. Empty for several neurons and for a native one."""
    specs = {each.case.neuron for each in planned}
    if len(specs) != 1 or not isinstance(spec := specs.pop(), NeuronSpec):
        return []
    able = _others(each.case for each in planned if each.status is None)
    refusing = [each for each in planned if each.status == "unsupported"]
    if len(able) >= ENOUGH or len(_others(each.case for each in refusing)) + len(able) < ENOUGH:
        return []
    computing = _computing(spec, planned, files)
    here = computing.pop(spec)
    if len(_frameworks(here)) >= ENOUGH:
        return [f"{_listed(here)} compute {spec.label()}: name them, as in {' '.join(here)}."]
    computed = {each.adapter.name for each in planned if each.status is None}
    plain = [name for name in PLAIN if name in computed]
    opening = f"Besides {_listed(plain)}, only" if plain else "Only"
    opening += f" {here[0]} computes {spec.label()}"
    if not here:
        opening = f"Only {_listed(plain)} compute" + "s" * (len(plain) == 1)
        opening = f"{opening if plain else 'No framework computes'} {spec.label()}"
    fitting = {
        other: names for other, names in computing.items() if len(_frameworks(names)) >= ENOUGH
    }
    if not fitting:
        return [f"{opening}, and no neuron that differs little is computed by more of them."]
    best = min(
        fitting,
        key=lambda other: (
            sum(weight for weight, _ in differences(spec, other)),
            -len(_frameworks(fitting[other])),
        ),
    )
    changes = "; ".join(filter(None, (words for _, words in differences(spec, best))))
    return [
        f"{opening}; the nearest neuron that more compute is {best.label()} ({changes}), by "
        f"{_listed(fitting[best])}: --neuron '{neuron_table(best)}'."
    ]


def _computing(
    spec: NeuronSpec, planned: Sequence[PlannedCase], files: list[str]
) -> dict[NeuronSpec, list[str]]:
    """Returns, for `spec` and each neuron like it, the variants that compute it: of each framework
    of `planned` the first construction."""
    frameworks = {each.adapter.name: each.adapter for each in planned if each.adapter.can_run}
    patterns = [
        VariantPattern.parse(f"{name}:{construction}")
        for name, adapter in frameworks.items()
        if name not in PLAIN
        for construction in adapter.constructions
    ]
    point = planned[0].case.point
    points = {other: replace(point, neuron=other) for other in (spec, *neighbours(spec))}
    inventory = take_inventory(
        files, Inquiry(frameworks=tuple(patterns), points=tuple(points.values()))
    )
    computing: dict[NeuronSpec, list[str]] = {}
    for other, each in points.items():
        variants = [
            variant
            for pattern in patterns
            for variant in pattern.select(
                inventory.adapters[pattern.adapter].constructions, ("eager",)
            )
        ]
        cases = plan_cases([each.computed_by(variant) for variant in variants], inventory)
        names: dict[str, str] = {}
        for case in cases:
            if case.status is None:
                names.setdefault(case.adapter.name, case.case.framework_variant)
        computing[other] = list(names.values())
    return computing


def neighbours(spec: NeuronSpec) -> Iterator[NeuronSpec]:
    """Yields neurons with another reset, gradient of the reset or surrogate, and without what only
    few frameworks have."""
    plainer = [spec]
    if spec.max_spikes > 1:
        plainer.append(replace(spec, max_spikes=1))
    if any(getattr(spec, name) for name in RARE):
        without: dict[str, Any] = dict.fromkeys((*RARE, "adaptation_decay", "adaptation_coupling"))
        if spec.decay == 0:
            without["decay"] = NeuronSpec().decay
        plainer.append(replace(plainer[-1], **without))
    surrogates = ((spec.surrogate, spec.slope), *SURROGATES)
    for base, reset, detached, (surrogate, slope) in product(
        plainer, NEURONS, (False, True), surrogates
    ):
        detached = detached and reset != "none"
        try:
            other = replace(
                base, reset=reset, detach_reset=detached, surrogate=surrogate, slope=slope
            )
        except ValueError:  # a combination that has no equation
            continue
        if other != spec:
            yield other


def differences(spec: NeuronSpec, other: NeuronSpec) -> Iterator[tuple[int, str]]:
    """Yields a weight and words for each difference of `other`. Gradients weigh 1, spikes more."""
    if spec.reset != other.reset:
        yield 3, RESETS[other.reset]
    if spec.detach_reset != other.detach_reset:
        gradient = f"{'no ' * other.detach_reset}gradient through the reset"
        yield 1, gradient if other.reset != "none" else ""
    if (spec.surrogate, spec.slope) != (other.surrogate, other.slope):
        yield 1, f"surrogate {other.surrogate} of slope {other.slope:g}"
    if spec.decay != other.decay:
        yield 4, f"decay {other.decay:g}"
    if spec.max_spikes != other.max_spikes:
        yield 2, "one spike a step"
    rare = [words for name, words in RARE.items() if getattr(spec, name) != getattr(other, name)]
    if rare:
        yield 4, "; ".join(rare)


def _others(cases: Iterator[Case]) -> set[str]:
    """Returns the frameworks of cases that are not plain."""
    return {case.variant.framework for case in cases} - {*PLAIN}


def _frameworks(names: Sequence[str]) -> set[str]:
    return {name.partition(":")[0] for name in names}


def _listed(names: Sequence[str]) -> str:
    """Returns `a, b and c`."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
