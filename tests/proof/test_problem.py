"""The numbers that every framework is given: seeded, calibrated, sampled, representable."""

from dataclasses import fields, replace

import numpy as np
import pytest
from support.networks import FUSION, LIANG, TINY, network_of, sized
from support.proofs import gains_of, problem_of

from snnbench.core.case import NATIVE, Case
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.proof import oracle, problem
from snnbench.proof.calibration import calibrate
from snnbench.proof.free_run import FreeRun, free_run
from snnbench.proof.problem import (
    Gains,
    alone,
    is_chain,
    lowered_nodes,
    places,
    problem_id,
    scaled_nodes,
)
from snnbench.proof.rounding import round_to

CASE = Case("any", neurons=97, time_steps=37, batch=3)


def arrays(problem):
    parameters = [array for arrays in problem.parameters.values() for array in arrays.values()]
    return [*parameters, problem.input, problem.other_input, problem.upstream]


def run_of(problem):
    return oracle.forward(problem.network, problem.parameters, problem.input)


def rates(problem):
    return {name: spikes.mean() for name, spikes in run_of(problem).spikes.items()}


def test_it_is_reproducible_and_another_seed_is_another_problem():
    for one, same, other in zip(
        *(arrays(problem_of(replace(CASE, seed=seed))) for seed in (5, 5, 6)), strict=True
    ):
        np.testing.assert_array_equal(one, same)
        assert one.dtype == np.float32
        assert not np.array_equal(one, other)


def test_the_two_inputs_differ_and_the_layers_differ():
    problem = problem_of(replace(CASE, layers=2))
    assert not np.array_equal(problem.input, problem.other_input)
    assert (
        abs(
            np.corrcoef(
                *(problem.parameters[name]["weight"].ravel() for name in ("linear1", "linear2"))
            )[0, 1]
        )
        < 0.05
    )


@pytest.mark.parametrize(
    "change", [{"batch": 7}, {"time_steps": 90}, {"framework": "other"}, {"mode": "compile"}]
)
def test_weights_do_not_depend_on(change):
    one, other = (
        problem_of(case, 1.3).parameters["linear1"] for case in (CASE, replace(CASE, **change))
    )
    for name in ("weight", "bias"):
        np.testing.assert_array_equal(one[name], other[name])


def test_the_gain_is_a_factor_of_weight_and_bias_and_all_resets_share_it():
    one, twice = (problem_of(CASE, gain).parameters["linear1"] for gain in (1.0, 2.0))
    for name in ("weight", "bias"):
        np.testing.assert_array_equal(twice[name], 2 * one[name])
    resets = [
        replace(CASE, neuron=CASE.neuron.with_reset(reset)) for reset in ("soft", "hard", "none")
    ]
    assert len({tuple(gains_of(case).factors.values()) for case in resets}) == 1


@pytest.mark.parametrize("input", ["spikes", "dense"])
@pytest.mark.parametrize("workload", ["linear-lif", "lif"])
@pytest.mark.parametrize("seed", range(4))
def test_the_small_problem_fires_at_fifteen_percent(seed, workload, input):
    rate = rates(problem_of(replace(CASE, seed=seed, workload=workload, input=input)))["neuron1"]
    assert 0.145 <= rate <= 0.155


@pytest.mark.parametrize(
    "neuron", [NeuronSpec(), NeuronSpec(decay=0.2, threshold=0.3), NeuronSpec(decay=1.0)]
)
def test_the_rate_beyond_the_calibrated_part(neuron):
    case = Case("any", neuron=neuron, neurons=600, time_steps=130, batch=6, layers=2)
    for rate in rates(problem_of(case)).values():
        assert 0.13 <= rate <= 0.17


@pytest.mark.parametrize("neuron", ["hard", "none"])
def test_other_resets_fire_between_one_and_sixty_percent(neuron):
    assert 0.01 < rates(problem_of(replace(CASE, neuron=NEURONS[neuron])))["neuron1"] < 0.6


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("neuron", ["soft", "hard", "none"])
def test_several_potentials_pass_twice_the_threshold(neuron, seed):
    problem = problem_of(replace(CASE, neuron=NEURONS[neuron], seed=seed))
    assert np.count_nonzero(run_of(problem).potentials["neuron1"] >= 2) >= 20


@pytest.mark.parametrize("precision", ["tf32", "fp16", "bf16", "amp-bf16"])
def test_short_formats_hold_every_number(precision):
    for array, exact in zip(
        *(
            arrays(problem_of(replace(CASE, precision=p, input="dense")))
            for p in (precision, "fp32")
        ),
        strict=True,
    ):
        np.testing.assert_array_equal(round_to(array, precision), array)
        assert not np.array_equal(array, exact)
        np.testing.assert_allclose(array, exact, rtol=2**-8, atol=1e-7)


