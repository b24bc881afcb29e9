"""The canonical form of a case, and the ids that rest on it."""

import json
from dataclasses import dataclass, fields, replace

import pytest
from support.paths import SETS, committed
from support.recordings import data_case

from snnbench.core.case import NATIVE, WORKLOAD_AXES, Case, full_name, sizes
from snnbench.core.variant import Variant, VariantPattern
from snnbench.experiment.values import parse_neuron
from snnbench.kernels.spec import NEURONS, NeuronSpec

EVERYTHING_ELSE = Case(
    framework="norse",
    construction="stepwise",
    mode="compile",
    device="cuda:1",
    neuron=NEURONS["hard-straight"],
    layers=3,
    neurons=1024,
    time_steps=500,
    batch=32,
    precision="amp-bf16",
    input="dense",
    bias=False,
    input_grad=False,
    seed=7,
)
LATER = {
    "width": 8,
    "image": 16,
    "classes": 7,
    "norm": False,
    "firing": 0.02,
    "loss": "membrane",
    "optimizer": "adam",
}
LATER |= {
    "network": "mine@0123456789abcdef",
    "dataset": "shd",
    "samples": 97,
    "loaders": 2,
    "pinned": True,
    "augment": True,
    "behind": "fused",
    "inputs": 61,
    "outputs": 7,
    "recurrent": False,
    "readout": "softmax_sum",
    "heads": 3,
    "recipe": "lenz",
    "parallel": "time",
    "ranks": 2,
}
"""Fields that EVERYTHING_ELSE does not have: its id is older."""
INLINE = {
    "reset": "hard",
    "decay": 0.5,
    "threshold": 2,
    "surrogate": "atan",
    "slope": 2.0,
    "max_spikes": 2,
}
IDS = {
    "95c7dcbd5d63a454": Case("torch"),
    "667e1d4a7754347e": EVERYTHING_ELSE,
    "7302c3c32fd8638f": Case("jax", workload="lif", bias=False),
    "4fbd2b8488c07dc1": Case("lava-dl", workload="lif", bias=False, neuron=NATIVE, neurons=61),
    "893739d54e7d33f0": Case("spyx", neuron=NATIVE, precision="bf16"),
    "65f056d0c7f52bb5": Case("fused", neuron=parse_neuron(INLINE)),
    "144fd03e4966cc10": data_case("frames", "packed"),
}


@pytest.mark.parametrize(("case_id", "case"), IDS.items())
def test_a_case_keeps_its_id_for_good(case_id, case):
    """Records and files are named by it: when this changes, every result that anybody has is
    measured again."""
    assert case.id == case_id


def test_published_records_have_the_ids_of_their_cases():
    for name in SETS:
        for line in committed(name).read_text().splitlines():
            if record := json.loads(line).get("record"):
                case = Case.from_dict(record["case"])
                assert (case.id, case.as_dict()) == (record["case_id"], record["case"]), name


@dataclass(frozen=True)
class LaterCase(Case):
    """A case of a later version, with two more fields."""

    depth: int | None = None
    tint: int | None = None


@pytest.mark.parametrize(("case_id", "case"), IDS.items())
def test_a_field_that_is_added_later_leaves_earlier_ids_as_they_are(case_id, case):
    later = LaterCase(**vars(replace(case)))
    assert later.id == case_id and later.as_dict() == case.as_dict()
    assert LaterCase.from_dict(case.as_dict()) == later, "records of today can be read"
    wider = replace(later, depth=2, tint=32)
    assert len({later.id, wider.id, replace(later, depth=2).id, replace(later, tint=32).id}) == 4
    assert wider.as_dict() == {**case.as_dict(), "depth": 2, "tint": 32}
    assert LaterCase.from_dict(json.loads(json.dumps(wider.as_dict()))) == wider


def test_an_axis_that_a_workload_does_not_have_is_absent():
    case = replace(Case("torch", workload="some-network"), **dict.fromkeys(WORKLOAD_AXES))
    assert case.as_dict().keys() == {each.name for each in fields(Case)} - {
        *WORKLOAD_AXES,
        "firing",
        "loss",
        "optimizer",
        "parallel",
        "ranks",
        "network",
    }
    assert Case.from_dict(json.loads(json.dumps(case.as_dict()))) == case
    assert sizes(case) == "T=50 B=16"
    assert sizes(Case("torch")) == "N=256 T=50 B=16 L=1"


