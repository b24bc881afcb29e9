"""`.ci/gpu` without a GPU: its stages, their limits, what it does again, and the layout of a
machine without a network."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / ".ci" / "gpu"
PYTHON = r"""#!/usr/bin/env bash
said="$*"
echo "$PYTHONPATH|${said//$'\n'/ }" >>"$CALLS"
case "$said" in *"$FAILING"*) exit 3 ;; *"$HANGING"*) sleep 60 ;; esac
"""
"""Instead of a Python: writes down what it is asked."""


@pytest.fixture
def gpu(tmp_path):
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)

    def run(*stages, failing="nothing", hanging="nothing", **variables):
        calls = tmp_path / "calls"
        calls.write_text("")
        own = {
            "PYTHON": str(python),
            "CALLS": str(calls),
            "FAILING": failing,
            "HANGING": hanging,
            "PYTHONPATH": "",
        }
        ended = subprocess.run(
            ["bash", SCRIPT, tmp_path / "out", *stages],
            env=os.environ | own | variables,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return ended, calls.read_text().splitlines()

    return run


def test_all_stages_run_after_one_has_failed_and_only_that_one_runs_again(gpu, tmp_path):
    ended, calls = gpu(failing="tests/gpu")
    assert ended.returncode == 1 and "failed: kernels (3)" in ended.stderr
    asked = ("doctor --calibrate", "tests/gpu", "doctor --kernels", "check", "gpu-first.toml")
    assert [word in call for word, call in zip(asked, calls, strict=True)] == [True] * 5
    again, calls = gpu()
    assert again.returncode == 0 and len(calls) == 1 and "tests/gpu" in calls[0]
    assert "measure: passed before" in again.stdout
    assert (tmp_path / "out" / "kernels.log").is_file()


def test_tests_that_would_all_be_skipped_have_not_passed(gpu, tmp_path):
    ended, _ = gpu("kernels", PYTHON=sys.executable, CUDA_VISIBLE_DEVICES="")
    assert ended.returncode == 1 and "torch reaches no GPU" in ended.stdout
    assert not (tmp_path / "out" / "kernels.done").exists()


def test_a_stage_that_hangs_is_interrupted_and_the_next_one_runs(gpu):
    ended, calls = gpu("proof:1", "machine", hanging="check")
    assert ended.returncode == 1 and "failed: proof (124)" in ended.stderr
    assert "doctor" in calls[-1]


@pytest.mark.parametrize("stage", ["profile", "proof:soon", "proof:0", "proof:", ":9"])
def test_a_stage_that_there_is_not_costs_nothing(gpu, tmp_path, stage):
    ended, calls = gpu("machine", stage)
    assert ended.returncode == 2 and calls == [] and not (tmp_path / "out").exists()
    assert len(ended.stderr.splitlines()) == 1


def test_without_a_network_wheels_and_sources_are_laid_out_once(gpu, tmp_path):
    wheels, site = tmp_path / "wheels", tmp_path / "out" / "site"
    wheels.mkdir()
    (wheels / "some-1.0-py3-none-any.whl").touch()
    ended, calls = gpu("machine", WHEELS=str(wheels))
    assert ended.returncode == 0, ended.stderr
    assert "--no-index" in calls[0] and "some-1.0" in calls[0] and calls[1].startswith(str(site))
    for inside in (
        "snnbench/cli/__init__.py",
        "snnbench/adapters/environments.toml",
        "snnbench/kernels/lif/lif_step.h",
    ):
        assert (site / inside).is_file()
    _, calls = gpu("proof", WHEELS=str(wheels))
    assert len(calls) == 1 and "check" in calls[0]
    (site / ".ready").unlink()
    ended, _ = gpu("measure", WHEELS=str(wheels), failing="pip install")
    assert ended.returncode == 1 and not (site / ".ready").exists()


def test_requirements_that_no_wheel_holds_are_named_before_any_stage(gpu, tmp_path):
    wheels, python = tmp_path / "wheels", tmp_path / "bare"
    wheels.mkdir()
    (wheels / "some-1.0-py3-none-any.whl").touch()
    python.write_text(
        f'#!/bin/sh\ncase "$*" in *distributions*) exec {sys.executable} -S "$@" ;; esac\n'
    )
    python.chmod(0o755)
    ended, _ = gpu("machine", WHEELS=str(wheels), PYTHON=str(python))
    assert ended.returncode == 1 and ended.stdout == "" and len(ended.stderr.splitlines()) == 1
    assert (
        ended.stderr.startswith("neither installed nor in WHEELS: ")
        and "vl-convert-python" in ended.stderr
    )
