"""Whatever a framework does to its process: its case ends as a record with a status and a
reason, and the run goes on."""

import re

import psutil
import pytest
from support.command_line import ALL_PHASES
from support.slow import without

from snnbench.cli import exit_codes
from snnbench.experiment.order import shuffled
from snnbench.report.files import read_results

ENDS = {
    # adapter: (framework, status, words of the reason)
    "numpy_network.py:NumpyNetwork": ("numpy", "ok", None),
    "raising.py:NotInstalled": (
        "not-installed",
        "env_error",
        "framework_that_nobody_has is not installed",
    ),
    "import_raises.py:ImportRaises": (
        "import-raises",
        "import_error",
        "RuntimeError: this framework wants another NumPy",
    ),
    "raising.py:BuildRaises": ("build-raises", "build_error", "ValueError: no such layer"),
    "raising.py:SupportsIsTrue": (
        "supports-is-true",
        "build_error",
        "supports must return None, or the reason why not",
    ),
    "raising.py:RefusesLate": ("refuses-late", "unsupported", "odd sizes are not offered"),
    "raising.py:ForwardRaises": (
        "forward-raises",
        "error",
        "ZeroDivisionError: forward divided by zero",
    ),
    "raising.py:BackwardRaises": (
        "backward-raises",
        "check_failed",
        "backward fails: ArithmeticError: backward lost its graph",
    ),
    "raising.py:CompilesOnAFullDisk": (
        "compiles-on-a-full-disk",
        "error",
        "No space left on device",
    ),
    "raising.py:RaisesMemoryError": ("raises-memory-error", "oom_host", "MemoryError"),
    "raising.py:AllocatesTooMuch": ("allocates-too-much", "oom_host", "Unable to allocate 4"),
    "dying.py:Segfaults": ("segfaults", "crash", "killed by SIGSEGV in part 'first_call'"),
    "dying.py:ExitsQuietly": (
        "exits-quietly",
        "crash",
        "exited with status 0 in part 'first_call'",
    ),
    "dying.py:Exits": ("exits", "crash", "exited with status 3 in part 'first_call'"),
    "dying.py:ExitsWithWords": ("exits-with-words", "crash", "SystemExit: bye"),
    "dying.py:DiesLate": ("dies-late", "crash", "killed by SIGKILL in part 'inference'"),
    "dying.py:Hangs": ("hangs", "timeout", "no end after 10 s, stopped in part 'first_call'"),
    "dying.py:HangsInTheProof": (
        "hangs-in-the-proof",
        "timeout",
        "no end after 10 s, stopped in part 'proof'",
    ),
    "forbidden.py:StartsPip": ("starts-pip", "error", "tried to start a package installation"),
    "forbidden.py:CallsHome": (
        "calls-home",
        "error",
        "tried to start a network connection to 192.0.2.1:80",
    ),
    "pip_at_import.py:PipAtImport": (
        "pip-at-import",
        "import_error",
        "tried to start a package installation",
    ),
    "careless.py:PrintsMegabytes": ("prints-megabytes", "ok", None),
    "careless.py:LeavesAChild": ("leaves-a-child", "ok", None),
    "careless.py:LeavesADaemon": ("leaves-a-daemon", "ok", None),
    "careless.py:ReturnsEarly": ("returns-early", "check_failed", "asynchronous without a sync"),
    "careless.py:FinishesLater": (
        "finishes-later",
        "check_failed",
        "last timed call: the gradients still changed after the call had been waited for",
    ),
    "careless.py:ReturnsEarlyWhenTimed": (
        "returns-early-when-timed",
        "check_failed",
        "last timed call",
    ),
    "hostile.py:RemovesTemporaries": ("removes-temporaries", "ok", None),
    "hostile.py:RemovesAllScratch": ("removes-all-scratch", "ok", None),
    "hostile.py:ReplacesItsFiles": ("replaces-its-files", "error", "arrays"),
    "hostile.py:AnswersForEver": (
        "answers-for-ever",
        "error",
        "its worker gave an answer of more than 1 MiB",
    ),
    "hostile.py:ReportsForEver": (
        "reports-for-ever",
        "error",
        "its worker reported more than 4 MiB",
    ),
    "hostile.py:RaisesStop": ("raises-stop", "error", "Stop: that is enough"),
    "hostile.py:WithoutMemory": (
        "without-memory",
        "oom_host",
        "OpenBLAS error: Memory allocation still failed",
    ),
    "hostile.py:WithoutRoom": ("without-room", "error", "No space left on device: /tmp/kernel.s"),
}
RARE = {
    "import_raises.py:ImportRaises",
    "raising.py:ForwardRaises",
    "raising.py:BackwardRaises",
    "careless.py:FinishesLater",
    "hostile.py:ReplacesItsFiles",
    "forbidden.py:CallsHome",
    "raising.py:SupportsIsTrue",
    "raising.py:CompilesOnAFullDisk",
    "raising.py:AllocatesTooMuch",
    "dying.py:ExitsQuietly",
    "dying.py:ExitsWithWords",
    "dying.py:HangsInTheProof",
    "forbidden.py:StartsPip",
    "pip_at_import.py:PipAtImport",
    "careless.py:PrintsMegabytes",
    "careless.py:ReturnsEarlyWhenTimed",
    "hostile.py:RemovesTemporaries",
    "hostile.py:RemovesAllScratch",
    "hostile.py:AnswersForEver",
    "hostile.py:ReportsForEver",
    "hostile.py:RaisesStop",
    "hostile.py:WithoutMemory",
    "hostile.py:WithoutRoom",
}
"""Adapters with a run of their own, which `make test-all` makes."""
FREQUENT = {adapter: ends for adapter, ends in ENDS.items() if adapter not in RARE}
PLANNED = {framework for framework, _, _ in FREQUENT.values()}