OTHER_NEURON = {
    "reset": "none",
    "detach_reset": True,
    "decay": 0.5,
    "threshold": 2.0,
    "surrogate": "atan",
    "slope": 2.0,
    "max_spikes": 2,
    "current_decay": 0.5,
    "learned_decay": "direct",
    "adaptation": 0.5,
    "adaptation_decay": 0.9,
    "rounding": "nearest",
    "adaptation_coupling": 0.5,
}


def test_every_field_changes_the_id():
    other = (
        {each.name: getattr(EVERYTHING_ELSE, each.name) for each in fields(Case)}
        | {"workload": "lif"}
        | LATER
    )
    assert set(OTHER_NEURON) == {field.name for field in fields(NeuronSpec)}
    variants = [replace(Case("torch"), **{key: value}) for key, value in other.items()]
    adaptive = NeuronSpec(adaptation=0.25, adaptation_decay=0.25)
    bases = {
        "adaptation": adaptive,
        "adaptation_decay": adaptive,
        "adaptation_coupling": adaptive,
        "rounding": NeuronSpec(surrogate="straight-through"),
    }
    variants += [
        Case(
            "torch",
            neuron=replace(bases.get(key, NeuronSpec()), **{key: value}),
        )
        for key, value in OTHER_NEURON.items()
    ]
    variants.append(Case("torch", neuron=NATIVE))
    assert len({case.id for case in [Case("torch"), *variants]}) == 1 + len(variants)


def test_no_two_cases_have_one_name():
    other = {**vars(EVERYTHING_ELSE), **LATER, "workload": "lif"}
    cases = [
        Case("torch"),
        *(replace(Case("torch"), **{field.name: other[field.name]}) for field in fields(Case)),
    ]
    assert len({full_name(case) for case in cases}) == len(cases)
    assert full_name(cases[0]) == "torch soft linear-lif N=256 T=50 B=16 L=1 fp32 cpu"
    unusual = replace(cases[0], firing=0.02, input_grad=False)
    assert (
        full_name(unusual)
        == "torch soft linear-lif N=256 T=50 B=16 L=1 firing=0.02 input_grad=False fp32 cpu"
    )


@pytest.mark.parametrize("neuron", [NEURONS["hard"], NATIVE])
def test_a_case_survives_the_way_through_json(neuron):
    case = replace(EVERYTHING_ELSE, neuron=neuron)
    assert Case.from_dict(json.loads(json.dumps(case.as_dict()))) == case


def test_a_case_that_delivers_data_has_no_neuron():
    case = data_case("frames", "packed", augment=True)
    absent = {
        "neuron",
        "layers",
        "neurons",
        "bias",
        "width",
        "image",
        "classes",
        "norm",
        "input",
        "input_grad",
        "firing",
    }
    assert not absent & case.as_dict().keys() and case.neuron_label is None
    assert Case.from_dict(json.loads(json.dumps(case.as_dict()))) == case
    assert (
        full_name(case)
        == "frames:packed data T=37 B=3 S=9 dataset=synthetic-ssc augment=True fp32 cpu"
    )
    with pytest.raises(TypeError, match="has no neuron"):
        case.spec  # noqa: B018


def test_a_case_is_written_as_the_user_wrote_it():
    assert Case("norse").framework_variant == "norse"
    assert Case("norse", mode="compile").framework_variant == "norse:compile"
    assert Case("norse", "stepwise", "compile").framework_variant == "norse:stepwise+compile"


@pytest.mark.parametrize(
    ("text", "variants"),
    [
        ("norse", [Variant("norse")]),
        ("norse:compile", [Variant("norse", mode="compile")]),
        ("norse:stepwise+compile", [Variant("norse", None, "stepwise", "compile")]),
        ("norse@1.0.0:compile+stepwise", [Variant("norse", "1.0.0", "stepwise", "compile")]),
        ("norse:*", [Variant("norse"), Variant("norse", construction="stepwise")]),
    ],
)
def test_a_pattern_selects_variants_and_is_written_as_it_was_read(text, variants):
    pattern = VariantPattern.parse(text)
    assert pattern.select(("default", "stepwise"), ("eager", "compile")) == variants
    assert str(pattern) == text
    for variant in variants:
        case = Case("").computed_by(variant)
        assert case.variant == variant and case.framework_variant == str(variant)
        assert case.point == Case("").point
        assert VariantPattern.parse(str(variant)).adapter == variant.adapter == case.framework
    with pytest.raises(KeyError, match="graph"):
        VariantPattern.parse("norse:graph").select(("default", "stepwise"), ("eager", "compile"))
