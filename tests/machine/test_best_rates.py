"""The best rates of a machine survive processes, crashes and foreign files."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from snnbench.machine import best_rates as module
from snnbench.machine.best_rates import best_rates, rates_file

SLOW = {"copy_bytes_per_s": {"1048576": 9e9}, "matmul_flops_per_s": {"fp32": 2e10, "bf16": 7e9}}
FAST = {"copy_bytes_per_s": {"1048576": 8e9, "16777216": 6e9}, "matmul_flops_per_s": {"fp32": 3e10}}
BEST = {
    "copy_bytes_per_s": {"1048576": 9e9, "16777216": 6e9},
    "matmul_flops_per_s": {"fp32": 3e10, "bf16": 7e9},
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SNNBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def rates(measured, machine="0f1e", device="cpu", threads=2, keep=True):
    return best_rates(machine, device, threads, measured, keep)


def stored(machine, rate):
    rates = {"cpu, 2 threads": {"matmul_flops_per_s": {"fp32": rate}}}
    return json.dumps({"version": 1, "machine": machine, "rates": rates}).encode()


def test_a_slow_moment_does_not_lower_what_was_measured_before():
    assert rates(FAST) == FAST
    assert rates(SLOW) == BEST
    assert rates({}) == BEST


def test_every_machine_device_and_number_of_threads_has_its_own():
    rates(FAST)
    assert rates({}, machine="2d3c") == rates({}, device="cuda") == rates({}, threads=1) == {}
    rates(SLOW, device="cuda")
    assert rates({}, device="cuda:0") == SLOW
    assert rates({}) == FAST


def test_rates_that_are_not_stored_count_once():
    rates(SLOW)
    assert rates(FAST, keep=False) == BEST
    assert rates({}) == SLOW


@pytest.mark.parametrize("wrong", [float("inf"), float("nan"), 0.0, -1.0, 1e19])
def test_an_impossible_rate_is_dropped(wrong):
    assert rates({"matmul_flops_per_s": {"fp32": 2e10, "bf16": wrong}}) == {
        "matmul_flops_per_s": {"fp32": 2e10}
    }


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"version": 2, "machine": "0f1e", "rates": {}}',
        stored("another", 9e15),
        stored("0f1e", 1e300),
        stored("0f1e", "fast"),
    ],
)
def test_a_damaged_or_foreign_file_is_ignored_and_replaced(content):
    path = rates_file("0f1e")
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert rates(SLOW, keep=False) == SLOW
    assert rates(SLOW) == SLOW
    assert json.loads(path.read_text()) == {
        "version": 1,
        "machine": "0f1e",
        "rates": {"cpu, 2 threads": SLOW},
    }


@given(st.binary(max_size=80))
def test_no_content_of_the_file_is_an_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("rates") / "rates.json"
    path.write_bytes(content)
    assert module._read(path, "0f1e").rates == {}


def test_measured_rates_count_if_nothing_can_be_written(cache):
    cache.write_text("a file where the folder should be")
    assert rates(SLOW) == SLOW


def test_a_file_that_another_process_locks_stays_untouched(monkeypatch):
    rates(SLOW)
    monkeypatch.setattr(module, "LONGEST_WAIT", 0.0)
    with FileLock(rates_file("0f1e").with_suffix(".lock")):
        assert rates(FAST) == BEST
    assert rates({}, keep=False) == SLOW


def test_runs_that_end_at_once_lose_nothing():
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: rates({"copy_bytes_per_s": {str(k % 7): float(k + 1)}}), range(41)))
    assert rates({})["copy_bytes_per_s"] == {str(k % 7): float(k + 1) for k in range(34, 41)}
