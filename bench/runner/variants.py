"""`snnbench adapters`: every variant of every adapter, with the neurons that it is ready for here, or with what it lacks."""

import itertools
from dataclasses import dataclass, replace
from typing import Any

from snnbench.kernels.spec import NEURONS, NeuronSpec

from ..core.case import Case
from ..core.jobs import Inquiry
from ..environments.inventory import Inventory
from .planning import plan_cases

Reasons = dict[str, str | None]
"""By a neuron's name why it is refused, or None."""
Refusals = dict[tuple[str, str], Reasons]
"""By construction and mode."""


def twins() -> dict[str, NeuronSpec]:
    """The named neurons, and for each that resets the one that differs in `detach_reset` only."""
    turned = [spec for spec in NEURONS.values() if spec.reset != "none"]
    others = [replace(spec, detach_reset=not spec.detach_reset) for spec in turned]
    return NEURONS | {spec.label(): spec for spec in others}


@dataclass(frozen=True)
class Variant:
    """A construction and a mode of an adapter on one device. `refusals` has for each of `twins()` the reason why the variant
    refuses it, or None. If it refuses all, `lacks` is the reason."""

    framework: str
    construction: str
    mode: str
    device: str
    refusals: Reasons
    lacks: str | None

    @property
    def name(self) -> str:
        return Case(self.framework, self.construction, self.mode).framework_variant

    @property
    def neurons(self) -> list[str]:
        return [name for name, reason in self.refusals.items() if reason is None]

    def as_dict(self) -> dict[str, Any]:
        return {"variant": self.name, **vars(self), "ready": self.lacks is None}


def inquiry() -> Inquiry:
    """What adapters must be asked before `survey_variants`."""
    points = [
        Case("", device=device, neuron=spec)
        for device in ("cpu", "cuda")
        for spec in twins().values()
    ]
    return Inquiry(frameworks=None, points=tuple(points))


def survey_variants(inventory: Inventory) -> list[Variant]:
    """Every variant of every adapter that could be asked, on the best device that it runs on here."""
    variants = []
    for adapter in inventory.adapters.values():
        if adapter.error or adapter.loads_data:
            continue
        reached = [
            device for device in adapter.devices if device in inventory.default.devices
        ] or adapter.devices
        device = "cuda" if "cuda" in reached else reached[0]
        refusals: Refusals = {}
        for spelled in itertools.product(adapter.constructions, adapter.modes):
            cases = [Case(adapter.name, *spelled, device, neuron=spec) for spec in twins().values()]
            refusals[spelled] = {
                str(planned.case.neuron_label): planned.reason
                for planned in plan_cases(cases, inventory)
            }
        for spelled, reasons in refusals.items():
            lacks = (
                None
                if None in reasons.values()
                else _lack(spelled[0], reasons, refusals, adapter.constructions[0])
            )
            variants.append(Variant(adapter.name, *spelled, device, reasons, lacks))
    return variants


def _lack(construction: str, reasons: Reasons, refusals: Refusals, first: str) -> str | None:
    """Of `reasons`, why a variant refuses each neuron, the most telling one. It is that for a neuron which the same construction,
    or else the framework's `first` one, has in eager mode."""
    for likely in (construction, first):
        for name, reason in refusals.get((likely, "eager"), {}).items():
            if reason is None:
                return reasons[name]
    return next(iter(reasons.values()))
