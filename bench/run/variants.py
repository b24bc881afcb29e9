"""`snnbench adapters`: every variant of every adapter, with the neurons that it is ready for here, or with what it lacks."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from snnbench.adapters.base.case import Case
from snnbench.kernels.spec import NEURONS, NeuronSpec

from ..environments.inventory import Inventory
from ..experiment.adapter_info import AdapterInfo
from ..worker.task import Inquiry
from .planning import plan_cases

Key = tuple[str, str, str, str]
"""Framework, construction, mode and device of a variant."""


def twins() -> dict[str, NeuronSpec]:
    """The named neurons, and for three of them the one that differs in `detach_reset` only."""
    turned = [NEURONS[name] for name in ("soft", "hard", "soft-undecayed")]
    others = [replace(spec, detach_reset=not spec.detach_reset) for spec in turned]
    return NEURONS | {spec.label(): spec for spec in others}


@dataclass(frozen=True)
class Variant:
    """A construction and a mode of an adapter on one device.

    `refusals` has for each of `twins()` the reason why the variant refuses it, or None. If it refuses all, `lacks` is the reason.
    """

    framework: str
    construction: str
    mode: str
    device: str
    refusals: dict[str, str | None]
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
    points = [Case("", device=device, neuron=spec) for device in ("cpu", "cuda") for spec in twins().values()]
    return Inquiry(frameworks=None, points=tuple(points))


def survey_variants(inventory: Inventory) -> list[Variant]:
    """Every variant of every adapter that could be asked, on the best device that it runs on here."""
    adapters = [adapter for adapter in inventory.adapters.values() if not adapter.error]
    cases = [case for adapter in adapters for case in _cases(adapter, inventory.default.devices)]
    reasons: dict[Key, dict[str, str | None]] = {}
    for planned in plan_cases(cases, inventory):
        reason = planned.reason if planned.status else None
        reasons.setdefault(_key(planned.case), {})[planned.case.neuron.label()] = reason
    return [Variant(*key, refusals, _lacks(key, reasons, inventory)) for key, refusals in reasons.items()]


def _cases(adapter: AdapterInfo, devices: list[str]) -> Iterator[Case]:
    reached = [device for device in adapter.devices if device in devices] or adapter.devices
    device = "cuda" if "cuda" in reached else reached[0]
    for construction, mode in itertools.product(adapter.constructions, adapter.modes):
        for spec in twins().values():
            yield Case(adapter.name, construction, mode, device, neuron=spec)


def _key(case: Case) -> Key:
    return case.framework, case.construction, case.mode, case.device


def _lacks(key: Key, reasons: dict[Key, dict[str, str | None]], inventory: Inventory) -> str | None:
    """Why a variant refuses every neuron; None if it does not.

    Best is the reason for a neuron that the same construction, or else the framework's first one, has in eager mode.
    """
    framework, construction, _, device = key
    refusals = reasons[key]
    if None in refusals.values():
        return None
    for likely in (construction, inventory.adapters[framework].constructions[0]):
        spelled = reasons.get((framework, likely, "eager", device), {})
        for name, reason in spelled.items():
            if reason is None:
                return refusals[name]
    return next(iter(refusals.values()))
