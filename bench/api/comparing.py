"""`snnbench.compare`: what the verb `compare` does, in Python."""

from pathlib import Path

from ..common.mistakes import ConfigError
from ..records.compare import Comparison, compare_sets, compare_variants
from ..report.comparison import markdown_text, summary
from .results import Results, results_in


def compare(
    base: Results | str | Path,
    new: Results | str | Path | None = None,
    *,
    pair: tuple[str, str] | None = None,
    factor: float | None = None,
    relative: bool = False,
) -> "Compared":
    """Compares statuses, proofs, memory and the times of all phases, case by case: of two result
    sets, or, with `pair`, of two framework variants in one.

    A set is the result of `run`, `load` or `quick`, a folder or a bundle. `factor` is how many
    times slower is worse; `relative` compares times by their ratios in each run, as between
    machines. Raises ConfigError for a mistake, in one sentence.

    Example:

        import snnbench

        compared = snnbench.compare("results/quickstart.bundle.jsonl", pair=("torch", "fused"))
        print(compared)
        assert not compared.worse
    """
    if (new is None) == (pair is None):
        raise ConfigError("compare(): needs either a second set, or pair=('torch', 'fused')")
    rows = results_in(base).rows
    if new is None:
        assert pair is not None
        return Compared(compare_variants(rows, *pair, factor))
    return Compared(compare_sets(rows, results_in(new).rows, factor, relative))


class Compared:
    """The verdicts of a comparison. A notebook shows the table of `snnbench compare`.

    `worse` is true if a time is surely slower, or a status, a proof or memory is worse;
    `undecided` if that is unknown of a time, or a case of the base is missing. `changes` has a
    verdict for each time: `case`, `phase`, `base` and `new` in seconds, `ratio` with `low` and
    `high`, and `verdict`: slower, faster, same, ambiguous or unsure. `findings` has all else that
    is better or worse: `case`, `what`, `base`, `new`, `verdict`. `sentences` sum it up.
    """

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self.worse, self.undecided = comparison.worse, comparison.undecided
        self.changes, self.findings = comparison.changes, comparison.findings
        self.sentences = [*summary(comparison)]

    def __repr__(self) -> str:
        return markdown_text(self._comparison)

    def _repr_markdown_(self) -> str:
        return markdown_text(self._comparison)
