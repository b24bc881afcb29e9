"""Looks of figures: colours for colour-blind readers and printers, in light, in dark and on
paper."""

import re
from typing import Any
from zlib import crc32

from snnbench.adapters.registry import BUILT_IN

PALETTES = {
    "light": (
        *("#0072b2", "#d55e00", "#009e73", "#b41878", "#7884fc", "#78480c"),
        *("#d83c54", "#482484", "#b484b4", "#304824", "#543048"),
    ),
    "dark": (
        *("#56a5e8", "#f28544", "#2fc597", "#c03ca8", "#fcd848", "#6c6ce4"),
        *("#fcd8fc", "#6c7848", "#f0f0c0", "#906078", "#b4fc84"),
    ),
}
"""The first three follow Okabe and Ito. A search chose the others to differ from each other and
from the page, also without seeing red or green."""
STAR = (
    "M0,-1L0.24,-0.32L0.95,-0.31L0.38,0.12L0.59,0.81"
    "L0,0.4L-0.59,0.81L-0.38,0.12L-0.95,-0.31L-0.24,-0.32Z"
)
SALTIRE = (
    "M-0.9,-0.5L-0.5,-0.9L0,-0.4L0.5,-0.9L0.9,-0.5L0.4,0"
    "L0.9,0.5L0.5,0.9L0,0.4L-0.5,0.9L-0.9,0.5L-0.4,0Z"
)
HOURGLASS, BOW = "M-0.9,-0.9L0.9,-0.9L-0.9,0.9L0.9,0.9Z", "M-0.9,-0.9L-0.9,0.9L0.9,-0.9L0.9,0.9Z"
SHAPES = (
    *("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"),
    *(STAR, "triangle-left", SALTIRE, HOURGLASS, BOW),
)
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (4, 1))
"""The numbers of colours, shapes and dashes have no common divisor, so 132 places look different.
"""

INKS = {
    "light": {
        "ink": "#1a1c1e",
        "muted": "#5b6268",
        "grid": "#e3e6e9",
        "page": "#ffffff",
        "band": "#e9ecef",
        "accent": "#0072b2",
    },
    "dark": {
        "ink": "#e4e7ea",
        "muted": "#9aa3ab",
        "grid": "#2a2f34",
        "page": "#14171a",
        "band": "#262b30",
        "accent": "#56a5e8",
    },
}
RAMPS = {
    "light": ("#0b3954", "#3a7ca5", "#81b1d1", "#d4a24c"),
    "dark": ("#4d7ea8", "#7fb0d6", "#bcd9ee", "#e3b55f"),
}
"""Colours of the parts of a whole, which differ in lightness too."""


PLACES = {name: place for place, name in enumerate(BUILT_IN)}
"""Places of frameworks among the colours and shapes, the same in every report."""


def styles(variants: list[str]) -> dict[str, dict[str, Any]]:
    """Returns colours in light and dark, shape and dashes of each variant in a report.

    A framework looks the same in all reports. A variant or version has its framework's colour and a
    shape of its own, chosen by its name; a shape repeats only if all of that colour are taken.
    """
    cycles: dict[str, tuple[Any, ...]] = {**PALETTES, "shape": SHAPES, "dash": DASHES}
    places = _places(variants)
    return {
        name: {look: cycle[places[name] % len(cycle)] for look, cycle in cycles.items()}
        for name in variants
    }


def _places(variants: list[str]) -> dict[str, int]:
    places = {name: PLACES[name] for name in variants if name in PLACES}
    colours, taken = len(PALETTES["light"]), set[int]()
    free = range(len(PLACES), colours * len(SHAPES))
    frameworks = {name: re.split("[@:]", name)[0] for name in variants if name not in PLACES}
    known_first = sorted(frameworks, key=lambda name: (frameworks[name] not in PLACES, name))
    for name in known_first:
        place = PLACES.get(frameworks[name])
        allowed = [other for other in free if place is None or other % colours == place % colours]
        start = crc32(name.encode()) % len(allowed)
        order = allowed[start:] + allowed[:start]
        places[name] = next((place for place in order if place not in taken), order[0])
        taken.add(places[name])
    return places


def named(theme: str) -> dict[str, Any]:
    """Returns the values of `$ink`, `$parts` … in a specification."""
    palette, inks = list(PALETTES[theme]), INKS[theme]
    return {
        **inks,
        "ramp": list(RAMPS[theme]),
        "palette": palette,
        "parts": [*palette, inks["muted"]],
        "marks": list(SHAPES),
    }


def looks(variants: list[str], known: dict[str, dict], theme: str) -> dict[str, list]:
    """Returns the values of `$colours`, `$shapes` and `$dashes` for a panel's variants."""
    chosen = [known[variant] for variant in variants]
    return {
        "colours": [look[theme] for look in chosen],
        "shapes": [look["shape"] for look in chosen],
        "dashes": [list(look["dash"]) for look in chosen],
    }


def config(theme: str, size: int = 12) -> dict[str, Any]:
    """Returns Vega's settings; `size` is that of the text in points or CSS pixels."""
    ink = INKS[theme]
    text = {
        "labelColor": ink["ink"],
        "titleColor": ink["ink"],
        "labelFontSize": size - 1,
        "titleFontSize": size - 1,
    }
    lines = {"gridColor": ink["grid"], "domainColor": ink["muted"], "tickColor": ink["muted"]}
    subtitle = {"subtitleColor": ink["muted"], "subtitleFontSize": size - 2}
    return {
        "background": "#ffffff" if theme == "light" else ink["page"],
        "font": "Liberation Sans, Arial, Helvetica, sans-serif",
        "padding": 4,
        "view": {"stroke": None},
        "axis": {
            **text,
            **lines,
            "titleFontWeight": "normal",
            "titlePadding": 6,
            "labelPadding": 4,
        },
        "axisY": {"grid": True},
        "legend": {
            **text,
            "labelLimit": 0,
            "rowPadding": 3,
            "columnPadding": 12,
            "symbolStrokeWidth": 1.5,
            "offset": 8,
        },
        "text": {"color": ink["ink"], "fontSize": size - 1},
        "title": {"color": ink["ink"], "fontSize": size, **subtitle, "anchor": "start"},
        "rule": {"color": ink["muted"]},
    }