def test_fp32_numbers_are_not_rounded():
    weight = problem_of(CASE).parameters["linear1"]["weight"]
    assert (round_to(weight, "tf32") != weight).mean() > 0.9


def test_inputs_are_events_or_dense_numbers():
    events, dense = problem_of(CASE).input, problem_of(replace(CASE, input="dense")).input
    assert set(np.unique(events)) == {0, 1} and 0.27 < events.mean() < 0.33
    assert dense.min() >= 0 and dense.max() < 1 and 0.47 < dense.mean() < 0.53


def test_without_bias_or_weights():
    assert problem_of(replace(CASE, bias=False)).parameters["linear1"].keys() == {"weight"}
    currents = problem_of(replace(CASE, workload="lif"))
    assert currents.parameters == {} and currents.input.min() < 0


def test_the_identity_depends_on_what_the_numbers_depend_on():
    changed = {
        "workload": "lif",
        "neuron": NEURONS["hard"],
        "layers": 2,
        "neurons": 98,
        "time_steps": 38,
    }
    changed |= {"batch": 4, "precision": "bf16", "input": "dense", "bias": False, "seed": 1}
    changed |= {
        "width": 8,
        "image": 16,
        "classes": 7,
        "inputs": 13,
        "outputs": 5,
        "norm": False,
        "firing": 0.02,
        "recurrent": True,
        "readout": "max_time",
        "heads": 3,
    }
    changed |= {"loss": "cross-entropy", "optimizer": "adam", "network": "mine@0123456789abcdef"}
    changed |= {
        "dataset": "shd",
        "samples": 97,
        "loaders": 2,
        "pinned": True,
        "augment": True,
        "behind": "fused",
        "recipe": "lenz",
    }
    alike = {
        "framework": "other",
        "construction": "c",
        "mode": "compile",
        "device": "cuda",
        "input_grad": False,
    }
    alike |= {"parallel": "data", "ranks": 2}
    assert changed.keys() | alike.keys() == {field.name for field in fields(Case)}
    assert len(
        {
            problem_id(CASE),
            *(problem_id(replace(CASE, **{key: value})) for key, value in changed.items()),
        }
    ) == 1 + len(changed)
    assert {problem_id(replace(CASE, **{key: value})) for key, value in alike.items()} == {
        problem_id(CASE)
    }


@pytest.mark.parametrize(
    ("known", "case"),
    [
        ("8b9e4f772285a958", Case("torch")),
        ("d623822f906e6321", Case("jax", workload="lif", bias=False)),
        (
            "6898f69ac4e01116",
            Case("lava-dl", workload="lif", bias=False, neuron=NATIVE, neurons=61),
        ),
    ],
)
def test_a_problem_keeps_its_id_so_that_free_runs_are_used_again(known, case):
    assert problem_id(case) == known


# -- networks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("workload", ["contract", "recurrent", "potentials"])
@pytest.mark.parametrize("neuron", [NeuronSpec(), NeuronSpec(decay=0.5, threshold=0.4)])
def test_every_neuron_of_a_network_is_calibrated(workload, neuron):
    """A network as tiny as the contract's has a few hundred spikes, and rates as coarse."""
    problem = problem_of(
        replace(CASE, workload=workload, neuron=neuron, **(TINY if workload == "contract" else {}))
    )
    assert list(rates(problem)) == ["neuron1", "neuron2"]
    for rate in rates(problem).values():
        assert 0.12 <= rate <= 0.2


def test_a_gain_scales_the_last_parameters_on_every_way_to_its_neuron():
    network = network_of(replace(CASE, workload="contract"))
    assert scaled_nodes(network, "neuron1") == {"norm1"}
    assert scaled_nodes(network, "neuron2") == {"norm2", "norm3"}
    assert scaled_nodes(network_of(replace(CASE, workload="recurrent")), "neuron1") == {
        "linear1",
        "neuron1",
    }
    assert scaled_nodes(network_of(replace(CASE, workload="lif")), "neuron1") == {"input"}


@pytest.mark.parametrize("neuron", [FUSION, LIANG, NeuronSpec("soft", decay=1.0, threshold=0.3)])
def test_neurons_behind_a_shortcut_fire_because_of_their_weights(neuron):
    """A shortcut's spike of 1 passes their thresholds: they repeated it, whatever the weights."""
    case = replace(sized("spiking-resnet18"), neuron=neuron)
    free = free_run(case, network_of(case))
    assert free.unsuitable is None
    assert all(0.1 < rate < 0.3 for rate in free.rates.values())
    assert all(1 / 8 < gain < 4 for gain in free.gains.factors.values())


