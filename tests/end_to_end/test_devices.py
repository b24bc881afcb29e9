"""Devices of JAX that compute a case together, in a worker: proved, told what is known of them,
and refused by name."""

import tomllib

import pytest
from support.paths import WRONG

FAULTS = tomllib.loads((WRONG / "faults.toml").read_text())["devices"]
GRID = 'neurons = [31]\nlayers = [2]\ntime_steps = [37]\nbatch = [5]\ndevice = ["cpu"]\nranks = [{}]\nparallel = ["time"]'
NETWORK = (
    'workload = ["cifar-small"]\nwidth = [3]\nimage = [12]\nclasses = [7]\ntime_steps = [7]\nbatch = [5]\nnorm = [true]\n'
    'loss = ["cross-entropy"]\noptimizer = ["sgd"]\ndevice = ["cpu"]\nranks = [2]\nparallel = ["time", "data"]\n# no neurons'
)
UNTIMED = 'timed = false\ntimeout = "600s"'


def stages(record):
    assert record["status"] == "ok", record["reason"]
    return {stage["name"] for stage in record["proof"]["stages"]}


@pytest.mark.slow
def test_four_devices_share_the_time_steps(snnbench):
    record = snnbench.run(snnbench.config(["jax"], grid=GRID.format(4), measure=UNTIMED)).record(
        "jax"
    )
    assert {
        "small problem, fp32, against one rank",
        "small problem, fp32, time axis",
        "own size, fp32",
    } <= stages(record)
    told = record["distributed"]
    assert (told["launcher"], told["backend"], len(told["ranks"])) == ("jax.shard_map", "XLA", 4)
    assert all(each["host_peak_bytes"] is None and each["wait_s"] is None for each in told["ranks"])
    terms = told["terms"]
    assert (terms["layers"], terms["state_bytes"], terms["gradient_bytes"]) == (
        2,
        4 * 5 * 31,
        4 * 2 * (31 * 31 + 31),
    )
    assert all(
        0 < terms[name][0] <= terms[name][2]
        for name in ("whole", "neurons", "handover", "reduction")
    )
    assert (
        record["memory_meaning"] == "host resident, of one rank"
        and record["memory"]["step"]["peak_bytes"] > 0
    )


@pytest.mark.slow
def test_a_network_with_norms_and_a_loss(snnbench):
    ended = snnbench.run(snnbench.config(["jax"], grid=NETWORK, measure=UNTIMED))
    assert len(ended.records) == 2
    for record in ended.records:
        assert {"small problem, fp32, against one rank", "small problem, fp32, training"} <= stages(
            record
        )
        assert ("terms" in record["distributed"]) == (record["case"]["parallel"] == "time")


@pytest.mark.slow
@pytest.mark.parametrize(("fault", "words"), FAULTS.items())
def test_what_devices_compute_wrong_is_named(snnbench, fault, words):
    name = "truncates-in-jax"
    config = snnbench.config([name], [WRONG / fault], GRID.format(4), UNTIMED)
    record = snnbench.run(config).record(name)
    assert record["status"] == "check_failed", record["reason"]
    assert "fp32, against one rank: " in record["reason"] and words in record["reason"]
