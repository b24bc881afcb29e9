"""The least time that a phase can take, and the refusal of less."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.networks import network_of

from snnbench.core.case import Case
from snnbench.measure.floor import Ceilings, copied, floor, implausible, judge_times, nonzero_share
from snnbench.measure.work import mandatory

CASE = Case("any", neurons=10, time_steps=7, batch=3, input="dense")
NETWORK, HALF = network_of(CASE), 0.5
WORK = mandatory(CASE, NETWORK, "forward", HALF)
KIB, MIB = 1 << 10, 1 << 20
RATES = Ceilings({}, {"fp32": 1e9})


def test_the_floor_is_the_slower_of_the_two_ceilings():
    assert (
        floor(CASE, NETWORK, "forward", Ceilings({8 * KIB: 1e12}, {"fp32": WORK.flops}), HALF)
        == 1.0
    )
    assert (
        floor(CASE, NETWORK, "forward", Ceilings({8 * KIB: WORK.bytes}, {"fp32": 1e12}), HALF)
        == 1.0
    )
    assert floor(CASE, NETWORK, "forward", Ceilings({8 * KIB: WORK.bytes}, {}), HALF) == 1.0
    assert floor(CASE, NETWORK, "forward", Ceilings({}, {}), HALF) == 0.0


def test_the_fastest_format_counts():
    assert Ceilings({}, {"fp32": 2.0, "bf16": 3.0, "fp16": 1.0}).flops == 3.0


def test_bytes_move_no_faster_than_those_that_fit_the_same_cache():
    rates = Ceilings({8 * KIB: 9.0, MIB: 7.0, 4 * MIB: 5.0, 16 * MIB: 6.0}, {})
    assert rates.bytes(0) == rates.bytes(64 * KIB - 1) == 9.0
    assert rates.bytes(64 * KIB) == rates.bytes(7.9 * MIB) == 7.0
    assert rates.bytes(8 * MIB) == 6.0, "a rate that a larger copy has, a smaller one can have too"
    assert rates.bytes(10_000 * MIB) == 9.0, "where no copy was large enough the best one counts"


@given(st.floats(0, 1e15))
def test_the_copy_that_stands_for_some_bytes_is_no_larger(moved):
    size = copied(moved)
    assert 8 * KIB <= size <= 2048 * MIB
    assert size == 8 * KIB or size <= moved
    assert size == 2048 * MIB or 2 * size > moved


positive = st.floats(1.0, 1e15)
rates_of_a_device = st.builds(
    Ceilings,
    st.dictionaries(st.integers(13, 31).map(lambda k: 1 << k), positive, max_size=5),
    st.dictionaries(st.sampled_from(["fp32", "bf16", "fp16"]), positive, max_size=3),
)


@given(
    rates_of_a_device,
    rates_of_a_device,
    st.sampled_from(["forward", "backward", "step", "inference"]),
)
def test_more_measurements_never_raise_a_floor_that_rests_on_some(one, other, phase):
    if not one.copies or not one.products:
        return
    merged = Ceilings(
        {
            size: max(each.copies.get(size, 0) for each in (one, other))
            for size in {**one.copies, **other.copies}
        },
        {
            name: max(each.products.get(name, 0) for each in (one, other))
            for name in {**one.products, **other.products}
        },
    )
    assert floor(CASE, NETWORK, phase, merged, HALF) <= floor(CASE, NETWORK, phase, one, HALF)


def test_rates_go_through_a_file():
    rates = Ceilings({MIB: 9e9, 8 * KIB: 2e10}, {"fp32": 3e10})
    assert rates.as_dict() == {
        "copy_bytes_per_s": {"1048576": 9e9, "8192": 2e10},
        "matmul_flops_per_s": {"fp32": 3e10},
    }
    assert Ceilings.from_dict(rates.as_dict()) == rates
    cold = Ceilings(rates.copies, rates.products, {MIB: 3e9})
    assert Ceilings.from_dict(cold.as_dict()) == cold != rates
    assert cold.bytes(MIB) == rates.bytes(MIB), "a floor rests on what a cache may give"


@pytest.mark.parametrize(("device", "allowed"), [("cpu", 0.5), ("cuda", 0.9), ("cuda:1", 0.9)])
def test_a_time_below_the_floor_is_refused(device, allowed):
    case = replace(CASE, device=device)
    assert implausible(case, allowed * 1.001, 1.0) is None
    assert f"below {allowed} of the floor" in implausible(case, allowed * 0.999, 1.0)


def test_every_phase_is_judged_by_its_own_floor():
    rates = Ceilings({}, {"fp32": WORK.flops})
    judged = judge_times(CASE, NETWORK, rates, HALF, {"forward": 0.6, "step": 0.6})
    assert (judged["forward"].floor_s, judged["forward"].reason) == (1.0, None)
    assert judged["step"].floor_s == 4.0
    assert judged["step"].reason.startswith("6.000e-01 s is below 0.5 of the floor of 4.000e+00 s")


def test_a_program_that_leaves_out_the_products_of_zeros_is_not_refused():
    """It takes a tenth of the time that the full product takes at the device's best."""
    dense = floor(CASE, NETWORK, "forward", RATES, 1.0)
    sparse = judge_times(CASE, NETWORK, RATES, 0.1, {"forward": dense / 10})
    assert sparse["forward"].reason is None
    assert judge_times(CASE, NETWORK, RATES, 1.0, {"forward": dense / 10})["forward"].reason


@pytest.mark.parametrize("share", [0.01, 0.15, 0.5, 1.0])
def test_a_program_that_adds_up_weights_of_spikes_is_refused_only_where_it_leaves_out_what_matters(
    share,
):
    """Partial sums of eight inputs: an eighth of the product's operations, however many spikes
    there are. The input's gradient has no zeros: without its product a step is refused."""
    spikes = replace(CASE, input="spikes", neurons=512, batch=64)
    network = network_of(spikes)
    product = floor(replace(spikes, input="dense"), network, "forward", RATES, 1.0)
    whole = judge_times(
        spikes,
        network,
        RATES,
        share,
        {"forward": product / 8, "step": product * (1 / 8 + 1 + 1 / 8)},
    )
    assert [one.reason for one in whole.values()] == [None, None]
    refused = judge_times(
        spikes, network, RATES, share, {"step": product / 4, "backward": product / 8}
    )
    assert all("the work cannot have been done" in one.reason for one in refused.values())
    dense = judge_times(
        replace(spikes, input="dense"), network, RATES, 1.0, {"forward": product / 8}
    )
    assert dense["forward"].reason, "of values that are not declared as spikes all products count"


def test_the_share_of_the_input_is_the_least_of_its_arrays():
    assert (
        nonzero_share([np.array([0, 1, 1, 0], np.float32), np.array([0, 3, 0, 0], np.float32)])
        == 0.25
    )
