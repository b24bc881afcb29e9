"""A test for a framework's own suite: proves that an adapter computes the oracle's network.

# tests/test_equivalence.py
from snnbench.testing import equivalence

test_same_network = equivalence("tests/snnbench_adapter.py:Mine", neuron=["soft", "hard", "none"])
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from .common.mistakes import ConfigError
from .experiment.setting import Argument
from .experiment.values import parse_duration
from .runner.check import checker, plan_check, points_to_check
from .runner.planning import PlannedCase


def equivalence(
    adapter: str,
    *,
    variants: Sequence[str] = (),
    neuron: Sequence[str] = ("soft",),
    precision: Sequence[str] = ("fp32",),
    device: str = "cpu",
    timeout: str = "2m",
    **axes: Any,
) -> Callable[..., None]:
    """Returns a pytest function that proves an adapter for each variant, neuron and precision.

    `adapter` is `path/to/file.py:Class`, relative to the folder in which pytest starts, or
    `package.module:Class`. `variants` are those of `snnbench check`, such as `mine:stepwise`; the
    default is the adapter's first construction. `axes` are `workload`, `layers`, `neurons`,
    `time_steps`, `batch` and other fields of a case. A test fails with a sentence on the fault, and
    is skipped with the adapter's reason if it does not support the case. Each proof takes some
    seconds, at most `timeout`. An invalid axis fails every test with one sentence. Nothing is
    computed before a test runs.
    """
    import pytest

    named = list(itertools.product(variants or [""], neuron, precision))

    @cache
    def planned() -> list[PlannedCase]:
        values_of = {"device": device, "neuron": neuron, "precision": precision, **axes}
        listed = {
            axis: [*value] if isinstance(value, list | tuple) else [value]
            for axis, value in values_of.items()
        }
        settings = [
            Argument(f"grid.{axis}", values, "equivalence") for axis, values in listed.items()
        ]
        cases, _ = plan_check(list(variants), points_to_check(settings), [adapter])
        if len(cases) != len(named):
            raise ConfigError(
                f"equivalence: {len(named)} cases are named and {len(cases)} are meant; "
                "name each once, and no '*'"
            )
        return cases

    @pytest.mark.parametrize(
        "number", range(len(named)), ids=["-".join(filter(None, name)) for name in named]
    )
    def test_equivalence(number: int) -> None:
        try:
            case, seconds = planned()[number], parse_duration(timeout)
        except (ConfigError, TypeError, ValueError) as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        with checker(seconds) as proofs:
            checked = proofs.prove(case)
        if checked.status == "unsupported":
            pytest.skip(checked.reason or checked.status)
        if checked.status != "ok":
            sentence = f"{checked.name}: {checked.status}: {checked.reason}"
            pytest.fail("\n".join(filter(None, (sentence, checked.traceback))), pytrace=False)

    return test_equivalence
