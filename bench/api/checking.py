"""`snnbench.check`: what the verb `check` does, in Python."""

from collections.abc import Iterator
from typing import Any, Unpack

from snnbench.kernels.spec import NEURONS

from ..runner.check import FIGURES, WELL, Checked, checker, plan_check, points_to_check
from .axes import NetworkAxes, Neurons, axis_settings, seconds_of, with_axes
from .results import html_table
from .running import is_reference, reference_of


@with_axes
def check(
    *adapters: str | type,
    neuron: Neurons = tuple(NEURONS),
    device: str = "cpu",
    timeout: str = "2m",
    **axes: Unpack[NetworkAxes],
) -> "Verdict":
    """Proves that adapters compute the same network as the float64 oracle; times nothing.

    Each of `adapters` is a framework or a variant (`"torch:compile"`), a class in a file
    (`"mine.py:Mine"`), or the class itself, which must be in a file; the default is all installed
    adapters. `neuron` and the other axes of a grid (`neurons`, `time_steps`, `batch`, `precision`,
    …) have one value or a list of values. `timeout` limits the framework in one proof. Raises
    ConfigError for a mistake, in one sentence.

    Example:

        import snnbench

        verdict = snnbench.check("norse", neuron=["soft", "hard"], neurons=64)
        assert verdict, verdict.faults
    """
    seconds = seconds_of("check", "timeout", timeout)
    values: dict[str, Any] = {"neuron": neuron, "device": device, **axes}
    points = points_to_check(axis_settings("check", values))
    references = [reference_of(adapter) for adapter in adapters]
    files = [reference for reference in references if is_reference(reference)]
    names = [reference for reference in references if not is_reference(reference)]
    cases, left_out = plan_check(names, points, files)
    with checker(seconds) as proofs:
        return Verdict([proofs.prove(planned) for planned in cases], left_out)


class Verdict:
    """The results of proofs, true if no proof failed and at least one network is right.

    `left_out` names requested frameworks that cannot run here. A notebook shows the table of
    `snnbench check`.
    """

    def __init__(self, checked: list[Checked], left_out: list[str]) -> None:
        self.checked, self.left_out = checked, left_out

    @property
    def faults(self) -> dict[str, str]:
        """A sentence for each failed case, by its name, such as `norse soft fp32`.

        A case that its framework cannot compute has not failed.
        """
        failed = (case for case in self.checked if case.status not in WELL)
        return {case.name: case.reason or case.status for case in failed}

    def __bool__(self) -> bool:
        return not self.faults and any(case.status == "ok" for case in self.checked)

    def __len__(self) -> int:
        return len(self.checked)

    def __iter__(self) -> Iterator[Checked]:
        return iter(self.checked)

    def __repr__(self) -> str:
        lines = [
            f"{case.name}: {case.verdict}{f': {case.reason}' if case.reason else ''}"
            for case in self.checked
        ]
        return "\n".join(lines) or "nothing was proved"

    def _repr_html_(self) -> str:
        lines = [["framework", "neuron", "precision", "verdict", *FIGURES, "reason"]]
        for checked in self.checked:
            case = checked.case
            names = [case.framework_variant, case.neuron_label or "", case.precision]
            lines.append([*names, checked.verdict, *checked.figures, checked.reason or ""])
        return html_table(lines)
