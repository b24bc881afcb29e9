"""An interrupted or killed `env create`: others are refused meanwhile, and the same one resumes."""

import signal

import psutil
import pytest
from support.environments import (
    ADAPTER,
    STOPPABLE,
    framework,
    package_with,
    states,
    steps,
    until,
    write_recipe,
)


@pytest.mark.slow
def test_interrupted_killed_and_resumed(snnbench):
    slow = package_with(STOPPABLE, snnbench.folder / "slow")
    folder = write_recipe(
        snnbench, steps(first=([framework(snnbench)], ""), slow=([slow], "build = true"))
    )

    def start():
        (slow / "uv").unlink(missing_ok=True)
        process = snnbench.start("env", "create", "tiny")
        until(lambda: (slow / "uv").exists() and (slow / "uv").read_text())
        return process, int((slow / "uv").read_text())

    process, _ = start()
    refused = snnbench("env", "create", "tiny")
    assert (refused.exit_code, "another snnbench is making or removing it" in refused.stderr) == (
        2,
        True,
    )
    assert snnbench("env", "remove", "tiny").exit_code == 2
    process.send_signal(signal.SIGINT)
    interrupted = snnbench.end(process)
    assert interrupted.exit_code == 130
    assert (
        "interrupted; what is finished is kept: snnbench env create tiny resumes it"
        in interrupted.stderr
    )

    process, uv = start()
    process.kill()
    assert snnbench.end(process).exit_code == -signal.SIGKILL
    until(lambda: not psutil.pid_exists(uv) or psutil.Process(uv).status() == psutil.STATUS_ZOMBIE)
    assert states(snnbench)["tiny"] == "unfinished"
    half = next(folder.glob("lib/*/site-packages")) / "half-1.0.dist-info"
    half.mkdir()
    (half / "METADATA").write_text("Metadata-Version: 2.1\nName: half\nVersion: 1.0\n")
    checked = snnbench("check", "tiny", "--adapter", "tiny.py:Tiny", "--neuron", "soft")
    assert checked.exit_code == 3
    reason = "environment tiny is unfinished, its making was interrupted or failed"
    assert f"{reason}: snnbench env create tiny" in checked.stdout

    (slow / "go").touch()
    (snnbench.folder / "tiny.py").write_text(
        ADAPTER.replace("tinyframework.neurons", "slowpackage")
    )
    ended = snnbench("env", "create", "tiny")
    assert ended.exit_code == 0, ended.stderr
    assert ended.stderr.splitlines()[:2] == ["tiny [1/3] python: kept", "tiny [2/3] first: kept"]
    assert not half.exists(), "a half-installed package must not count as installed"
    assert (slow / "builds").read_text() == "xxx"
    assert states(snnbench)["tiny"] == "ready"

    assert snnbench("env", "remove", "tiny").message == "tiny: removed"
    assert [path.name for path in folder.parent.iterdir()] == ["environments.toml"]
    assert snnbench("env", "remove", "tiny").message == "tiny: was not there"
