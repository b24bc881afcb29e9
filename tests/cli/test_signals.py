"""Ctrl-C and SIGTERM at any moment of a command: exit code 130, one line, no traceback. A full
standard output likewise."""

import signal
import subprocess
import sys

import pytest

AT_IMPORT = """
import os, signal, sys
module, sent = sys.argv[1], int(sys.argv[2])
class Interrupting:
    def find_spec(name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), sent)
sys.meta_path.insert(0, Interrupting)
"""
AT_EXIT = """
import atexit, os, sys
atexit.register(os.kill, os.getpid(), int(sys.argv[2]))
"""
AT_WORKER = """
import os, subprocess, sys
def start(*arguments, **given):
    os.kill(os.getpid(), sent)
    raise AssertionError("nothing is started")
sent, subprocess.Popen = int(sys.argv[2]), start
"""
AT_SENTENCE = """
import os, sys
import snnbench.cli
def interrupted(*given, **named):
    for _ in range(3):
        os.kill(os.getpid(), sent)
sent, snnbench.cli.run_command = int(sys.argv[2]), lambda imported: (imported(), interrupted())
"""
VERBS = {
    "run": ["run", "--config", "{config}"],
    "plan": ["plan", "--config", "{config}"],
    "check": ["check", "torch"],
}
IGNORED = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
"""
COMMAND = """
from snnbench.cli import main
sys.argv[1:] = ["--version"]
main()
"""
IMPORTED = {
    "snnbench.common.mistakes": "--version",
    "snnbench.cli.app": "--version",
    "snnbench.cli.plan": "plan",
    "numpy._core": "plan",
}


def ended(before, module, sent, word="--version"):
    command = [
        sys.executable,
        "-c",
        before + COMMAND.replace("--version", word),
        module,
        str(int(sent)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", IMPORTED)
def test_while_the_command_is_imported(module, sent):
    assert ended(AT_IMPORT, module, sent, IMPORTED[module]) == (130, "snnbench: interrupted\n")


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_when_it_has_ended(sent):
    assert ended(AT_EXIT, "", sent) == (130, "snnbench: interrupted\n")


@pytest.mark.parametrize(
    ("verb", "sent"),
    [("run", signal.SIGINT), ("plan", signal.SIGTERM), ("check", signal.SIGINT)],
)
def test_before_the_first_case_a_sentence_says_so(verb, sent, tmp_path):
    """The first worker of a command is asked about adapters."""
    config = tmp_path / "a.toml"
    config.write_text('name = "a"\n[grid]\nframework = ["torch"]\n')
    command = COMMAND.replace(
        '["--version"]', str([word.format(config=config) for word in VERBS[verb]])
    )
    done = subprocess.run(
        [sys.executable, "-c", AT_WORKER + command, "", str(int(sent))],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (
        130,
        "snnbench: interrupted; what was finished is kept\n",
    )
    assert done.stdout == "" and list(tmp_path.iterdir()) == [config]


def test_once_more_while_it_is_told_or_has_ended():
    again = AT_EXIT.replace("os.kill,", "lambda *each: [os.kill(*each) for _ in range(3)],")
    assert ended(again, "", signal.SIGINT) == (130, "snnbench: interrupted\n")
    assert ended(AT_SENTENCE, "", signal.SIGINT)[0] == 130


def test_a_full_disk_behind_standard_output_is_one_sentence():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-c", "import sys" + COMMAND]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (
        1,
        "snnbench: No space left on device: standard output; make room there\n",
    )


def test_a_closed_standard_output_is_no_error():
    command = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-c", "import sys" + COMMAND]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_shell_starts_in_the_background_goes_on():
    assert ended(IGNORED + AT_IMPORT, "snnbench.cli.app", signal.SIGINT) == (0, "")
