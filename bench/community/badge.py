"""Badges: the document of a shields.io endpoint that says which neurons are proved.

A badge never shows a rank, which changes with the size.
"""

from collections.abc import Collection, Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, TypeAdapter

from snnbench.kernels.spec import RESETS

from ..common.mistakes import ConfigError, shown
from ..common.units import counted
from ..core.case import NATIVE
from ..schema import parsed, understood

DATA = "batches of data"
"""Stands for a neuron where a case delivers data."""
PROVED = "proved"
OTHER_EQUATIONS = ("current_decay", "learned_decay", "adaptation", "adaptation_coupling")
"""Optional fields of a neuron that make it another neuron."""
NEVER_TRIED = ("ok", "env_error", "pruned", "interrupted")
"""Statuses without a proof that tell nothing: not installed, left out, stopped, or no proof
asked."""


def verdict_of(endings: Collection[str]) -> str:
    """Returns the verdict on a neuron from the endings of its cases: PROVED, or a status.

    >>> verdict_of(["unsupported", "proved"]), verdict_of(["env_error"])
    ('proved', 'not tried')
    """
    if PROVED in endings:
        return PROVED
    if "check_failed" in endings:
        return "rejected"
    if _failed(endings):
        return "failed"
    return "not offered" if "unsupported" in endings else "not tried"


def neuron_kind(neuron: Mapping[str, Any] | None) -> str:
    """Returns the kind of a neuron: numbers and the surrogate make no other kind. None gives DATA.

    >>> neuron_kind({"reset": "soft", "decay": 0.5, "adaptation": 0.1})
    'soft, adaptation'
    """
    if neuron is None:
        return DATA
    equations = [name for name in OTHER_EQUATIONS if neuron.get(name) is not None]
    return ", ".join([neuron.get("reset", "native"), *equations])


def badge_of(endings: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """Returns the document of a shields.io endpoint from the endings of each neuron's cases.

    A neuron counts as proved if one of its cases is proved and none failed. There is no total,
    because no framework must have the neurons of another.

    >>> badge_of({"soft": ["proved"], "hard": ["unsupported"], "none": ["env_error"]})["message"]
    'proved 1 neuron'
    >>> badge_of({"soft": ["proved"], "hard": ["check_failed"]})["message"]
    '1 proved, 1 failed'
    """
    proved = [name for name, ended in endings.items() if PROVED in ended and not _failed(ended)]
    failed = sum(map(_failed, endings.values()))
    if failed:
        message = f"{len(proved)} proved, {failed} failed"
    elif proved == [DATA]:
        message = f"proved {DATA}"
    elif proved:
        message = f"proved {counted(len(proved), 'neuron')}"
    else:
        verdicts = map(verdict_of, endings.values())
        message = "not offered" if "not offered" in verdicts else "not tried"
    colour = "red" if failed else "brightgreen" if proved else "lightgrey"
    return {"schemaVersion": 1, "label": "snnbench", "message": message, "color": colour}


def is_badge(content: bytes) -> bool:
    """Returns True for what `badge` wrote."""
    try:
        document = parsed(content)
    except ValueError:
        return False
    return isinstance(document, dict) and document.keys() == badge_of({}).keys()


def _failed(endings: Collection[str]) -> bool:
    return any(ending not in (PROVED, "unsupported", *NEVER_TRIED) for ending in endings)


def _has_a_kind(neuron: dict[str, Any]) -> dict[str, Any]:
    """Returns the neuron unchanged. Raises ValueError if it is neither native nor has a reset."""
    if neuron != NATIVE.as_dict() and neuron.get("reset") not in RESETS:
        raise ValueError(
            f"reset = {shown(neuron.get('reset'))}: must be one of {', '.join(RESETS)}"
        )
    return neuron


class _Case(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    neuron: Annotated[dict[str, Any], AfterValidator(_has_a_kind)] | None = None
    precision: str


class _Checked(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    case: _Case
    status: str


CHECKED = TypeAdapter(list[_Checked])


def endings_in(text: str, source: str) -> dict[str, list[str]]:
    """Returns the endings of each neuron's cases from the output of `snnbench check --json`.

    Raises ConfigError, which names the `source` of the text.

    >>> case = '{"neuron": {"reset": "soft"}, "precision": "fp32"}'
    >>> endings_in(f'[{{"case": {case}, "status": "ok"}}]', "here")
    {'soft': ['proved']}
    """
    try:
        checked = understood(CHECKED, text.encode())
    except ValueError as error:
        raise ConfigError(f"{source}: is not what snnbench check --json prints: {error}") from None
    if not checked:
        raise ConfigError(f"{source}: nothing was checked")
    endings: dict[str, list[str]] = {}
    for ended in checked:
        status = PROVED if ended.status == "ok" else ended.status
        endings.setdefault(neuron_kind(ended.case.neuron), []).append(status)
    return endings
