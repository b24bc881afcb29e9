"""The grid becomes cases; their order and what is left out."""

import itertools
import re
from dataclasses import replace

import pytest
from support.paths import ROOT

from snnbench.common.mistakes import ConfigError
from snnbench.core.case import Case, sizes
from snnbench.core.variant import Variant, VariantPattern
from snnbench.experiment.adapter_info import AdapterInfo
from snnbench.experiment.config import Experiment, load_config
from snnbench.experiment.grid import expand, most_groups, points, resolve_variants, select
from snnbench.experiment.order import comparison_groups, dominated, estimate_seconds, shuffled
from snnbench.kernels.spec import NEURONS
from snnbench.workloads import WORKLOADS, workload_of

NARROW = replace(WORKLOADS["lif"], name="narrow", axes=("neurons",), fixed={"bias": False})
"""A workload of cases that lack some axes."""

ADAPTERS = {
    "torch": AdapterInfo("t:T", "torch"),
    "norse": AdapterInfo(
        "n:N", "norse", constructions=("default", "stepwise"), modes=("eager", "compile")
    ),
    "block": AdapterInfo("b:B", "block", constructions=("block", "stepwise")),
}


def experiment(**values):
    return Experiment.model_validate({"name": "a", **values})


def cases(devices=("cpu",), **values):
    return expand(
        experiment(**values), ADAPTERS, list(devices), "mine.toml: grid.framework = {!r}".format
    )


def test_every_combination_is_one_case():
    grid = {
        "framework": ["torch", "norse"],
        "neuron": ["soft", "hard"],
        "neurons": [31, 97],
        "time_steps": [37],
        "batch": [3, 5, 7],
    }
    expanded = cases(grid=grid)
    assert len(expanded) == len(set(expanded)) == 2 * 2 * 2 * 3
    assert {(c.framework, c.neuron, c.neurons, c.batch) for c in expanded} == set(
        itertools.product(
            ["torch", "norse"], [NEURONS["soft"], NEURONS["hard"]], [31, 97], [3, 5, 7]
        )
    )
    assert {c.time_steps for c in expanded} == {37}


def test_a_value_named_twice_is_one_case():
    assert (
        len(
            cases(
                grid={
                    "framework": ["torch", "torch:eager", "torch:default+eager"],
                    "neurons": [97, 97],
                }
            )
        )
        == 1
    )


def test_the_seed_is_part_of_every_case():
    assert {case.seed for case in cases(seed=7, grid={"framework": ["all"]})} == {7}


def test_the_device_is_the_gpu_where_there_is_one():
    assert {case.device for case in cases(grid={"framework": ["torch"]})} == {"cpu"}
    assert {case.device for case in cases(["cpu", "cuda"], grid={"framework": ["torch"]})} == {
        "cuda"
    }
    assert {
        case.device
        for case in cases(
            ["cpu", "cuda"], grid={"framework": ["torch"], "device": ["cpu", "cuda:1"]}
        )
    } == {
        "cpu",
        "cuda:1",
    }


def test_axes_without_meaning_for_the_neuron_alone_collapse():
    grid = {
        "framework": ["torch"],
        "workload": ["lif"],
        "layers": [1, 3],
        "bias": [True, False],
        "input_grad": [True, False],
    }
    (case,) = cases(grid=grid)
    assert (case.layers, case.bias, case.input_grad) == (1, False, True)
    assert workload_of(case).canonical(case) == case
    assert len(cases(grid={**grid, "workload": ["linear-lif"]})) == 8


@pytest.mark.parametrize(
    ("entry", "left"),
    [
        ({"neurons": 97}, {("torch", 31), ("norse", 31)}),
        ({"framework": "torch", "neurons": 97}, {("torch", 31), ("norse", 31), ("norse", 97)}),
        ({"neurons": [31, 97], "framework": "norse"}, {("torch", 31), ("torch", 97)}),
        ({"neuron": "hard"}, {("torch", 31), ("norse", 31), ("torch", 97), ("norse", 97)}),
        ({"neuron": ["hard", {"reset": "soft"}]}, set()),
        ({"neuron": ["native"]}, {("torch", 31), ("norse", 31), ("torch", 97), ("norse", 97)}),
        ({"bias": True, "neurons": 31}, {("torch", 97), ("norse", 97)}),
    ],
)
def test_excluded_combinations_are_left_out(entry, left):
    expanded = cases(grid={"framework": ["torch", "norse"], "neurons": [31, 97]}, exclude=[entry])
    assert {(case.framework, case.neurons) for case in expanded} == left


