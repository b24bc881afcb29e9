"""A worker neither installs anything nor reaches the network, and an attempt is named even if
its refusal was swallowed."""

import json
import os

import pytest
from support.command_line import TINY
from support.expected import EXPECTED
from support.paths import FAULTY

from snnbench.adapters import registry
from snnbench.core.jobs import Inquiry
from snnbench.environments.recipes import load_recipes
from snnbench.executors.launch import Surroundings, launch
from snnbench.executors.variables import worker_environment

SWALLOWED = """
from contextlib import suppress
from snnbench.worker.sandbox import ATTEMPTS
with suppress(Exception):
    {attempt}
raise RuntimeError(f"attempts: {{ATTEMPTS}}")
"""
ONE_BY_ONE = """
import json
from contextlib import suppress
from pathlib import Path
from snnbench.worker.sandbox import ATTEMPTS
named = {{}}
for attempt, code in {attempts!r}.items():
    before = len(ATTEMPTS)
    with suppress(Exception):
        exec(code, {{}})
    named[attempt] = [str(each) for each in ATTEMPTS[before:]]
Path(__file__).with_name("named").write_text(json.dumps(named))
"""
ATTEMPTS = {
    "pip as a module": "import subprocess, sys; subprocess.run([sys.executable, '-m', 'pip', 'install', 'x'])",
    "pip by its name": "import subprocess; subprocess.Popen(['pip3', 'install', 'x'])",
    "pip by its version": "import subprocess; subprocess.Popen(['pip3.11', 'install', 'x'])",
    "pip by its path": "import subprocess; subprocess.call(['/usr/bin/pip', 'install', 'x'])",
    "pip in a shell": "import subprocess; subprocess.run('pip install x', shell=True)",
    "pip after a shell's and": "import os; os.system('cd / && python -m pip install x')",
    "pip by exec": "import os; os.execvp('pip', ['pip', 'install', 'x'])",
    "pip by spawn": "import os; os.posix_spawn('/usr/bin/pip', ['pip', 'install', 'x'], os.environ)",
    "conda": "import subprocess; subprocess.run(['conda', 'install', 'x'])",
    "uv": "import subprocess; subprocess.run(['uv', 'pip', 'install', 'x'])",
    "pip by the name of a compiler": "import os, subprocess, tempfile; link = tempfile.gettempdir() + '/g++';"
    " os.symlink('/bin/true', link); subprocess.run([link, '-m', 'pip', 'install', 'x'])",
    "pip after a compiler": "import subprocess; subprocess.run('g++ --version && pip install x', shell=True)",
    "pip inside the process": "import runpy, sys; sys.argv = ['pip', '--version']; runpy.run_module('pip', run_name='__main__')",
}
CONNECTIONS = {
    "a connection": "import socket; socket.socket().connect(('192.0.2.1', 80))",
    "a connection that only tells an error": "import socket; socket.socket().connect_ex(('192.0.2.1', 80))",
    "a web page": "import urllib.request; urllib.request.urlopen('http://192.0.2.1:80/', timeout=5)",
    "the newer internet": "import socket; socket.socket(socket.AF_INET6).connect(('2001:db8::1', 80))",
    "a datagram": "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 80))",
}
ALLOWED = {
    "another program": "import subprocess; subprocess.run(['true'])",
    "a compiler": "import subprocess; subprocess.run(['cc', '--version'], check=True)",
    "a compiler, whatever its files are called": "import subprocess; subprocess.run(['c++', '-I/opt/conda', 'pip'])",
    "a file called pip-list": "import subprocess; subprocess.run(['true', 'pip-list.txt'])",
    "a local socket": "import socket; a, b = socket.socketpair(); a.send(b'x')",
}


IMPORTS = """
import importlib
from pathlib import Path
from snnbench.adapters import registry

imported = []
for name, reference in registry.FRAMEWORKS.items():
    try:
        for module in registry.load(reference).requires:
            importlib.import_module(module)
    except ImportError:
        continue
    imported.append(name)
Path(__file__).with_name("imported").write_text(" ".join(imported))
"""


