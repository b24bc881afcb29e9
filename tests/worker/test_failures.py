"""What a version lacks is a sentence; what went wrong otherwise stays what it is."""

import pytest

from snnbench.core.contract import Unsupported
from snnbench.worker.failures import lack


def raised(code: str, **known) -> BaseException:
    try:
        exec(code, known)
    except Exception as error:
        return error
    raise AssertionError(code)


class Leaky:
    def __init__(self, beta):
        self.beta = beta


SENTENCES = {
    "from fractions import LinearLeaky": "fractions 0.9.4 has no LinearLeaky",
    "import fractions; fractions.custom": "fractions 0.9.4 has no custom",
    "from json import product": (
        "fractions 0.9.4 cannot be used with what is installed here: cannot import name 'product' from 'json'"
    ),
    "import json; json.product": (
        "fractions 0.9.4 cannot be used with what is installed here: module 'json' has no attribute 'product'"
    ),
    "import fractions.neurons": "fractions 0.9.4 has no fractions.neurons",
    "import no_such_package.neurons": "fractions 0.9.4 needs no_such_package, which is not installed",
    "Leaky(0.5, learn_beta=True)": "fractions 0.9.4: Leaky takes no learn_beta",
    "Leaky(0.5).reset": "fractions 0.9.4 has no Leaky.reset",
    "Leaky.instances": "fractions 0.9.4 has no Leaky.instances",
    "raise AttributeError('`np.Inf` was removed in NumPy 2')": (
        "fractions 0.9.4 cannot be used with what is installed here: `np.Inf` was removed in NumPy 2"
    ),
}


@pytest.mark.parametrize("code", SENTENCES)
def test_what_a_version_lacks_is_named(code):
    error = lack(raised(code, Leaky=Leaky), "fractions@0.9.4")
    assert isinstance(error, Unsupported) and str(error) == SENTENCES[code]


@pytest.mark.parametrize(
    "code", ["1 / 0", "raise ValueError('no')", "Leaky()", "raise MemoryError"]
)
def test_other_errors_are_none_of_it(code):
    error = raised(code, Leaky=Leaky)
    assert lack(error, "fractions@0.9.4") is error


def test_without_a_version_nothing_is_excused():
    error = raised("from fractions import LinearLeaky")
    assert lack(error, None) is error
