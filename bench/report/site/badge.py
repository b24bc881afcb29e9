"""A badge of what is proved of a framework: never a rank, which changes with the size."""

import json
from html import escape

from snnbench.kernels.spec import NEURONS

GOOD, SOME, BAD = "#00795a", "#8a5a00", "#b04a00"
WIDTH = 6.6
"""Pixels of a letter, about."""


def badge_of(verdicts: dict[str, str]) -> tuple[str, str]:
    """Words and colour, from `proved`, `rejected` or something else by the neuron's name."""
    tried = [name for name in NEURONS if name in verdicts]
    proved = [name for name in tried if verdicts[name] == "proved"]
    rejected = any(verdicts[name] == "rejected" for name in tried)
    words = f"proved {len(proved)}/{len(tried)} neurons" if tried else "nothing tried"
    return words, BAD if rejected or not proved else GOOD if len(proved) == len(tried) else SOME


def endpoint(words: str, colour: str) -> str:
    """For shields.io/endpoint."""
    return json.dumps({"schemaVersion": 1, "label": "snnbench", "message": words, "color": colour}) + "\n"


def svg(words: str, colour: str, label: str = "snnbench") -> str:
    """A picture for pages without such a service."""
    left, right = (round(WIDTH * len(text)) + 14 for text in (label, words))
    text = escape(f"{label}: {words}")
    drawn = "".join(
        f'<text x="{middle}" y="14" text-anchor="middle">{escape(part)}</text>'
        for middle, part in ((left / 2, label), (left + right / 2, words))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{text}">'
        f'<title>{text}</title><rect width="{left + right}" height="20" rx="3" fill="#4a4f54"/>'
        f'<rect x="{left}" width="{right}" height="20" rx="3" fill="{colour}"/>'
        f'<rect x="{left}" width="4" height="20" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{drawn}</g></svg>\n'
    )
