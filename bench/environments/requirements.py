"""Needs of an environment beyond Python and a package index: a compiler for CUDA, a torch with CUDA."""

import os
import re
import shutil
import subprocess
from pathlib import Path

WORDS = {"nvcc": "nvcc (CUDA's compiler)", "cuda-torch": "a torch for CUDA"}


def unmet_before(needs: tuple[str, ...]) -> str | None:
    """The need that is unmet, as far as can be seen before packages are installed; None if all are met."""
    if "nvcc" in needs and nvcc() is None:
        return f"{WORDS['nvcc']}, and there is none on PATH nor in CUDA_HOME"
    return None


def unmet_after(needs: tuple[str, ...], python: Path, site_packages: Path) -> str | None:
    """The need that installed packages do not meet; None if they meet all."""
    if "cuda-torch" not in needs or not (site_packages / "torch").is_dir():
        return None
    code = "import torch; print(torch.__version__, torch.version.cuda or '')"
    versions = subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.split()
    if len(versions) == 2:
        return None
    torch = versions[0] if versions else "(it does not import)"
    return f"{WORDS['cuda-torch']}, and what pip finds here is torch {torch}, without CUDA"


def nvidia() -> bool:
    """Whether there is an NVIDIA GPU's driver."""
    return shutil.which("nvidia-smi") is not None


def nvcc() -> str | None:
    """The path of CUDA's compiler, if there is one in CUDA_HOME or, where that is not set, on PATH."""
    home = os.environ.get("CUDA_HOME")
    return shutil.which("nvcc", path=f"{home}/bin") if home else shutil.which("nvcc")


def build_variables() -> dict[str, str]:
    """CUDA_HOME where it is not set. Torch would take it from nvcc's folder, which is wrong where nvcc is a wrapper."""
    compiler = nvcc()
    if os.environ.get("CUDA_HOME") or not compiler:
        return {}
    commands = subprocess.run(
        [compiler, "-dryrun", "-x", "cu", os.devnull], capture_output=True, text=True
    ).stderr
    top = re.search(r"^#\$ TOP=(.+)$", commands, re.MULTILINE)
    return {"CUDA_HOME": str(Path(top[1].strip()).resolve())} if top else {}