def run_of(snnbench, adapters, **options):
    """One run of all of them. One GiB holds every right one."""
    frameworks = sorted(ENDS[adapter][0] for adapter in adapters)
    measure = f'{ALL_PHASES}timeout = "10s"\nhost_memory = "1GiB"'
    return snnbench.run(snnbench.config(frameworks, adapters, measure=measure), **options)


@pytest.fixture(scope="module")
def faults(snnbench_module):
    return run_of(snnbench_module, FREQUENT)


@pytest.fixture(scope="module")
def rare_faults(snnbench_module):
    return run_of(snnbench_module, sorted(RARE), out="rare")


@pytest.mark.parametrize("adapter", without(RARE, ENDS))
def test_every_fault_ends_as_a_record_with_its_status_and_reason(request, adapter):
    framework, status, reason = ENDS[adapter]
    ended = request.getfixturevalue("rare_faults" if adapter in RARE else "faults")
    record = ended.record(framework)
    assert (record["status"], record["reason"]) == (status, record["reason"]), record["reason"]
    assert record["reason"] is None if reason is None else reason in record["reason"]


def test_every_planned_case_has_a_row_and_the_run_says_that_a_proof_failed(faults):
    assert {row["framework"]: row["status"] for row in faults.rows} == {
        framework: status for framework, status, _ in FREQUENT.values()
    }
    assert faults.exit_code == 4
    assert "Traceback" not in faults.stderr


def test_only_proved_cases_are_ranked(faults):
    ranked = {row["framework"] for row in faults.rows if row["rank_low"]}
    assert ranked == {framework for framework, status, _ in FREQUENT.values() if status == "ok"}


def test_the_page_names_every_case_and_why_it_has_no_time(faults):
    page = (faults.folder / "report.html").read_text()
    assert [name for name in PLANNED if name not in page] == []
    assert "no such layer" in page


def test_output_is_kept_in_short(faults):
    assert faults.record("segfaults")["signal"] == 11
    assert faults.record("exits")["exit_code"] == 3
    assert "Traceback" not in faults.record("exits")["stderr_tail"]
    assert max(path.stat().st_size for path in (faults.folder / "records").iterdir()) < 200_000


def test_a_worker_that_did_not_come_to_its_end_has_no_overhead(faults):
    assert faults.record("segfaults")["overhead_s"] is None
    assert faults.record("numpy")["overhead_s"] > 0


@pytest.mark.parametrize("leaver", ["ForkingProgram", "DaemonProgram"])
def test_a_child_does_not_outlive_its_worker(faults, snnbench_module, leaver):
    children = [int(line) for line in (snnbench_module.notes / leaver).read_text().split()]
    alive = [
        child
        for child in children
        if psutil.pid_exists(child) and psutil.Process(child).status() != "zombie"
    ]
    for child in alive:
        psutil.Process(child).kill()
    assert children
    assert not alive


