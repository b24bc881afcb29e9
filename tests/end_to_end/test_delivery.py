"""Cases that deliver data, by the real command line: proved, timed and reported, and wrong
strategies named."""

import tomllib

import pytest
from support.command_line import axes
from support.deliveries import STRATEGIES, configured
from support.paths import WRONG
from support.slow import representatives

from snnbench.adapters import registry

TABLE = tomllib.loads((WRONG / "faults.toml").read_text())


def wrong_ones(names):
    return [f"{WRONG / 'deliveries.py'}:{name}" for name in names]


@pytest.fixture(scope="module")
def run(snnbench_module):
    """A strategy for each place where recordings are held."""
    some = ["tonic:memory", "frames:memmap", "frames:uint8"]
    return snnbench_module.run(configured(snnbench_module, some))


def test_strategies_are_proved_and_timed(run):
    assert run.exit_code == 0, run.stdout + run.stderr
    assert len(run.rows) == 3 and {row["status"] for row in run.rows} == {"ok"}
    assert {record["proof"]["stages"][0]["name"] for record in run.records} == {
        "frames of 26 recordings"
    }
    assert {row["group"] for row in run.rows} == {run.rows[0]["group"]}


def test_what_means_nothing_is_empty(run):
    for row in run.rows:
        for name in (
            "neuron",
            "neurons",
            "layers",
            "input",
            "input_grad",
            "bias",
            "firing_rate",
            "grad_error",
            "backward_s",
        ):
            assert row[name] == "", name
        assert (row["dataset"], row["samples"], row["behind"], row["augment"]) == (
            "synthetic-shd",
            "28",
            "none",
            "false",
        )
        case = next(
            each["case"]
            for each in run.records
            if each["case"]["construction"] == row["construction"]
        )
        assert "neuron" not in case and "input_grad" not in case


def test_the_columns_of_deliveries_are_filled(run):
    rows = {row["construction"]: row for row in run.rows}
    for row in rows.values():
        for name in ("step_s", "first_call_s", "batches_per_s", "cpu_per_sample_s", "epoch_wait_s"):
            assert float(row[name]) > 0, name
        assert row["batches"] == "2" and row["epoch_train_s"] == row["waiting_share"] == ""
        assert float(row["batches_per_s"]) == pytest.approx(2 / float(row["step_s"]), rel=1e-3)
    held = {
        name: tuple(int(row[f"data_{place}_bytes"]) for place in ("disk", "host", "device"))
        for name, row in rows.items()
    }
    assert (
        held["uint8"] == (0, 0, 28 * (50 * 100 + 8))
        and held["memory"][1] > 0
        and held["memmap"][0] > 28 * 5000
    )


RECORDINGS = {
    "shd": {"samples": [28]},
    "dvsgesture": {"samples": [5], "time_steps": [5], "batch": [2], "augment": [True]},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDINGS)
def test_recordings_go_through_all_strategies(snnbench, name):
    config = configured(snnbench, STRATEGIES, dataset=[f"synthetic-{name}"], **RECORDINGS[name])
    ended = snnbench.run(config)
    assert ended.exit_code == 0, ended.stdout + ended.stderr
    assert len(ended.rows) == 7 and {row["status"] for row in ended.rows} == {"ok"}


@pytest.fixture(scope="module")
def wrong(snnbench_module):
    plain = [
        name
        for name in (
            *TABLE["deliveries"],
            *TABLE["unread_deliveries"],
            *TABLE["timed_deliveries"],
            *TABLE["right_deliveries"],
        )
        if name != "NotShifted"
    ]
    ended = {}
    for some, changes in ((plain, {}), (["NotShifted"], {"augment": [True]})):
        result = snnbench_module.run(
            configured(snnbench_module, some, wrong_ones(some), **changes), out=f"out{len(some)}"
        )
        ended |= {record["case"]["framework"]: record for record in result.records}
    return ended


