"""`snnbench.quick`: what the verb `quick` does, in Python."""

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, Unpack

from ..experiment.config import Grid
from ..experiment.setting import Argument
from ..records.rows import Row
from ..report.answer import answer, verdict
from ..report.files import ReadResults, finish
from ..report.table import Table
from ..runner.planning import quick_plan
from ..runner.progress import execute_shown
from ..runner.quick import BLOCKS, budget_of, network_axes, requested_rows, without_record
from .axes import NetworkAxes, Neuron, axis_settings, seconds_of, with_axes
from .results import Results
from .running import is_reference, progress_console, reference_of


@with_axes
def quick(
    *frameworks: str | type,
    neuron: Neuron = "soft",
    device: str = "",
    blocks: int = BLOCKS,
    threads: int | None = None,
    timeout: str = "",
    within: str = "",
    inference: bool = False,
    fresh: bool = False,
    out: str | Path | None = None,
    **axes: Unpack[NetworkAxes],
) -> "Answer":
    """Says which framework trains one network fastest, by how much, with what memory, and how sure
    that is.

    Each of `frameworks` is a framework or a variant (`"torch:compile"`), a class in a file
    (`"mine.py:Mine"`), or the class itself, which must be in a file; without a framework's name,
    all that can run here. `device` is by default the GPU if there is one. `threads` are the cores
    of every framework, one on a CPU, 0 for all. `within`, such as "5m", keeps to that time.
    `inference` times it in place of training steps. Further keywords are axes of the network, each
    with one value; `inputs` or `outputs` make it an `mlp`. A step of a whole network has no
    gradient of its input, unless `input_grad` asks for it. The same call with more `blocks` goes
    on. Raises ConfigError for a mistake, in one sentence.

    Example:

        import snnbench

        answer = snnbench.quick("torch", "jax", neurons=256)
        print(answer)
        answer.verdict["fastest"]
    """
    settings = axis_settings("quick", {"neuron": neuron, **_axes(axes)})
    settings += [Argument("grid.device", [device], "quick")] * bool(device)
    if timeout:
        seconds_of("quick", "timeout", timeout)
        settings.append(Argument("measure.timeout", timeout, "quick"))
    if threads is not None:
        settings.append(Argument("measure.threads", threads, "quick"))
    references = [reference_of(framework) for framework in frameworks]
    names = [reference for reference in references if not is_reference(reference)]
    settings += [Argument("grid.framework", names, "quick")] * bool(names)
    budget = budget_of(seconds_of("quick", "within", within) if within else None)
    files = [reference for reference in references if is_reference(reference)]
    plan = quick_plan(settings, files, blocks, "inference" if inference else "step")
    console = progress_console(plan)
    folder = plan.folder(Path(out) if out else None)
    interrupted = execute_shown(plan, folder, fresh, console, budget)
    results = finish(folder, plan.experiment.name)
    for sentence in results.unreadable:
        console.print(sentence, soft_wrap=True, markup=False)
    if interrupted:
        raise KeyboardInterrupt("what is finished is kept, and the same call goes on from there")
    rows = requested_rows(plan, folder)
    return Answer(results, rows, without_record(plan, rows))


def _axes(axes: NetworkAxes) -> dict[str, Any]:
    """Returns the axes of one network."""
    values: dict[str, Any] = {**axes}
    widths = {name: values.get(name) for name in ("inputs", "outputs")}
    network = network_axes(values.get("workload"), values.get("layers"), widths)
    usual = {axis: field.default for axis, field in Grid.model_fields.items()}
    return {axis: value for axis, value in network.items() if [value] != usual[axis]} | values


class Answer(Results):
    """The answer in sentences, and the results that it rests on. A notebook shows both.

    `verdict` has the same as values: `fastest` and `fastest_of_others` (than ours) have several
    names if it is undecided between them, `order` has lists of which each is surely ahead of the
    next. `not_measured` names what `within` left out.
    """

    def __init__(self, read: ReadResults, rows: Sequence[Row], not_measured: list[str]) -> None:
        super().__init__(read, Table(list(rows)))
        self.sentences, self.verdict, self.not_measured = answer(rows), verdict(rows), not_measured
        if not_measured:
            self.sentences.append(f"Left out for lack of time: {', '.join(not_measured)}.")

    def __repr__(self) -> str:
        return "\n".join(self.sentences)

    def _repr_html_(self) -> str:
        sentences = (f"<p>{escape(sentence)}</p>" for sentence in self.sentences)
        return "\n".join([*sentences, super()._repr_html_()])