def test_only_selects_with_wildcards():
    all_of_them = cases(
        grid={
            "framework": ["torch", "norse:compile"],
            "neurons": [31, 97, 197],
            "bias": [True, False],
        }
    )
    assert len(all_of_them) == 12
    assert {case.framework for case in select(all_of_them, "framework=norse")} == {"norse"}
    assert {case.neurons for case in select(all_of_them, "neurons=*97")} == {97, 197}
    assert {case.bias for case in select(all_of_them, "bias=false")} == {False}
    assert len(select(all_of_them, "neurons=31, mode=compile ,bias=true")) == 1
    assert len(select(all_of_them, "neuron=soft")) == 12
    assert {case.framework_variant for case in select(all_of_them, "framework=norse:*")} == {
        "norse:compile"
    }
    some = [case for case in all_of_them if case.neurons == 31 or case.bias]
    assert select(some, "neurons=97,bias=false") == []
    with pytest.raises(ConfigError, match=r"none has neuron = hard .*\(there are soft"):
        select(all_of_them, "neuron=hard")


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("framwork=torch", "there is no 'framwork'; did you mean 'framework'?"),
        ("torch", "'torch' must look like key=value"),
        ("neurons=31,", "'' must look like key=value"),
        ("=3", "'=3' must look like key=value"),
    ],
)
def test_a_wrong_selection_is_named(expression, sentence):
    with pytest.raises(
        ConfigError, match=rf"--only {re.escape(f'{expression}: {sentence}')} \(framework, "
    ):
        select([Case("torch")], expression)


def test_what_differs_in_its_framework_only_is_one_group():
    all_of_them = cases(
        grid={"framework": ["all"], "neurons": [31, 97, 197], "neuron": ["soft", "hard"]}
    )
    groups = comparison_groups(all_of_them)
    assert sorted(case.id for group in groups for case in group) == sorted(
        case.id for case in all_of_them
    )
    assert len(groups) == 6
    for group in groups:
        assert len({replace(case, framework="", construction="", mode="") for case in group}) == 1


@pytest.mark.parametrize(
    "only, devices",
    [
        ("", None),
        ("neurons=*97", None),
        ("framework=norse, neurons=31 ,mode=eager", None),
        ("device=cpu,neuron=hard", None),
        ("device=cuda", ["cpu", "cuda"]),
        ("neuron=soft*", None),
    ],
)
def test_groups_are_counted_without_asking_any_adapter(only, devices):
    grid = {
        "framework": ["torch", "norse:*"],
        "neurons": [31, 97, 197],
        "neuron": ["soft", "hard"],
        "device": devices,
    }
    exclude = [{"neurons": 31, "neuron": "hard"}]
    all_of_them = cases(grid=grid, exclude=exclude)
    expected = len(comparison_groups(select(all_of_them, only) if only else all_of_them))
    assert most_groups(experiment(grid=grid, exclude=exclude), only) == expected > 0
    with pytest.raises(ConfigError, match="none has neurons = 98"):
        most_groups(experiment(grid=grid), "framework=torch,neurons=98")


def test_every_block_has_an_order_of_its_own():
    items = list(range(9))
    blocks = [shuffled(items, 5, block) for block in range(3)]
    assert all(sorted(block) == items for block in blocks)
    assert len({tuple(block) for block in blocks}) == 3
    assert shuffled(items, 5, 1) == blocks[1] != shuffled(items, 6, 1)


@pytest.mark.parametrize(
    ("text", "variants"),
    [
        ("torch", [("torch", "default", "eager")]),
        ("norse:compile", [("norse", "default", "compile")]),
        ("norse:stepwise", [("norse", "stepwise", "eager")]),
        ("norse:stepwise+compile", [("norse", "stepwise", "compile")]),
        ("block", [("block", "block", "eager")]),
        (
            "all",
            [
                ("torch", "default", "eager"),
                ("norse", "default", "eager"),
                ("block", "block", "eager"),
            ],
        ),
        ("block:*", [("block", "block", "eager"), ("block", "stepwise", "eager")]),
        (
            "all:*",
            [("torch", "default", "eager")]
            + [
                (name, construction, "eager")
                for name in ("norse", "block")
                for construction in ADAPTERS[name].constructions
            ],
        ),
    ],
)
def test_a_framework_is_named_with_its_variant(text, variants):
    assert _resolved(text) == [Variant(name, None, *words) for name, *words in variants]