def timed(record):
    return any(part.get("timing") for part in record["parts"].values())


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE["deliveries"])
def test_a_wrong_strategy_is_named(wrong, name):
    record = wrong[name]
    assert record["status"] == "check_failed" and TABLE["deliveries"][name] in record["reason"], (
        record["reason"]
    )
    assert not timed(record)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE["timed_deliveries"])
def test_one_that_is_wrong_when_it_is_timed_is_named(wrong, name):
    record = wrong[name]
    assert record["proof"]["passed"] and record["status"] == "check_failed"
    assert TABLE["timed_deliveries"][name] in record["reason"], record["reason"]


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE["unread_deliveries"])
def test_one_that_hands_out_no_plain_tensors_ends_before_its_proof(wrong, name):
    record = wrong[name]
    assert record["status"] == "error" and TABLE["unread_deliveries"][name] in record["reason"]
    assert not timed(record)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE["right_deliveries"])
def test_a_right_one_passes(wrong, name):
    assert wrong[name]["status"] == "ok" and timed(wrong[name]), wrong[name]["reason"]


@pytest.mark.slow
def test_a_thread_that_writes_into_the_batch_being_read_is_named(snnbench):
    names = ["TwoInTurn", "ThreeInTurn"]
    ended = snnbench.run(configured(snnbench, names, wrong_ones(names), batch=[3]))
    wrong, right = (
        next(each for each in ended.records if each["case"]["framework"] == name) for name in names
    )
    assert wrong["status"] == "check_failed" and not timed(wrong)
    # Depending on when the thread runs, it is the copy or the batch that is wrong.
    assert any(
        words in wrong["reason"]
        for words in ("was written over before the next one was asked for", "values are wrong")
    )
    assert right["status"] == "ok", right["reason"]


@pytest.fixture(scope="module")
def wrong_of_cameras(snnbench_module):
    names = [*TABLE["camera_deliveries"], "Right"]
    config = configured(snnbench_module, names, wrong_ones(names), dataset=["synthetic-nmnist"])
    return {
        record["case"]["framework"]: record
        for record in snnbench_module.run(config, out="cameras").records
    }


@pytest.mark.parametrize("name", representatives(TABLE["camera_deliveries"], []))
def test_a_wrong_strategy_is_named_by_what_only_cameras_have(wrong_of_cameras, name):
    record = wrong_of_cameras[name]
    assert (
        record["status"] == "check_failed" and TABLE["camera_deliveries"][name] in record["reason"]
    ), record["reason"]
    assert wrong_of_cameras["Right"]["status"] == "ok"


@pytest.mark.parametrize(
    ("behind", "dataset", "recipe", "size"),
    representatives(
        [
            ("sinabs", "synthetic-shd", "lenz", {}),
            ("fused", "synthetic-nmnist", "steps", {}),
            ("torch", "synthetic-nmnist", "li", {"samples": [5], "time_steps": [3], "batch": [2]}),
        ],
        [],
    ),
)
def test_a_network_trains_on_the_batches(snnbench, behind, dataset, recipe, size):
    grid = {"behind": [behind], "dataset": [dataset], "recipe": [recipe], **size}
    ended = snnbench.run(configured(snnbench, ["frames:packed"], **grid))
    (row,) = ended.rows
    assert (ended.exit_code, row["status"], row["behind"]) == (0, "ok", behind), (
        ended.stdout + ended.stderr
    )
    assert 0 < float(row["waiting_share"]) < 1 and float(row["epoch_train_s"]) > 0


@pytest.fixture(scope="module")
def behind_deliveries(snnbench_module):
    """Records by the network behind: wrong ones, given on the command line, and a right one."""
    references = [f"{WRONG}/{fault}" for fault in TABLE["behind_deliveries"]]
    behind = ["torch", *(registry.load(reference).name for reference in references)]
    config = configured(snnbench_module, ["frames:packed"], behind=behind)
    given = [part for reference in references for part in ("--adapter", reference)]
    ended = snnbench_module.run(config, *given)
    records = {record["case"]["behind"]: record for record in ended.records}
    assert records.keys() >= {*behind}, ended.stdout + ended.stderr
    return records