def test_nothing_but_results_is_left(faults):
    kinds = {re.sub(r"-[0-9a-f]{16}", "", path.name) for path in faults.folder.iterdir()}
    files = {
        "experiment.json",
        "environment.json",
        "planned.json",
        "results.csv",
        "report.html",
        "run.lock",
    }
    assert kinds == files | {".snnbench", "problems", "records"}
    assert not [path for path in faults.folder.rglob("*/*") if path.suffix not in (".json", ".npz")]


@pytest.mark.parametrize(
    ("frameworks", "exit_code"),
    [
        (["numpy", "refuses-late"], exit_codes.FINE),
        (["numpy", "hangs", "raises-memory-error"], exit_codes.FINE),
        (["refuses-late"], exit_codes.NOTHING),
        (["numpy", "not-installed", "refuses-late"], exit_codes.FAILED),
        (["numpy", "segfaults"], exit_codes.FAILED),
        (["numpy", "segfaults", "returns-early"], exit_codes.REJECTED),
    ],
)
def test_a_failed_proof_outweighs_a_failure_and_what_is_unsupported_is_a_result(
    faults, frameworks, exit_code
):
    rows = [row for row in read_results([faults.folder]).rows if row.case.framework in frameworks]
    assert len(rows) == len(frameworks)
    assert exit_codes.of_rows(rows) == exit_code


def test_a_plan_of_which_nothing_can_run_is_a_mistake_of_the_config(snnbench):
    config = snnbench.config(["numpy"], ["numpy_network.py:NumpyNetwork"], 'precision = ["bf16"]')
    ended = snnbench.run(config)
    assert ended.exit_code == 2
    assert "no planned case can run here" in ended.message
    assert "NumPy is offered here in fp32" in ended.message
    assert not ended.folder.exists()


def test_a_case_bigger_than_one_that_ran_out_is_pruned(snnbench):
    """The order is drawn: with this seed the smaller case comes first. Nothing was measured,
    which is a 6."""
    seed = next(seed for seed in range(99) if shuffled([97, 131], seed, 0)[0] == 97)
    config = snnbench.config(
        ["allocates-too-much"],
        ["raising.py:AllocatesTooMuch"],
        'neurons = [97, 131]\ntime_steps = [37]\nbatch = [3]\ndevice = ["cpu"]',
        'host_memory = "1GiB"\nblocks = 2',
    )
    ended = snnbench.run(config, "--set", f"seed={seed}")
    assert {row["neurons"]: row["status"] for row in ended.rows} == {
        "97": "oom_host",
        "131": "pruned",
    }
    assert "N=97" in next(row["reason"] for row in ended.rows if row["neurons"] == "131")
    assert ended.exit_code == 6


def test_times_from_before_a_crash_are_kept_but_not_ranked(faults):
    row = next(row for row in faults.rows if row["framework"] == "dies-late")
    assert float(row["forward_s"]) > 0
    assert float(row["step_s"]) > 0
    assert row["inference_s"] == row["rank_low"] == ""
    assert (row["forward_status"], row["inference_status"]) == ("ok", "crash")


def test_forward_keeps_its_figures_where_backward_does_not_fit(snnbench):
    config = snnbench.config(
        ["backward-does-not-fit"],
        ["raising.py:BackwardDoesNotFit"],
        "neurons = [131]",
        ALL_PHASES,
    )
    result = snnbench.run(config)
    assert result.exit_code == 0, result.stderr
    (row,) = result.rows
    assert row["status"] == "oom_host"
    assert row["rank_low"] == ""
    assert (row["forward_status"], row["inference_status"]) == ("ok", "ok")
    assert float(row["forward_s"]) > 0
    assert float(row["forward_peak_memory_bytes"]) > 0
    assert (row["backward_status"], row["step_status"]) == ("oom_host", "oom_host")
    assert row["backward_s"] == row["step_s"] == row["step_peak_memory_bytes"] == ""
    (record,) = result.records
    names = [
        stage["name"] for stage in record["proof"]["stages"] if stage["grad_error"] is not None
    ]
    assert names == ["small problem, fp32, spikes"]
    assert record["proof"]["passed"]
