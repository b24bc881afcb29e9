"""A badge of what is proved, of a framework or of what `snnbench check --json` prints: for shields.io, or drawn here. It never is
a rank, which changes with the size."""

from collections.abc import Collection, Mapping
from html import escape
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from ..common.mistakes import ConfigError

COLOURS = {"brightgreen": "#00795a", "red": "#b3261e", "lightgrey": "#6b7177"}
"""As they are drawn here: white letters can be read on them."""
LABEL = "snnbench"
LETTER = 6.6
"""Width of a letter, in pixels, about."""


DATA = "batches of data"
"""What stands for a neuron where a case delivers data."""
PROVED = "proved"
OTHER_EQUATIONS = ("current_decay", "learned_decay", "adaptation")
"""Fields of a neuron that, where it has them, make it another one."""
NEVER_TRIED = ("ok", "env_error", "pruned", "interrupted")
"""Statuses, without a proof, of a case of which nothing is known: not installed, left out, stopped, or asked for no proof."""


def verdict_of(endings: Collection[str]) -> str:
    """What is known of a neuron, from how its cases ended: PROVED, or the status of one without a proof.

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
    """What counts as one neuron, from its fields: those that differ in numbers or the surrogate only are one. DATA of none.

    >>> neuron_kind({"reset": "hard", "decay": 0.5}), neuron_kind({"reset": "soft", "adaptation": 0.1})
    ('hard', 'soft, adaptation')
    """
    if neuron is None:
        return DATA
    return ", ".join(
        [
            neuron.get("reset", "native"),
            *(name for name in OTHER_EQUATIONS if neuron.get(name) is not None),
        ]
    )


def badge_of(endings: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """The document of a shields.io endpoint, from how the cases of each neuron ended. A neuron counts as proved if a case of it
    is proved and none failed; what was not proved is not counted, because no framework owes a neuron that another one has. Green
    if some are proved and none failed; red if a proof failed or a case broke; else grey.

    >>> badge_of({"soft": ["proved"], "hard": ["unsupported"], "none": ["env_error"]})["message"]
    'proved 1 neuron'
    """
    proved = [name for name, some in endings.items() if PROVED in some and not _failed(some)]
    failed = any(map(_failed, endings.values()))
    colour = "red" if failed else "brightgreen" if proved else "lightgrey"
    verdicts = {verdict_of(some) for some in endings.values()}
    if not proved and not failed:
        return _document("not offered" if "not offered" in verdicts else "not tried", colour)
    if proved == [DATA] and not failed:
        return _document(f"proved {DATA}", colour)
    return _document(f"proved {len(proved) or 'no'} neuron{'s' * (len(proved) > 1)}", colour)


def _failed(endings: Collection[str]) -> bool:
    return any(ending not in (PROVED, "unsupported", *NEVER_TRIED) for ending in endings)


def _document(message: str, colour: str) -> dict[str, Any]:
    return {"schemaVersion": 1, "label": LABEL, "message": message, "color": colour}


class _Case(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    neuron: dict[str, Any] | None = None
    precision: str


class _Checked(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    case: _Case
    status: str


CHECKED = TypeAdapter(list[_Checked])


def endings_in(text: str, where: str) -> dict[str, list[str]]:
    """How the cases of each neuron ended, of the text that `snnbench check --json` printed. Raises ConfigError, which names
    `where` it comes from.

    >>> endings_in('[{"case": {"neuron": {"reset": "soft"}, "precision": "fp32"}, "status": "ok"}]', "here")
    {'soft': ['proved']}
    """
    try:
        checked = CHECKED.validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise ConfigError(
            f"{where}: is not what snnbench check --json prints: {place}: {first['msg']}"
        ) from None
    if not checked:
        raise ConfigError(f"{where}: nothing was checked")
    endings: dict[str, list[str]] = {}
    for one in checked:
        endings.setdefault(neuron_kind(one.case.neuron), []).append(
            PROVED if one.status == "ok" else one.status
        )
    return endings


def badge_svg(badge: Mapping[str, Any]) -> str:
    """The picture of a document, which needs nobody else's server."""
    label, message, colour = str(badge["label"]), str(badge["message"]), str(badge["color"])
    left, right = (round(LETTER * len(text)) + 12 for text in (label, message))
    said = escape(f"{label}: {message}")

    def text(words: str, middle: float) -> str:
        return f'<text x="{middle:g}" y="14">{escape(words)}</text>'

    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{said}">'
        f"<title>{said}</title>"
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath><g clip-path="url(#r)">'
        f'<rect width="{left}" height="20" fill="#555"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{COLOURS[colour]}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{text(label, left / 2)}{text(message, left + right / 2)}</g></svg>\n"
    )
