"""The table of surrogates in docs/proof.md names all of them, and its formulas are those that
are computed."""

import re
from math import exp, pi

import numpy as np
import pytest
from support.paths import ROOT

from snnbench.kernels.spec import SURROGATES, NeuronSpec
from snnbench.kernels.surrogates import derivative

ROW = re.compile(r"^\| `([a-z-]+)` \| `(.+?)` \| .+ \|$", re.MULTILINE)
PLAIN = {"\\|u\\|": "abs(u)", "·": "*", "−": "-", "²": "**2", "π": "pi"}


def formulas() -> dict[str, str]:
    return dict(
        ROW.findall(
            (ROOT / "docs" / "proof.md").read_text(encoding="utf-8").partition("## Surrogates")[2]
        )
    )


def test_every_surrogate_stands_in_the_table():
    assert tuple(formulas()) == SURROGATES


@pytest.mark.parametrize("slope", [0.37, 1.0, 25.0])
@pytest.mark.parametrize("name", SURROGATES)
def test_a_formula_is_what_is_computed(name, slope):
    formula = formulas()[name]
    for sign, spelled in PLAIN.items():
        formula = formula.replace(sign, spelled)
    distances = np.array([-1.7, -0.31, -0.011, 0.0, 0.007, 0.29, 2.3])
    told = [eval(formula, {"u": float(u), "k": slope, "exp": exp, "pi": pi}) for u in distances]
    assert derivative(NeuronSpec(surrogate=name, slope=slope), np)(distances) == pytest.approx(
        told, rel=1e-12
    )
