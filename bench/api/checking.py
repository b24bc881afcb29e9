"""`snnbench.check`: what the verb `check` does, in Python."""

from collections.abc import Iterator
from html import escape
from typing import Any

from snnbench.kernels.spec import NEURONS

from ..common.mistakes import ConfigError, shown
from ..experiment.setting import Argument
from ..experiment.values import parse_duration
from ..runner.check import FIGURES, WELL, Checked, checker, plan_check, points_to_check
from .running import is_reference, reference_of, values_of


def check(
    *adapters: str | type,
    neuron: Any = tuple(NEURONS),
    device: str = "cpu",
    timeout: str = "2m",
    **axes: Any,
) -> "Verdict":
    """Prove that adapters compute the same network as the float64 oracle, without timing anything.

    Each of `adapters` is a framework or a variant of one (`"torch:compile"`), a file's class (`"mine.py:Mine"`), or the class
    itself, which must be in a file; without any, all are proved that are installed. `neuron` and the other axes of a grid
    (`neurons`, `time_steps`, `batch`, `precision`, …) have one value or a list of them; `timeout` is of one proof. Raises
    ConfigError for a mistake, in one sentence.

    Example:

        import snnbench

        verdict = snnbench.check("norse", neuron=["soft", "hard"], neurons=64)
        assert verdict, verdict.faults
    """
    try:
        seconds = parse_duration(timeout)
    except ValueError as error:
        raise ConfigError(f"check(timeout={shown(timeout)}): {error}") from None
    if "framework" in axes:
        raise ConfigError(
            f"check(framework={shown(axes['framework'])}): frameworks have no keyword; put their names first"
        )
    axes = {"neuron": neuron, "device": device, **axes}
    points = points_to_check(
        [Argument(f"grid.{axis}", values_of(value), "check") for axis, value in axes.items()]
    )
    references = [reference_of(adapter) for adapter in adapters]
    given = [reference for reference in references if is_reference(reference)]
    cases, left_out = plan_check(
        [name for name in references if not is_reference(name)], points, given
    )
    with checker(seconds) as proofs:
        return Verdict([proofs.prove(planned) for planned in cases], left_out)


class Verdict:
    """How proofs ended: true if none shows a fault, and at least one network is right. `left_out` names frameworks that were
    meant and cannot run here. In a notebook it shows the table of `snnbench check`."""

    def __init__(self, checked: list[Checked], left_out: list[str]) -> None:
        self.checked, self.left_out = checked, left_out

    @property
    def faults(self) -> dict[str, str]:
        """A sentence for each case that failed, by its name: `norse soft fp32`. What a framework says that it cannot compute is
        none."""
        return {
            one.name: one.reason or one.status for one in self.checked if one.status not in WELL
        }

    def __bool__(self) -> bool:
        return not self.faults and any(one.status == "ok" for one in self.checked)

    def __len__(self) -> int:
        return len(self.checked)

    def __iter__(self) -> Iterator[Checked]:
        return iter(self.checked)

    def __repr__(self) -> str:
        lines = [
            f"{one.name}: {one.verdict}{f': {one.reason}' if one.reason else ''}"
            for one in self.checked
        ]
        return "\n".join(lines) or "nothing was proved"

    def _repr_html_(self) -> str:
        lines = [["framework", "neuron", "precision", "verdict", *FIGURES, "reason"]]
        for one in self.checked:
            names = [one.case.framework_variant, one.case.neuron_label or "", one.case.precision]
            lines.append([*names, one.verdict, *one.figures, one.reason or ""])
        cells = ("".join(f"<td>{escape(cell)}</td>" for cell in line) for line in lines)
        return f"<table>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"
