"""Elsewhere than on Linux every module is imported, and a sentence says what is untried."""

import subprocess
import sys

from snnbench.machine.lacking import lacks

IMPORTS = """
import builtins, importlib, io, os, pkgutil, sys
import docker, filelock, h5py, jinja2, psutil, pydantic, rich, scipy, torch, typer, uv, vl_convert
import multiprocessing, platformdirs, subprocess

opened = builtins.open
def without_proc(file, *rest, **options):
    if str(file).startswith(("/proc", "/sys")):
        raise FileNotFoundError(2, "No such file or directory", str(file))
    return opened(file, *rest, **options)

builtins.open = io.open = without_proc
sys.platform = "darwin"
for name in ("sched_getaffinity", "sched_setaffinity", "pidfd_open", "memfd_create"):
    if hasattr(os, name):
        delattr(os, name)

import snnbench
for module in pkgutil.walk_packages(snnbench.__path__, "snnbench."):
    # Of adapters and kernels each needs its framework.
    if not module.name.startswith(("snnbench.adapters.", "snnbench.kernels.")) and "__main__" not in module.name:
        importlib.import_module(module.name)
"""


def test_every_module_is_imported_without_what_only_linux_has():
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_another_system_is_said_to_be_untried(tmp_path):
    found = [lack.sentence for lack in lacks(tmp_path, platform="darwin")]
    assert "this is darwin: snnbench measures on Linux, and was tried nowhere else" in found
    assert not [one for one in lacks(tmp_path, platform="linux") if "Linux" in one.sentence]
