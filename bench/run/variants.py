"""Every variant of every adapter: which neurons it is ready for on this machine, or what it lacks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from snnbench.adapters.base.case import Case
from snnbench.kernels.spec import NEURONS, NeuronSpec

from ..experiment.planned_case import PlannedCase
from .planning import plan_cases


def twins() -> dict[str, NeuronSpec]:
    """The named neurons, and those that resets can make of them by letting the gradient of a spike pass or not."""
    turned = [NEURONS[name] for name in ("soft", "hard", "soft-undecayed")]
    others = [replace(spec, detach_reset=not spec.detach_reset) for spec in turned]
    return NEURONS | {spec.label(): spec for spec in others}


@dataclass(frozen=True)
class Variant:
    """`refusals` gives for each of `twins()` why it cannot be had, or None; `lacks` says in one line why none can."""

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

    def as_dict(self) -> dict:
        return {"variant": self.name, **vars(self), "ready": self.lacks is None}


def survey_variants(adapters: dict[str, dict], devices: list[str]) -> list[Variant]:
    """All of `survey_adapters`, on the best of `devices` that each runs on."""
    cases = [case for entry in adapters.values() if "error" not in entry for case in _cases(entry, devices)]
    found: dict[tuple, dict[str, str | None]] = {}
    for planned in plan_cases(cases, adapters, devices):
        found.setdefault(_key(planned.case), {})[planned.case.neuron.label()] = _refusal(planned)
    return [Variant(*key, refusals, _lacks(key, found, adapters)) for key, refusals in found.items()]


def _cases(entry: dict, devices: list[str]) -> Iterator[Case]:
    reached = [device for device in entry["devices"] if device in devices] or entry["devices"]
    device = "cuda" if "cuda" in reached else reached[0]
    for construction in entry["constructions"]:
        for mode in entry["modes"]:
            for spec in twins().values():
                yield Case(entry["name"], construction, mode, device, neuron=spec)


def _key(case: Case) -> tuple[str, str, str, str]:
    return case.framework, case.construction, case.mode, case.device


def _refusal(planned: PlannedCase) -> str | None:
    return planned.reason if planned.status else None


def _lacks(key: tuple, found: dict, adapters: dict) -> str | None:
    """Why a variant has no neuron at all: what keeps one away that its framework has in eager mode, if there is one."""
    framework, construction, _, device = key
    refusals = found[key]
    if None in refusals.values():
        return None
    for likely in ((construction, "eager"), (adapters[framework]["constructions"][0], "eager")):
        had = [name for name, reason in found.get((framework, *likely, device), {}).items() if reason is None]
        if had:
            return refusals[had[0]]
    return next(iter(refusals.values()))
