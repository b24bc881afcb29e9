"""Cases that deliver data, by the real command line: proved, timed and reported, and wrong strategies named."""

import json
import tomllib

import pytest
from support.paths import WRONG

ALL = ["tonic:*", "frames:*"]
TABLE = tomllib.loads((WRONG / "faults.toml").read_text())


def configured(snnbench, framework, adapters=(), grid="", samples=28, measure=""):
    snnbench.environment["SNNBENCH_CACHE"] = str(snnbench.folder / "cache")
    path = snnbench.folder / "delivery.toml"
    references = json.dumps([f"{WRONG / 'deliveries.py'}:{name}" for name in adapters])
    path.write_text(
        f'name = "delivery"\nadapters = {references}\n'
        f'[grid]\nframework = {json.dumps(framework)}\nworkload = ["data"]\ndataset = ["synthetic-shd"]\n'
        f'samples = [{samples}]\ntime_steps = [50]\nbatch = [13]\ndevice = ["cpu"]\n{grid}\n'
        f'[measure]\nblocks = 1\nmost_blocks = 1\npasses = 1\nslot = "5ms"\nthreads = 1\n{measure}\n'
    )
    return path


@pytest.fixture(scope="module")
def run(snnbench_module):
    return snnbench_module.run(configured(snnbench_module, ALL))


def test_all_strategies_are_proved_and_timed(run):
    assert run.exit_code == 0, run.stdout + run.stderr
    assert len(run.rows) == 7 and {row["status"] for row in run.rows} == {"ok"}
    assert {record["proof"]["stages"][0]["name"] for record in run.records} == {"frames of 26 recordings"}
    assert {row["group"] for row in run.rows} == {run.rows[0]["group"]}


def test_what_means_nothing_is_empty(run):
    for row in run.rows:
        for name in ("neuron", "neurons", "layers", "input", "input_grad", "bias", "firing_rate", "grad_error", "backward_s"):
            assert row[name] == "", name
        assert (row["dataset"], row["samples"], row["behind"], row["augment"]) == ("synthetic-shd", "28", "none", "false")
        case = next(each["case"] for each in run.records if each["case"]["construction"] == row["construction"])
        assert "neuron" not in case and "input_grad" not in case


def test_the_columns_of_deliveries_are_filled(run):
    rows = {row["construction"]: row for row in run.rows}
    for row in rows.values():
        for name in ("step_s", "first_call_s", "batches_per_s", "cpu_per_sample_s", "epoch_wait_s"):
            assert float(row[name]) > 0, name
        assert row["batches"] == "2" and row["epoch_train_s"] == row["waiting_share"] == ""
        assert float(row["batches_per_s"]) == pytest.approx(2 / float(row["step_s"]), rel=1e-3)
    held = {name: tuple(int(row[f"data_{place}_bytes"]) for place in ("disk", "host", "device")) for name, row in rows.items()}
    assert held["uint8"] == (0, 0, 28 * (50 * 100 + 8)) and held["memory"][1] > 0 and held["memmap"][0] > 28 * 5000


@pytest.fixture(scope="module")
def wrong(snnbench_module):
    names = [*TABLE["deliveries"], *TABLE["timed_deliveries"], "Right"]
    augmented = [name for name in names if name == "NotShifted"]
    plain = [name for name in names if name not in augmented]
    ended = {}
    for some, grid in ((plain, ""), (augmented, "augment = [true]")):
        result = snnbench_module.run(configured(snnbench_module, some, some, grid), out=f"out{len(some)}")
        ended |= {record["case"]["framework"]: record for record in result.records}
    return ended


@pytest.mark.parametrize("name", TABLE["deliveries"])
def test_a_wrong_strategy_is_named(wrong, name):
    record = wrong[name]
    assert record["status"] == "check_failed" and TABLE["deliveries"][name] in record["reason"], record["reason"]
    assert not any("timing" in part for part in record["parts"].values())


@pytest.mark.parametrize("name", TABLE["timed_deliveries"])
def test_one_that_is_wrong_when_it_is_timed_is_named(wrong, name):
    record = wrong[name]
    assert record["proof"]["passed"] and record["status"] == "check_failed"
    assert TABLE["timed_deliveries"][name] in record["reason"], record["reason"]


def test_a_right_one_passes(wrong):
    assert wrong["Right"]["status"] == "ok"


@pytest.mark.parametrize("behind", ["fused", "sinabs"])
def test_a_network_trains_on_the_batches(snnbench, behind):
    ended = snnbench.run(configured(snnbench, ["frames:packed"], grid=f'behind = ["{behind}"]'))
    (row,) = ended.rows
    assert (ended.exit_code, row["status"], row["behind"]) == (0, "ok", behind), ended.stdout + ended.stderr
    assert 0 < float(row["waiting_share"]) < 1 and float(row["epoch_train_s"]) > 0


def test_what_cannot_stand_behind_is_a_sentence(snnbench):
    ended = snnbench.run(configured(snnbench, ["frames:packed"], grid='behind = ["none", "jax"]'))
    reasons = {row["behind"]: row["reason"] for row in ended.rows}
    assert reasons == {"none": "", "jax": "jax behind: batches are torch's tensors, which this framework does not take"}
    refused = snnbench.run(configured(snnbench, ["frames:packed"], grid='behind = ["tensorflow"]'))
    assert refused.exit_code == 2 and "tensorflow" in refused.message


def test_real_recordings_are_read_where_they_lie(snnbench):
    made = snnbench("data", "make", "shd", "--samples", "28", "--out", str(snnbench.folder / "real"))
    assert made.exit_code == 0, made.stderr
    config = configured(snnbench, ["frames:uint8"])
    text = config.read_text().replace("synthetic-shd", "shd")
    config.write_text(f'{text}[data]\nfolder = "real"\n')
    ended = snnbench.run(config)
    assert ended.exit_code == 0 and ended.rows[0]["dataset"] == "shd", ended.stdout + ended.stderr
    config.write_text(text)
    assert "needs data.folder, where its recordings lie" in snnbench.run(config).message
    config.write_text(f'{text}[data]\nfolder = "elsewhere"\n')
    assert "data.folder = 'elsewhere': there is no file" in snnbench.run(config).message


def test_a_damaged_file_is_named_in_every_record(snnbench):
    snnbench("data", "make", "shd", "--samples", "28", "--out", str(snnbench.folder / "real"))
    file = snnbench.folder / "real" / "SHD" / "shd_train.h5"
    file.write_bytes(file.read_bytes()[:20_000])
    config = configured(snnbench, ["frames:packed", "frames:memmap"])
    config.write_text(config.read_text().replace("synthetic-shd", "shd") + '[data]\nfolder = "real"\n')
    ended = snnbench.run(config)
    assert {row["status"] for row in ended.rows} == {"build_error"}
    assert all("shd_train.h5: is damaged, or no HDF5 file" in row["reason"] for row in ended.rows)


def test_check_proves_strategies(snnbench):
    snnbench.environment["SNNBENCH_CACHE"] = str(snnbench.folder / "cache")
    ended = snnbench("check", "frames", "--workload", "data", "--time-steps", "37", "--batch", "3", "--samples", "9")
    assert ended.exit_code == 0 and "same frames" in ended.stdout, ended.stdout + ended.stderr
    wrong = f"{WRONG / 'deliveries.py'}:Clipped"
    ended = snnbench("check", "--adapter", wrong, "--workload", "data", "--samples", "9", "--batch", "3")
    assert ended.exit_code == 4 and "counts are clipped at 1" in " ".join(ended.stdout.split())