def _resolved(text, adapters=ADAPTERS):
    return resolve_variants(VariantPattern.parse(text), adapters, "here = {!r}".format)


def test_all_means_what_can_run_and_a_name_means_that_name():
    apart, never = (
        AdapterInfo("a:A", "apart", lacking="it is not installed"),
        AdapterInfo("n:N", "never", refusal="no gradient"),
    )
    more = {**ADAPTERS, "apart": apart, "never": never}
    for text in ("all", "all:*"):
        assert _resolved(text, more) == _resolved(text)
    for name in ("apart", "never"):
        assert _resolved(name, more) == [Variant(name)]


def test_many_frameworks_are_not_all_listed_for_an_unknown_name():
    many = {f"name{i}": AdapterInfo("a:A", f"name{i}") for i in range(9)}
    with pytest.raises(ConfigError, match=r"unknown framework \(snnbench adapters lists them\)$"):
        _resolved("xyz", many)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "trch",
            "here = 'trch': unknown framework; did you mean 'torch'\\?",
        ),
        ("xyz", r"here = 'xyz': unknown framework \(there are torch, norse, block\)"),
        ("norse:stepwize", "norse has no 'stepwize'; did you mean 'stepwise'\\?"),
        ("torch:compile", "torch has no 'compile'.*\\(it has default, eager\\)"),
        ("norse:stepwise+block", "norse has no 'block'"),
        ("norse:stepwise+default", "'stepwise' and 'default' cannot both be chosen"),
        ("al:*", "here = 'al:\\*': unknown framework"),
    ],
)
def test_an_unknown_framework_or_variant_is_named(text, words):
    with pytest.raises(ConfigError, match=words):
        _resolved(text)


def test_a_bigger_case_of_the_same_kind_is_dominated():
    failed = [(Case("torch", neurons=97, time_steps=37, batch=3), "oom_host")]
    bigger = Case("torch", neurons=97, time_steps=51, batch=3)
    assert "N=97 T=37 B=3 L=1 ended as oom_host" in dominated(bigger, failed)
    assert dominated(failed[0][0], failed) is None, "a case does not rule itself out"
    assert dominated(replace(bigger, batch=2), failed) is None, "smaller along one axis"
    assert dominated(replace(bigger, framework="norse"), failed) is None
    assert dominated(replace(bigger, precision="bf16"), failed) is None
    assert dominated(replace(bigger, neuron=NEURONS["hard"]), failed) is None
    assert dominated(bigger, []) is None


def test_axes_that_a_workload_does_not_have_are_absent_and_not_invented():
    case = NARROW.canonical(Case("torch", workload="narrow", layers=3))
    assert (case.neurons, case.bias, case.layers) == (256, False, None)
    assert case == NARROW.canonical(Case("torch", workload="narrow", layers=1))
    assert {"neurons", "bias"} == {"neurons", "bias", "layers"} & case.as_dict().keys()
    assert case.as_dict()["input_grad"] is True, (
        "a gradient that is asked for is no axis of the network"
    )


def test_a_case_without_some_axes_is_dominated_along_the_others():
    small = NARROW.canonical(Case("torch", workload="narrow", batch=3))
    reason = dominated(replace(small, batch=5), [(small, "timeout")])
    assert reason == "the smaller case N=256 T=50 B=3 ended as timeout"


def test_an_estimate_grows_with_blocks_and_slots():
    case = Case("torch")
    assert (
        estimate_seconds(case, 2, 10.0)
        > estimate_seconds(case, 1, 10.0)
        > estimate_seconds(case, 1, 1.0)
        > 1.0
    )
    compiled = replace(case, mode="compile")
    assert estimate_seconds(compiled, 3, 1.0) > 100 + estimate_seconds(case, 3, 1.0)


