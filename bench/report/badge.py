"""A badge of what is proved, from what `snnbench check --json` prints: for shields.io, or drawn here. It never is a rank."""

from collections.abc import Mapping
from html import escape
from typing import Any

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from ..mistakes import ConfigError

COLOURS = {"brightgreen": "#3c1", "red": "#e05d44", "lightgrey": "#9f9f9f"}
LABEL = "snnbench"
LETTER = 6.6
"""Width of a letter, in pixels, about."""


class _Case(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    neuron: dict[str, Any] | None = None
    precision: str


class _Checked(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    case: _Case
    status: str


CHECKED = TypeAdapter(list[_Checked])


def badge_of(text: str, where: str) -> dict[str, Any]:
    """The document of a shields.io endpoint, of the text that `snnbench check --json` printed. Raises ConfigError, which names
    `where` it comes from.

    >>> badge_of('[{"case": {"neuron": {"reset": "soft"}, "precision": "fp32"}, "status": "ok"}]', "here")["message"]
    'proved 1/1 neurons'
    """
    try:
        checked = CHECKED.validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise ConfigError(f"{where}: is not what snnbench check --json prints: {place}: {first['msg']}") from None
    if not checked:
        raise ConfigError(f"{where}: nothing was checked")
    by_neuron: dict[str, list[str]] = {}
    for number, one in enumerate(checked):
        if one.case.neuron is None:
            raise ConfigError(f"{where}: {number}.case has no neuron, and a badge counts the neurons that are proved")
        by_neuron.setdefault(repr(sorted(one.case.neuron.items())), []).append(one.status)
    proved = sum({*statuses} == {"ok"} for statuses in by_neuron.values())
    failed = any(status not in ("ok", "unsupported") for statuses in by_neuron.values() for status in statuses)
    colour = "red" if failed else "brightgreen" if proved else "lightgrey"
    message = f"proved {proved}/{len(by_neuron)} neurons"
    return document(message, colour)


def document(message: str, colour: str) -> dict[str, Any]:
    """What shields.io/endpoint reads."""
    return {"schemaVersion": 1, "label": LABEL, "message": message, "color": colour}


def badge_svg(badge: Mapping[str, Any]) -> str:
    """The picture of a document, which needs nobody else's server. Its colour is one of COLOURS, or `#` and digits."""
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
        f'<rect x="{left}" width="{right}" height="20" fill="{COLOURS.get(colour, colour)}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{text(label, left / 2)}{text(message, left + right / 2)}</g></svg>\n"
    )
