"""For the tests of a framework: one line proves that an adapter computes the same network as the oracle. Nothing is timed.

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
    """A test function for pytest, which proves an adapter once for each variant, neuron and precision.

    `adapter` is `path/to/file.py:Class`, from the folder in which pytest is started, or `package.module:Class`; `variants` are
    like those of `snnbench check`, `mine:stepwise` (default: the adapter as it is). `axes` are `workload`, `layers`, `neurons`,
    `time_steps`, `batch` and other fields of a case. A test fails with the sentence that names the fault, and is skipped with the
    reason that the adapter gives for what it does not support. The adapter is asked once, each proof takes some seconds and has
    `timeout`. A value that no axis has fails every test with one sentence; nothing is computed before a test runs.
    """
    import pytest

    named = list(itertools.product(variants or [""], neuron, precision))

    @cache
    def planned() -> list[PlannedCase]:
        given = {"device": device, "neuron": neuron, "precision": precision, **axes}
        listed = {
            axis: [*value] if isinstance(value, list | tuple) else [value]
            for axis, value in given.items()
        }
        settings = [
            Argument(f"grid.{axis}", values, "equivalence") for axis, values in listed.items()
        ]
        cases, _ = plan_check(list(variants), points_to_check(settings), [adapter])
        if len(cases) != len(named):
            raise ConfigError(
                f"equivalence: {len(named)} cases are named and {len(cases)} are meant; name each once, and no '*'"
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
            told = filter(
                None, (f"{checked.name}: {checked.status}: {checked.reason}", checked.traceback)
            )
            pytest.fail("\n".join(told), pytrace=False)

    return test_equivalence
