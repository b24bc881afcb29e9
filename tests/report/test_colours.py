"""Colours, shapes and dashes keep variants apart, in light, in dark and on paper."""

import re
from itertools import combinations
from math import gcd

import numpy as np
import pytest
from support.paths import SETS, committed

from snnbench.adapters.registry import BUILT_IN
from snnbench.report.colours import DASHES, INKS, PALETTES, SHAPES, looks, styles
from snnbench.report.files import read_results


def seen(known, *looks):
    """Returns how many looks differ, and how many variants there are."""
    return len({tuple(style[look] for look in looks) for style in known.values()}), len(known)


def test_colour_and_shape_keep_unknown_names_apart_from_each_other_and_from_frameworks():
    known = styles([*BUILT_IN, *(f"v{i}" for i in range(100))])
    for theme in PALETTES:
        assert seen(known, theme, "shape") == (len(BUILT_IN) + 100, len(BUILT_IN) + 100)
    assert all(
        gcd(*pair) == 1 for pair in combinations(map(len, (PALETTES["light"], SHAPES, DASHES)), 2)
    )
    assert looks(["torch"], known, "dark")["colours"] == [PALETTES["dark"][2]]
    assert len(styles([f"v{i}" for i in range(200)])) == 200


def test_every_framework_has_a_look_of_its_own_which_is_the_same_in_every_report():
    known = styles([*BUILT_IN])
    assert all(styles([name, "mine"])[name] == look for name, look in known.items())
    count = len(BUILT_IN)
    assert seen(known, "light", "shape") == seen(known, "dark", "shape") == (count, count)
    first = styles([*BUILT_IN][: len(PALETTES["light"])])
    assert seen(first, "light") == seen(first, "dark") == seen(first, "shape") == (11, 11)


@pytest.mark.parametrize("name", SETS)
def test_in_a_committed_set_no_two_look_alike_and_a_variant_or_version_has_its_frameworks_colour(
    name,
):
    known = styles(read_results([committed(name)]).table.variants)
    assert seen(known, "light", "shape") == (len(known), len(known))
    for variant, look in known.items():
        framework = re.split("[@:]", variant)[0]
        assert look["light"] == styles([framework])[framework]["light"]


SEEN_AS = {
    "all cones": np.eye(3),
    "no red ones": np.array(
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]
    ),
    "no green ones": np.array(
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]
    ),
}
"""Linear RGB as seen with each kind of sight (Machado, Oliveira and Fernandes 2009)."""


def lab(colours, sight) -> np.ndarray:
    """CIELAB (D65) of `#rrggbb` colours as `sight` has them."""
    values = (
        np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in colours]) / 255
    )
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    x, y, z = (np.clip(linear @ sight.T, 0, 1) @ to_xyz.T / [0.9505, 1, 1.089]).T
    x, y, z = (
        np.where(part > 0.008856, np.cbrt(part), 7.787 * part + 16 / 116) for part in (x, y, z)
    )
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


@pytest.mark.parametrize("sight", SEEN_AS)
@pytest.mark.parametrize("theme", PALETTES)
def test_colours_stay_apart_for_everybody(theme, sight):
    seen = lab(PALETTES[theme], SEEN_AS[sight])
    apart = np.linalg.norm(seen[:, None] - seen[None], axis=-1) + 1e3 * np.eye(len(seen))
    assert apart.min() > 15, "a difference of 15 in CIELAB is seen at a glance"


@pytest.mark.parametrize("theme", PALETTES)
def test_colours_stand_out_from_the_page(theme):
    lightness = lab((INKS[theme]["page"], *PALETTES[theme]), np.eye(3))[:, 0]
    page, *colours = (
        (lightness + 16) / 116
    ) ** 3  # luminance, as far as CIELAB's straight part near black is not reached
    contrast = [(max(page, colour) + 0.05) / (min(page, colour) + 0.05) for colour in colours]
    assert min(contrast) >= 3, "what WCAG 2.1 asks of graphics"
