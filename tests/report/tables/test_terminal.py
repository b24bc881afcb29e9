"""Tables and texts on terminals and in logs of all kinds."""

import io
import re

import pytest
from rich.console import Console
from support.paths import committed
from support.synthetic import blocks, table_of

from snnbench.common.texts import brief
from snnbench.records.rows import comparison_group
from snnbench.report.files import read_results
from snnbench.report.tables.markdown import markdown_text
from snnbench.report.tables.terminal import print_tables
from snnbench.report.words import rank_of

RESULTS = committed("quickstart")
OTHERS = ("forward", "backward", "optimizer", "inference")


@pytest.fixture(scope="module")
def table():
    return read_results([RESULTS]).table


def printed(table, width) -> str:
    stream = io.StringIO()
    print_tables(table, Console(file=stream, width=width))
    return stream.getvalue()


@pytest.mark.parametrize("width", [50, 62, 80, 100, 140])
def test_what_fits_is_whole(table, width):
    text = printed(table, width)
    assert "…" not in text
    for line in text.splitlines():
        assert len(line.rstrip()) <= width
    for row in table.rows:
        if row.standing:
            assert re.search(
                rf"^ *{rank_of(row)} +{re.escape(row.case.framework_variant)} ", text, re.M
            )


@pytest.mark.parametrize(("width", "longest"), [(180, 80), (60, 60)])
def test_a_heading_is_broken_between_its_conditions(table, width, longest):
    lines = printed(table, width).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("neuron soft · "))
    heading = lines[at : lines.index("all timed here: shared CPU", at)]
    assert len(heading) > 1 and max(map(len, heading)) <= longest
    assert all(line.endswith(" ·") for line in heading[:-1]) and heading[-1].endswith("1 core")
    assert (
        " ".join(heading)
        == table.of_groups_with(
            {row.first.case_id for row in table.rows if row.case.neuron_label == "soft"}
        ).comparison_groups()[0][0]
    )


@pytest.mark.parametrize(
    ("width", "heads"),
    [
        (
            140,
            (
                "# | framework | step | 95 % interval | × best | forward | backward | memory | "
                "remarks | status"
            ),
        ),
        (74, "# | framework | step | 95 % interval | × best | memory"),
        (60, "# | framework | step | × best | memory"),
        (50, "# | framework | step | × best"),
    ],
)
def test_a_narrow_terminal_keeps_intervals_before_anything_else(table, width, heads):
    lines = printed(table, width).splitlines()
    shown = next(line for line in lines if "framework" in line)
    assert re.split(r"\s{2,}", shown.strip()) == heads.split(" | ")
    assert ("unsupported: BindsNET" in "".join(lines)) == ("status" not in heads)


def test_a_note_below_a_table_hangs_below_its_first_line(table):
    lines = printed(table, 60).splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("  bindsnet: unsupported: "))
    note = [line for line in lines[at + 1 : at + 4] if line.startswith("    ")]
    assert len(note) == 2 and note[-1] == "    backward to prove"


def test_identical_remarks_stand_once_above_the_table(table):
    for width in (140, 60):
        text = printed(table, width)
        groups = [group for _, group in table.comparison_groups()]
        assert text.count("all timed here: shared CPU\n") == len(groups)
        assert text.count("shared CPU") == len(groups), "it is in no row"
    drifting = [
        [entry.variant for entry in group if "drift" in entry.row.quality] for group in groups
    ]
    assert printed(table, 140).count("drift") == sum(map(len, drifting)) > 1
    below = [f"  {', '.join(names)}: drift\n" for names in drifting if names]
    assert all(line in text for line in below) and text.count("drift") == len(below)
    single = table_of(blocks("torch"))
    assert "all timed here" not in printed(single, 140)


def test_there_are_no_bars_where_most_would_be_alike():
    for slowest, bars in ((20.0, True), (30.0, False)):
        steps = {"jax": 1e-3, "torch": 2e-3, "norse": slowest * 1e-3}
        records = [one for name, step in steps.items() for one in blocks(name, step=step)]
        assert ("█" in printed(table_of(records), 140)) == bars


def test_an_empty_column_is_left_out():
    whole = table_of(blocks("torch") + blocks("jax"))
    step_alone = table_of([*map(without_others, blocks("torch") + blocks("jax"))])
    for form in (lambda table: printed(table, 140), markdown_text):
        assert all(head in form(whole) for head in ("step", "forward", "backward"))
        assert "step" in form(step_alone) and not re.search("forward|backward", form(step_alone))
    assert "██" in printed(step_alone, 140)


def without_others(record):
    """The record of a run with `phases = ["step"]`."""
    return record.model_copy(
        update={"parts": {name: part for name, part in record.parts.items() if name not in OTHERS}}
    )


def test_rows_measured_on_other_cores_are_not_ranked_together(table):
    first, second = table.rows[:2]
    assert comparison_group(first) == comparison_group(second)
    more = second.first.model_copy(update={"measure": {**second.first.measure, "threads": 2}})
    assert comparison_group(first) != comparison_group(type(second)(second.case, [more]))


def test_a_long_text_of_a_record_takes_three_lines():
    text = brief("short\n" + "bye " * 500, 80)
    first, second = text.split("\n")
    assert (
        first == "short"
        and second.startswith("bye bye")
        and second.endswith("… (whole in the record)")
    )
    assert len(second) <= 3 * 80 + len(" (whole in the record)")
