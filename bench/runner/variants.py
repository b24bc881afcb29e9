"""`snnbench adapters`: lists every variant of every adapter with the neurons that it computes here,
or the reason why it computes none."""

import itertools
from dataclasses import dataclass, replace
from typing import Any

from snnbench.kernels.spec import NEURONS, NeuronSpec

from ..core.case import Case
from ..core.jobs import Inquiry
from ..core.variant import DEFAULT_MODE, Variant
from ..environments.inventory import Inventory
from .planning import plan_cases

Reasons = dict[str, str | None]
"""Reasons why neurons are refused, or None, by the neuron's name."""


def twins() -> dict[str, NeuronSpec]:
    """Returns the named neurons, and each that resets also with the other `detach_reset`."""
    turned = [spec for spec in NEURONS.values() if spec.reset != "none"]
    others = [replace(spec, detach_reset=not spec.detach_reset) for spec in turned]
    return NEURONS | {spec.label(): spec for spec in others}


@dataclass(frozen=True)
class SurveyedVariant:
    """A variant on one device. `refusals` has the reason, or None, for each of `twins()`; `lacks`
    is the reason if it refuses all."""

    variant: Variant
    device: str
    refusals: Reasons
    lacks: str | None

    @property
    def name(self) -> str:
        return str(self.variant)

    @property
    def adapter(self) -> str:
        return self.variant.adapter

    @property
    def neurons(self) -> list[str]:
        return [name for name, reason in self.refusals.items() if reason is None]

    def as_dict(self) -> dict[str, Any]:
        words = {"construction": self.variant.construction, "mode": self.variant.mode}
        names = {"variant": self.name, "framework": self.adapter, **words}
        return {**vars(self), **names, "ready": self.lacks is None}


def inquiry() -> Inquiry:
    """Returns the inquiry that `survey_variants` needs."""
    points = [
        Case("", device=device, neuron=spec)
        for device in ("cpu", "cuda")
        for spec in twins().values()
    ]
    return Inquiry(frameworks=None, points=tuple(points))


def survey_variants(inventory: Inventory) -> list[SurveyedVariant]:
    """Returns every variant of every adapter that answered, on the best of its devices here."""
    surveyed = []
    for adapter in inventory.adapters.values():
        if adapter.error or adapter.loads_data:
            continue
        reached = [
            device for device in adapter.devices if device in inventory.default.devices
        ] or adapter.devices
        device = "cuda" if "cuda" in reached else reached[0]
        refusals: dict[Variant, Reasons] = {}
        framework, version = adapter.pattern.framework, adapter.pattern.version
        points = [Case("", device=device, neuron=spec) for spec in twins().values()]
        for words in itertools.product(adapter.constructions, adapter.modes):
            variant = Variant(framework, version, *words)
            cases = [point.computed_by(variant) for point in points]
            refusals[variant] = {
                str(planned.case.neuron_label): planned.reason
                for planned in plan_cases(cases, inventory)
            }
        for variant, reasons in refusals.items():
            lacks = None
            if None not in reasons.values():
                lacks = _lack(variant, refusals, adapter.constructions[0])
            surveyed.append(SurveyedVariant(variant, device, reasons, lacks))
    return surveyed


def _lack(variant: Variant, refusals: dict[Variant, Reasons], first: str) -> str | None:
    """Returns the reason why a variant refuses every neuron, preferably for a neuron that the same
    construction, or else the framework's `first` one, computes in eager mode."""
    for construction in (variant.construction, first):
        eager = replace(variant, construction=construction, mode=DEFAULT_MODE)
        for name, reason in refusals.get(eager, {}).items():
            if reason is None:
                return refusals[variant][name]
    return next(iter(refusals[variant].values()))
