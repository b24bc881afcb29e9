"""The figure of versions: the newest first, their endings, and ratios to the plain loop."""

import pytest
from support.paths import committed
from support.synthetic import blocks, figure, table_of, unmeasured

from snnbench.report.files import read_results


def versioned(version: str, **how):
    """Records of snntorch in one version, as an experiment with `snntorch@VERSION` writes them."""
    return of_version(blocks(f"snntorch@{version}", **how), version)


def of_version(records, version):
    for one in records:
        one.adapter |= {
            "name": "snntorch",
            "version": version,
            "closure": {"snntorch": version, "torch": "2.13.0"},
        }
        one.environment |= {"name": f"snntorch@{version}"}
    return records


def history():
    old = [
        unmeasured("snntorch@0.7.0", "check_failed"),
        unmeasured("snntorch@0.3.0", "unsupported"),
    ]
    records = [
        *versioned("0.10.0", step=0.008),
        *versioned("0.9.4", step=0.006),
        *blocks("torch", step=0.004),
        *blocks("jax"),
    ]
    return [*records, *of_version(old[:1], "0.7.0"), *of_version(old[1:], "0.3.0")]


def test_every_version_has_its_line_with_the_proof_and_the_ratio_to_the_loop():
    (panel,) = figure(table_of(history()), "versions").panels
    told = [(point["version"], point["word"], point["against"]) for point in panel.points]
    assert [one[:2] for one in told] == [
        ("0.10.0", "proved"),
        ("0.9.4", "proved"),
        ("0.7.0", "rejected"),
        ("0.3.0", "unsupported"),
    ]
    assert [one[2] for one in told] == [
        pytest.approx(2, rel=0.02),
        pytest.approx(1.5, rel=0.02),
        None,
        None,
    ]
    assert panel.names["across"] == "step, times that of torch" and panel.names["timed"]
    assert panel.notes == [
        "unsupported ≤ 0.3.0, rejected in 0.7.0, proved ≥ 0.9.4",
        "¹ why snntorch@0.7.0 is check_failed",
        "² why snntorch@0.3.0 is unsupported",
    ]
    assert [point["told"] for point in panel.points] == [
        "proved",
        "proved",
        "rejected ¹",
        "unsupported ²",
    ]
    assert all(point["low"] <= point["against"] <= point["high"] for point in panel.points[:2])


def test_without_the_loop_or_times_the_proof_alone_is_shown():
    (panel,) = figure(
        table_of(of_version(blocks("snntorch@1", step=0.01), "1.0") + versioned("0.9.4")),
        "versions",
    ).panels
    assert [point["against"] for point in panel.points] == [None, None]
    assert (panel.names["across"], panel.names["timed"], panel.names["limit"]) == (
        "the step was not timed",
        False,
        [],
    )


def test_one_version_is_no_history():
    assert figure(table_of([*versioned("0.9.4"), *blocks("torch")]), "versions").panels == []


def test_the_page_of_several_folders_has_a_row_for_each_version():
    """Sets that were measured apart, each with the framework's bare name."""
    records = []
    for version in ("0.6.4", "0.8.1", "0.9.1", "0.9.4", "1.0.0"):
        for reset in ("a", "b"):
            own = of_version(blocks("snntorch", seed=ord(reset)), version)
            for one in own:
                one.set = version
            records += own
    table = table_of(records)
    assert len(table.entries) == 10
    assert [len(panel.points) for panel in figure(table, "versions").panels] == [5, 5]


def test_snntorch_s_hard_reset_was_another_neuron_up_to_0_7():
    """Up to 0.7 a spike took the input of the next step with it."""
    table = read_results([committed("history-snntorch")]).table
    told = {panel.where["neuron"]: panel.notes[0] for panel in figure(table, "versions").panels}
    assert told["neuron hard"] == "rejected ≤ 0.7.0, proved ≥ 0.8.1"
    assert told["neuron soft"] == "unsupported ≤ 0.4.11, proved ≥ 0.5.3"