@pytest.mark.slow
@pytest.mark.parametrize("fault", TABLE["behind_deliveries"])
def test_a_wrong_network_behind_a_delivery_is_named(behind_deliveries, fault):
    record = behind_deliveries[registry.load(f"{WRONG}/{fault}").name]
    assert record["status"] == "check_failed", record["reason"]
    assert record["reason"].startswith("the network behind, ")
    assert TABLE["behind_deliveries"][fault] in record["reason"]


@pytest.mark.slow
def test_a_right_network_behind_a_delivery_is_proved_after_its_frames(behind_deliveries):
    record = behind_deliveries["torch"]
    assert record["status"] == "ok", record["reason"]
    names = [stage["name"] for stage in record["proof"]["stages"]]
    assert names[0] == "frames of 26 recordings" and "one layer, fp32, spikes" in names
    assert names[-1].startswith("own size")


def test_what_cannot_stand_behind_is_a_sentence(snnbench):
    reasons = {
        "jax": "batches are tensors of torch, which this framework does not take",
        "sinabs-exodus": "sinabs-exodus does not run on cpu",
    }
    config = configured(snnbench, ["frames:packed"], behind=[*reasons])
    ended = snnbench.run(config)
    found = {each["case"]["behind"]: (each["status"], each["reason"]) for each in ended.records}
    assert found == {
        behind: ("unsupported", f"{behind} behind: {reason}") for behind, reason in reasons.items()
    }


def test_what_is_unknown_cannot_stand_behind(snnbench):
    refused = snnbench.run(configured(snnbench, ["frames:packed"], behind=["tensorflow"]))
    assert refused.exit_code == 2 and "tensorflow" in refused.message


def test_what_is_too_large_is_a_sentence_before_anything_is_made(snnbench):
    large = {
        "dataset": ["synthetic-dvsgesture"],
        "samples": [100],
        "time_steps": [300],
        "batch": [64],
    }
    refused = snnbench.run(configured(snnbench, ["frames:packed"], **large))
    assert (
        refused.exit_code == 2 and "take fewer time steps, batch items or pixels" in refused.message
    )
    assert not (snnbench.folder / "cache").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", representatives(["shd", "nmnist"], [0]))
def test_real_recordings_are_read_where_they_lie(snnbench, name):
    made = snnbench.make_data(name, "--samples", "28", "--out", str(snnbench.folder / "real"))
    assert made.exit_code == 0, made.stderr
    config = configured(snnbench, ["tonic:naive", "frames:uint8"], dataset=[name])
    ended = snnbench.run(config, "--set", "data.folder=real")
    assert ended.exit_code == 0 and {row["dataset"] for row in ended.rows} == {name}, (
        ended.stdout + ended.stderr
    )
    assert "needs data.folder, where its recordings lie" in snnbench.run(config).message
    what = "file" if name == "shd" else "folder"
    assert (
        f"data.folder = 'elsewhere': there is no {what}"
        in snnbench.run(config, "--set", "data.folder=elsewhere").message
    )


@pytest.mark.slow
def test_check_proves_strategies(snnbench):
    snnbench.environment["SNNBENCH_CACHE"] = str(snnbench.folder / "cache")
    ended = snnbench(
        "check", "frames", "--workload", "data", *axes(time_steps=37, batch=3, samples=9)
    )
    assert ended.exit_code == 0 and "same frames" in ended.stdout, ended.stdout + ended.stderr
    wrong = f"{WRONG / 'deliveries.py'}:Clipped"
    ended = snnbench("check", "--adapter", wrong, "--workload", "data", *axes(samples=9, batch=3))
    assert ended.exit_code == 4 and "counts are clipped at 1" in " ".join(ended.stdout.split())
