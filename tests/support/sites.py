"""Bundles for sites: of made-up records, as if they had been verified; and what is asked of a
site in a browser."""

from pathlib import Path
from typing import Any

from snnbench.community.bundle import Bundle, header_of
from snnbench.community.site.pages import site_files
from snnbench.community.site.source import Source
from snnbench.kernels.spec import NEURONS
from snnbench.records.record import Record

from .synthetic import blocks, record, unmeasured

HARD = NEURONS["hard"]


def source(
    records: list[Record], by: str = "neuro", note: str = "", name: str = "made-up"
) -> Source:
    bundle = Bundle({"by": by, "note": note, "name": name}, records=records)
    bundle.header = header_of(bundle)
    return Source(bundle)


def loading() -> dict[str, Any]:
    """What a case that delivers batches of data has."""
    return {
        "workload": "data",
        "neuron": None,
        "dataset": "synthetic-shd",
        "samples": 97,
        "loaders": 0,
        "batch": 3,
        "neurons": None,
    }


def of_version(records: list[Record], version: str | None) -> list[Record]:
    """The same of another version of the framework."""
    return [
        one.model_copy(update={"adapter": {**one.adapter, "version": version}}) for one in records
    ]


def on(records: list[Record], cpu: str) -> list[Record]:
    """The same on another processor."""
    return [
        one.model_copy(update={"machine": {**one.machine, "cpu": cpu, "hash": cpu}})
        for one in records
    ]


def three_by_three() -> list[Source]:
    """Three machines, and a framework in three versions, of which the two older ones reject a
    neuron; sizes that were not all measured in both precisions; two frameworks that are level;
    one that another author confirms."""
    sources = []
    for number, cpu in enumerate(("Alpha 1", "Beta 2", "Gamma 3")):
        records: list[Record] = []
        for neurons, precision in ((97, "fp32"), (193, "fp32"), (193, "bf16"), (769, "bf16")):
            case = {"neurons": neurons, "precision": precision, "noise": 0.003}
            slow = 1e-5 * neurons * (1 + number)
            records += blocks("fused", step=slow, **case) + blocks("torch", step=3 * slow, **case)
            records += blocks("norse", step=3.003 * slow, **case) if neurons == 769 else []
            records += [unmeasured("rockpool", "unsupported", neurons=neurons, precision=precision)]
            for version, times in (("0.7.0", 5.0), ("0.8.1", 4.5), ("1.0.0", 4.0)):
                records += of_version(blocks("snntorch", step=times * slow, **case), version)
        level = {"neurons": 31, "noise": 0.02}
        records += blocks("spyx", step=1e-3, **level) + blocks("jax", step=1e-3, **level)
        for version, passed in (
            ("0.6.4", False),
            ("0.7.0", False),
            ("0.8.1", True),
            ("1.0.0", True),
        ):
            why = None if passed else "resets like `soft`, not `hard`"
            ended = record(
                "snntorch",
                "ok" if passed else "check_failed",
                why,
                passed=passed,
                neurons=61,
                neuron=HARD,
            )
            records += of_version([ended], version)
        sources.append(source(on(records, cpu), note=f"machine {number}"))
    again = blocks("fused", step=1.1e-5 * 97, neurons=97, precision="fp32", noise=0.003)
    return [*sources, source(on(again, "Alpha 1"), by="somebody-else")]


def two_of_a_name() -> list[Source]:
    """Two bundles of one experiment, of which the second has two machines of one kind: the
    second of them has a neuron and a precision that no other bundle has."""
    here = [
        one
        for precision in ("fp32", "bf16")
        for one in blocks("torch", neurons=97, precision=precision)
    ]
    there = blocks("norse", neurons=193)
    for neuron in ("none", "hard"):
        there += blocks("norse", neurons=193, neuron=NEURONS[neuron])
    for precision in ("fp32", "bf16"):
        there += on_node(
            blocks("spyx", neurons=769, neuron=NEURONS["none"], precision=precision), "9" * 12
        )
    return [source(here, by="one"), source(there, by="one")]


def neurons_by_precisions() -> Source:
    """Three neurons in three precisions, of which only `soft` has both at every size."""
    records: list[Record] = []
    precisions = ("fp32", "bf16", "fp16")
    for number, neuron in enumerate(("soft", "hard", "none")):
        for place, precision in enumerate(precisions):
            sizes = {
                "neurons": 97 + 64 * number << place,
                "time_steps": 37 << place,
                "batch": 3 << place,
            }
            same = {(NEURONS["soft"], other) for other in precisions} | {
                (NEURONS[neuron], precision)
            }
            for spec, other in sorted(same, key=str):
                records += blocks("torch", neuron=spec, precision=other, **sizes)
                records += blocks("norse", step=0.009, neuron=spec, precision=other, **sizes)
    return source(records)


def on_node(records: list[Record], node: str) -> list[Record]:
    """The same on another machine of the same kind, as of a run in parts on two nodes of a
    cluster."""
    return [one.model_copy(update={"machine": {**one.machine, "node": node}}) for one in records]


def many_rows(count: int) -> Source:
    """At least so many cases of three blocks each, on one machine: ten variants in groups of
    many sizes."""
    records: list[Record] = []
    names = [
        (name, mode)
        for name in ("fused", "jax", "torch", "norse", "sinabs")
        for mode in ("eager", "compile")
    ]
    for index in range(-(-count // len(names))):
        case = {
            "neurons": 97 << index % 5,
            "time_steps": (25, 50, 100, 500)[index // 5 % 4],
            "batch": 1 + index // 20,
            "noise": 0.01,
        }
        for place, (name, mode) in enumerate(names):
            records += blocks(
                name,
                step=1.37e-7 * case["time_steps"] * (case["neurons"] + 37.7 * place),
                mode=mode,
                **case,
            )
    return source(records)


def written(folder: Path, sources: list[Source]) -> Path:
    """The folder, with the files of a site in it."""
    for name, text in site_files(sources).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def choose(page: Any, name: str, text: str) -> str:
    """Choose, and the answer that is there then."""
    page.select_option(f"#choices select[name={name}]", label=text)
    return page.locator(".verdict").inner_text()


def chosen(page: Any) -> dict[str, str]:
    """The text of every choice, by its name."""
    script = (
        "() => [...document.querySelectorAll('#choices select')]"
        ".map((one) => [one.name, one.selectedOptions[0].text])"
    )
    return dict(page.evaluate(script))