def test_a_firing_rate_belongs_to_spikes_and_the_usual_one_to_no_case():
    usual, few = Case("torch"), Case("torch", firing=0.02)
    assert workload_of(few).canonical(few) == few
    for input in ("dense", "images", "rate", "events"):
        assert workload_of(usual).canonical(replace(few, input=input)) == replace(
            usual, input=input
        )
    assert workload_of(usual).canonical(replace(usual, firing=0.3)) == usual
    assert workload_of(few).small_case(few).firing is None, "of few neurons hardly any would fire"


@pytest.mark.slow  # 384,000 combinations
def test_on_a_gpu_each_network_has_the_sizes_of_its_own_paper_alone():
    found = points(load_config(ROOT / "configs" / "networks-gpu.toml"), ["cuda"])
    assert {f"{case.workload} {sizes(case)} {case.precision} {case.input}" for case in found} == {
        *(
            f"cifar-{size} T=10 B=64 W=128 I=32 K=10 fp32 images"
            for size in ("small", "medium", "large")
        ),
        *(f"{name} T=6 B=16 W=64 I=224 K=1000 fp32 images" for name in ("alexnet", "resnet34")),
        *(f"spiking-resnet{depth} T=32 B=100 W=64 I=32 K=10 fp32 rate" for depth in (18, 34, 50)),
        *(
            f"mnist-mlp N=1000 T=25 B=128 I=28 K=10 {precision} images"
            for precision in ("fp32", "amp-bf16")
        ),
        "sew-resnet18 T=4 B=112 W=64 I=224 K=1000 amp-bf16 images",
    }
    own = {case.neuron.label() for case in found if case.workload == "cifar-medium"}
    assert own == {
        "hard(decay=0.5)",
        "hard(detach_reset=False, decay=0.25, threshold=0.25, surrogate=rectangle)",
    }


def test_the_first_set_on_a_gpu_is_planned_as_ten_minutes_with_every_framework():
    first = load_config(ROOT / "configs" / "gpu-first.toml")
    names = {pattern.framework for pattern in first.grid.framework}
    known = {"constructions": ("default", "linear-split"), "modes": ("eager", "graph")}
    found = expand(
        first, {name: AdapterInfo("a:A", name, **known) for name in names}, ["cuda"], str
    )
    assert names == {case.framework for case in found} and 40 <= len(found) <= 50
    for workload in ("lif", "linear-lif"):
        for neurons in (512, 4096):
            fp32 = [
                (case.workload, case.neurons, case.precision) == (workload, neurons, "fp32")
                for case in found
            ]
            assert sum(fp32) == len(names) + (workload == "linear-lif"), (
                "ours also with split weights"
            )
    assert sum(estimate_seconds(case, 1, first.measure.seconds_of_slots) for case in found) < 600


def test_what_is_excluded_of_one_framework_is_a_point_of_others():
    grid = {"framework": ["torch", "norse"], "neurons": [8, 16]}
    exclude = [{"neurons": 8}, {"framework": "norse", "neurons": 16}]
    assert [case.neurons for case in points(experiment(grid=grid, exclude=exclude), ["cpu"])] == [
        16
    ]
    assert [case.framework for case in cases(grid=grid, exclude=exclude)] == ["torch"]


def test_an_include_is_the_grid_with_axes_in_place_of_its_own():
    grid = {"framework": ["torch"], "neurons": [31, 97], "time_steps": [37], "batch": [3]}
    include = [
        {"time_steps": [20], "neurons": [31]},
        {"workload": ["mnist-mlp"], "image": [12], "neurons": [97]},
        {"neurons": [97]},
    ]
    sizes = [
        (case.workload, case.neurons, case.time_steps, case.image)
        for case in cases(grid=grid, include=include, exclude=[{"neurons": 31, "time_steps": 37}])
    ]
    assert sizes == [
        ("linear-lif", 97, 37, None),
        ("linear-lif", 31, 20, None),
        ("mnist-mlp", 97, 37, 12),
    ]


def test_an_axis_of_the_grid_may_be_for_an_include_alone():
    values = {
        "name": "a",
        "grid": {"image": [12], "neurons": [97]},
        "include": [{"workload": ["mnist-mlp"]}],
    }
    assert len(points(load_config(values), ["cpu"])) == 2
    values["include"] = [{"workload": ["mlp"]}]
    with pytest.raises(ConfigError, match="means nothing for linear-lif, mlp; leave it out"):
        load_config(values)