def error_of(tmp_path, attempt, timeout=30):
    """What a worker's process knew of its attempts when it imported an adapter that makes this
    one."""
    (tmp_path / "mine.py").write_text(SWALLOWED.format(attempt=attempt))
    job = Inquiry((f"{tmp_path / 'mine.py'}:Mine",)).as_dict()
    variables = worker_environment("cpu", 1)
    surroundings = Surroundings(tmp_path / "scratch", timeout, 4 << 30, variables)
    outcome = launch("describe", job, surroundings)
    return outcome.answer("describe")["adapters"][0]["error"]


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """The names that a worker's process gives to each attempt, made one after the other."""
    folder = tmp_path_factory.mktemp("attempts")
    attempts = ATTEMPTS | CONNECTIONS | ALLOWED
    (folder / "one_by_one.py").write_text(ONE_BY_ONE.format(attempts=attempts))
    error = error_of(folder, "import one_by_one")
    assert error.startswith("RuntimeError: attempts: [")
    return json.loads((folder / "named").read_text())


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_an_installation_is_refused_and_named(named, attempt):
    assert named[attempt] and named[attempt][0].startswith("a package installation")


@pytest.mark.parametrize("attempt", CONNECTIONS)
def test_a_connection_is_refused_and_named(named, attempt):
    assert named[attempt] and named[attempt][0].startswith("a network connection to ")
    assert named[attempt][0].endswith(":80")


@pytest.mark.parametrize("attempt", ALLOWED)
def test_other_things_are_not_taken_for_it(named, attempt):
    assert named[attempt] == []


def test_the_attempt_of_an_adapter_is_in_its_error(tmp_path):
    error = error_of(tmp_path, ATTEMPTS["pip in a shell"])
    assert error.startswith("RuntimeError: attempts: ['a package installation")


def test_the_package_that_runs_pip_when_imported_cannot_be(tmp_path):
    assert "attempts: []" in error_of(tmp_path, "import samna")
    error = error_of(tmp_path, "import sys; ATTEMPTS.append(repr(sys.modules['samna']))")
    assert "attempts: ['None']" in error


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="Linux only")
def test_a_worker_gets_the_surroundings_it_is_promised(tmp_path):
    look = "import os, resource; ATTEMPTS.extend([os.environ[k] for k in ('OMP_NUM_THREADS', 'JAX_PLATFORMS', 'PIP_NO_INDEX',"
    look += " 'CUDA_VISIBLE_DEVICES', 'TMPDIR')] + [resource.getrlimit(resource.RLIMIT_DATA)[0], os.getsid(0) == os.getpid()])"
    error = error_of(tmp_path, look)
    assert (
        "attempts: ['1', 'cpu', '1', '', '" in error and f"/temporary', {4 << 30}, True]" in error
    )
    assert (
        f", '{tmp_path / 'scratch'}/describe-" in error
        and list((tmp_path / "scratch").iterdir()) == []
    )


def test_a_connection_ends_check_too(snnbench):
    """`run` finds the attempt at its end (tests/end_to_end/test_faults.py); `check` must not
    call the same adapter right."""
    ended = snnbench(
        "check", "--adapter", f"{FAULTY / 'forbidden.py'}:CallsHome", "--neuron", "soft", *TINY
    )
    assert ended.exit_code == 3
    assert "tried to start a network connection to 192.0.2.1:80" in ended.stdout


def installed_here():
    """The built-in adapters that need no environment of their own."""
    elsewhere = (recipe for home, recipe in load_recipes().items() if home != "standard")
    return set(registry.FRAMEWORKS) - {name for recipe in elsewhere for name in recipe.adapters}


@pytest.mark.frameworks
def test_no_framework_tries_anything_when_imported(tmp_path):
    (tmp_path / "import_all.py").write_text(IMPORTS)
    assert "attempts: []" in error_of(tmp_path, "import import_all", timeout=120)
    assert installed_here() <= set((tmp_path / "imported").read_text().split())


@pytest.mark.frameworks
@pytest.mark.slow
def test_no_built_in_framework_tries_anything(snnbench):
    """All of them for real, at a tiny size: imported, proved, weighed and timed."""
    grid = 'neurons = [11]\ntime_steps = [13]\nbatch = [2]\ndevice = ["cpu"]'
    cannot = dict.fromkeys(
        [name for name, entry in EXPECTED.items() if "reason" in entry], "unsupported"
    )
    ended = snnbench.run(
        snnbench.config(["all", *cannot], grid=grid, measure='budget = "20ms"\ntimeout = "2m"')
    )
    statuses = {record["case"]["framework"]: record["status"] for record in ended.records}
    assert statuses == {name: "ok" for name in installed_here()} | cannot
    assert not any("sandbox" in record["parts"] for record in ended.records)
    assert ended.exit_code == 0
    assert (ended.folder / "report.html").exists()
