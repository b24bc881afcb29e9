"""The environment variables that workers are given."""

from pathlib import Path

from ..cores import usable_cores


def worker_environment(device: str, threads: int) -> dict[str, str]:
    """Environment variables that make all frameworks use the same device and the same number of threads (0: one per core)."""
    count = str(threads or len(usable_cores()))
    kind = device.partition(":")[0]
    visible = {"CUDA_VISIBLE_DEVICES": ""} if kind == "cpu" else {}
    return {
        "OMP_NUM_THREADS": count,
        "MKL_NUM_THREADS": count,
        "OPENBLAS_NUM_THREADS": count,
        "JAX_PLATFORMS": kind,
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
        # One heap: glibc never returns the freed top of further ones, and memory of earlier calls would hide that of later ones.
        "MALLOC_ARENA_MAX": "1",
        # Freed memory stays with the process. Otherwise the pages of an array may have to be faulted in anew at every call,
        # which can take longer than computing it and depends on its size and on what was freed before. Only while memory is
        # measured (measure/memory.py) is it returned to the system.
        "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
        "MALLOC_MMAP_MAX_": "0",
        "PIP_NO_INDEX": "1",
        "PYTHONHASHSEED": "0",
        # Compile in the worker itself: the cores and memory of helper processes would not be counted.
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        # Torch keeps these headers in the temporary folder, which is new in every worker: ten seconds each, never reused.
        "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
        **visible,
    }


def compiler_caches(folder: Path) -> dict[str, str]:
    """Environment variables that make compilers keep what they compile in `folder`, which they create if they need it."""
    names = {
        "TORCHINDUCTOR_CACHE_DIR": "inductor",
        "TRITON_CACHE_DIR": "triton",
        "TORCH_EXTENSIONS_DIR": "extensions",
        "CUPY_CACHE_DIR": "cupy",
        "SNNBENCH_CACHE": "kernels",
    }
    return {variable: str(folder / name) for variable, name in names.items()}
