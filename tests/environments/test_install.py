"""Packages are installed by uv with pip's settings, also into snnbench's own environment."""

import json
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from threading import Thread

import pytest
from packaging.version import Version
from support.environments import framework, states, steps, wheel_of, write_recipe

from snnbench.environments.install import INDEX_VARIABLES, from_pip

LISTED = """global.cert='/etc/certificates.crt'
global.index-url='https://one.example/simple'
global.extra-index-url='file:///a/simple file:///b/simple'
install.find-links='/wheels'
:env:.trusted-host='one.example'
global.no-index='false'
download.find-links='/elsewhere'
"""


def test_settings_of_pip_become_options_and_variables_of_uv(monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    options, variables = from_pip(LISTED)
    assert options == [
        *("--default-index", "https://one.example/simple"),
        *("--index", "file:///a/simple", "--index", "file:///b/simple"),
        *("--find-links", "/wheels", "--allow-insecure-host", "one.example"),
    ]
    assert variables == {"SSL_CERT_FILE": "/etc/certificates.crt"}
    assert from_pip("global.no-index='1'\n") == (["--no-index"], {}) and from_pip("") == ([], {})
    monkeypatch.setenv("SSL_CERT_FILE", "/mine.crt")
    assert from_pip(LISTED)[1] == {}


def test_a_package_that_only_pips_settings_can_find(snnbench):
    wheel_of(snnbench.folder / "mine", "onlyhere", {"onlyhere.py": ""})
    snnbench.environment["PIP_FIND_LINKS"] = str(snnbench.folder / "mine")
    folder = write_recipe(snnbench, steps(first=([framework(snnbench), "onlyhere==1.0"], "")))
    ended = snnbench("env", "create", "tiny")
    assert ended.exit_code == 0, ended.stderr
    assert (
        next(folder.glob("lib/*/site-packages/onlyhere.py")) and states(snnbench)["tiny"] == "ready"
    )


def test_modules_are_compiled_when_they_are_installed(snnbench):
    """Otherwise the first import compiles, and cold starts are timed with it."""
    wheel_of(snnbench.folder / "mine", "onlyhere", {"onlyhere.py": ""})
    snnbench.environment |= {
        "PIP_FIND_LINKS": str(snnbench.folder / "mine"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    folder = write_recipe(snnbench, steps(first=(["onlyhere==1.0"], "")))
    assert snnbench("env", "create", "tiny").exit_code == 0
    assert next(folder.glob("lib/*/site-packages/__pycache__/onlyhere.*.pyc"))


def test_a_step_for_gpus_is_skipped_without_a_driver(snnbench):
    (snnbench.folder / "none").mkdir()
    write_recipe(
        snnbench,
        steps(
            first=([framework(snnbench)], ""), gpu=(["no-such-package-anywhere==9"], "gpu = true")
        ),
    )
    snnbench.environment["PATH"] = str(snnbench.folder / "none")
    assert snnbench("env", "create", "tiny").exit_code == 0 and states(snnbench)["tiny"] == "ready"


@pytest.fixture
def own_python(snnbench, tmp_path, monkeypatch):
    """A Python that replaces snnbench's own."""
    import venv

    venv.create(tmp_path / "own", symlinks=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "own" / "bin" / "python"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "own"))
    return tmp_path / "own"


def test_here_installs_into_the_environment_of_snnbench(snnbench, own_python):
    write_recipe(snnbench, steps(first=([framework(snnbench)], "")))
    ended = snnbench("env", "create", "tiny", "--here")
    assert ended.exit_code == 0, ended.stderr
    assert ended.stderr.splitlines()[-1] == f"tiny is ready in {own_python}"
    assert next(own_python.glob("lib/*/site-packages/tinyframework"))
    assert json.loads(snnbench("env", "list", "--json").stdout)[-1]["state"] == "not created"


TORCH = f"torch=={Version(version('torch')).public}"  # with any local version, such as +cpu


@pytest.mark.parametrize(
    ("pins", "state"),
    [
        ([TORCH], "installed here"),
        ([TORCH, "numpy==0.0.1"], "not created"),
        ([TORCH, "there-is-no-such-package==1"], "not created"),
    ],
)
def test_packages_in_the_environment_of_snnbench_are_reported(snnbench, pins, state):
    write_recipe(snnbench, steps(first=(pins, "")))
    listed = snnbench("env", "list").stdout
    (line,) = [line for line in listed.splitlines() if line.lstrip().startswith("tiny")]
    assert state in line
    helps = f"tiny: {state}" + ": snnbench env create tiny" * (state == "not created")
    assert helps in snnbench("env", "doctor", "tiny").stdout.splitlines()
    assert f"             tiny: {state}" in snnbench("doctor").stdout.splitlines()


@pytest.fixture
def torch_index(tmp_path):
    """The address of an index with torch for CPUs, served over HTTP."""
    wheel_of(tmp_path / "index" / "torch", "torch", {"torch.py": ""}, "1.0+cpu")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path / "index"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("index", "driver", "version"),
    [("here", False, "1.0+cpu"), ("here", True, "1.0"), ("", False, "1.0"), ("gone", False, "1.0")],
)
def test_torch_for_cpus_is_installed_where_no_driver_is(
    snnbench, torch_index, index, driver, version
):
    programs, index = snnbench.folder / "programs", {"here": torch_index}.get(index, index)
    programs.mkdir()
    if driver:
        (programs / "nvidia-smi").touch(mode=0o755)
    wheel_of(snnbench.folder / "mine", "torch", {"torch.py": ""}, "1.0")
    for name in INDEX_VARIABLES:
        snnbench.environment.pop(name, None)
    snnbench.environment |= {
        "PATH": str(programs),
        "PIP_FIND_LINKS": str(snnbench.folder / "mine"),
        "PIP_NO_INDEX": "" if version == "1.0+cpu" else "1",
        "TORCH_CPU_INDEX": "http://127.0.0.1:9" if index == "gone" else index,
    }
    folder = write_recipe(snnbench, steps(first=([framework(snnbench), "torch==1.0"], "")))
    ended = snnbench("env", "create", "tiny")
    assert ended.exit_code == 0, ended.stderr
    assert [each.name for each in folder.glob("lib/*/site-packages/torch-*")] == [
        f"torch-{version}.dist-info"
    ]
    said = {"1.0+cpu": "torch for CPUs comes from"}.get(
        version, "does not answer" if index == "gone" else "PyPI's for Linux brings CUDA, 3 GB"
    )
    assert said in ended.stderr