@pytest.mark.parametrize(("image", "share"), [(3, 1), (8, 2)])
def test_neurons_whose_spikes_are_summed_over_tokens_fire_less(image, share):
    """With 64 tokens the neuron behind the sum, which no weights scale, fired at 65 %."""
    case = replace(sized("sdt-block"), neuron=NeuronSpec("hard", decay=0.5), image=image, width=16)
    free = free_run(case, network_of(case))
    assert free.unsuitable is None
    query, key, value, summed = (free.rates[f"neuron{index}"] for index in (2, 3, 4, 5))
    assert query / share == pytest.approx(key, rel=0.2) == pytest.approx(value, rel=0.2)
    assert 0.02 < summed < 0.5


@pytest.mark.parametrize(
    ("threshold", "lowered"),
    [(0.3, {"neuron3": {"norm3": 0.85}, "neuron5": {"norm5": 0.85}}), (1.0, {})],
)
def test_only_biases_beside_a_shortcut_that_passes_the_threshold_are_lowered(threshold, lowered):
    case = replace(sized("spiking-resnet18"), neuron=replace(FUSION, threshold=threshold))
    network = network_of(case)
    for neuron in network.neurons[:7]:
        scaled = scaled_nodes(network, neuron)
        assert lowered_nodes(network, neuron, scaled) == lowered.get(neuron, {})


def test_gains_of_a_problem_without_lowered_biases_are_not_used_for_it(monkeypatch):
    cases = [replace(sized("spiking-resnet18"), neuron=neuron) for neuron in (FUSION, NeuronSpec())]
    ids = [problem_id(case) for case in cases]
    monkeypatch.setattr(problem, "lowered_nodes", lambda *arguments: {})
    assert [problem_id(case) == known for case, known in zip(cases, ids, strict=True)] == [
        False,
        True,
    ]


def test_a_network_keeps_its_own_biases():
    network = network_of(replace(sized("spiking-resnet18"), neuron=FUSION))
    shapes = network.parameters["norm3"]
    given = {"norm3": {name: np.ones(shape, np.float32) for name, shape in shapes.items()}}
    assert not lowered_nodes(replace(network, given=given), "neuron3", {"norm3"})


def test_a_network_that_fires_nearly_always_or_never_is_no_problem_for_a_proof():
    for rate in (0.005, 0.65, 1.0):
        free = FreeRun(Gains({}), {"neuron1": 0.15, "neuron2": rate}, np.zeros(1))
        assert f"the oracle fires at {rate:.1%}, outside 1% to 60%" in free.unsuitable


def test_a_node_behind_the_last_neuron_has_no_gain():
    case = replace(CASE, workload="contract", **TINY)
    one, twice = (problem_of(case, gain).parameters for gain in (1.0, 2.0))
    np.testing.assert_array_equal(one["linear1"]["weight"], twice["linear1"]["weight"])
    np.testing.assert_array_equal(2 * one["norm2"]["bias"], twice["norm2"]["bias"])


def test_upstream_has_the_shape_of_the_output():
    assert problem_of(replace(CASE, workload="contract", **TINY)).upstream.shape == (1, 3, 7)


def test_layers_are_counted_in_chains_only():
    stack, contract = (
        network_of(replace(CASE, layers=2)),
        network_of(replace(CASE, workload="contract")),
    )
    assert (
        is_chain(stack)
        and not is_chain(contract)
        and not is_chain(network_of(replace(CASE, workload="recurrent")))
    )
    assert places(stack) == {name: name for name in ("linear1", "neuron1", "linear2", "neuron2")}
    assert places(contract)["norm1"] == "norm1"
    assert set(places(network_of(CASE)).values()) == {""}


def test_a_neuron_alone_has_all_its_features_in_one_row():
    problem = problem_of(replace(CASE, workload="contract", **TINY))
    currents = np.zeros((5, 3, 4 * 9 * 11), np.float32)
    assert alone(problem, "neuron1", currents, currents).network.shapes == {
        "input": (396,),
        "neuron1": (396,),
    }


def test_what_lies_before_a_neuron_is_computed_once(monkeypatch):
    """Calibrating a deep network neuron by neuron from its input took minutes."""
    computed, compute = [], oracle.compute
    monkeypatch.setattr(
        oracle,
        "compute",
        lambda run, node, *rest: (computed.append(node.name), compute(run, node, *rest)),
    )
    calibrate(
        replace(CASE, workload="contract", **TINY), network_of(replace(CASE, workload="contract"))
    )
    assert computed.count("conv1") == computed.count("norm2") == computed.count("neuron1") == 1


@pytest.mark.parametrize(("firing", "share"), [(None, 0.3), (0.02, 0.02), (0.5, 0.5)])
def test_an_input_of_spikes_fires_as_the_case_says_and_the_neuron_as_ever(firing, share):
    problem = problem_of(replace(CASE, firing=firing))
    assert set(np.unique(problem.input)) == {0, 1}
    assert problem.input.mean() == pytest.approx(share, rel=0.1)
    assert rates(problem)["neuron1"] == pytest.approx(0.15, abs=0.03)
