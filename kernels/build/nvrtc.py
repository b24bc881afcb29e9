"""Compiles CUDA kernels with NVRTC, caches the results, and launches kernels on torch's stream.

NVRTC and cuda-core are imported at their first use, so the package works without them.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import torch

from .cache import cached
from .source import inlined

OPTIONS = {"std": "c++17", "fma": False}
"""Fused multiply-adds are off: they round differently, and spikes would differ from the
reference."""


@dataclass(frozen=True)
class CudaProgram:
    """A CUDA file with a kernel of the same name, and its macros."""

    path: Path
    macros: tuple[tuple[str, int | str], ...]

    @property
    def kernel(self) -> str:
        return self.path.stem

    def source(self) -> str:
        """Returns the text to compile, which is the key of the cubin in the cache."""
        return "".join(f"#define {name} {value}\n" for name, value in self.macros) + inlined(
            self.path
        )


NEEDED = ("Device", "LaunchConfig", "ObjectCode.from_cubin", "Stream.from_handle", "launch")
"""Used names of cuda.core."""
PROBE = 'extern "C" __global__ void probe() {}\n'


@lru_cache(maxsize=1)
def unavailable() -> str | None:
    """Returns why CUDA kernels cannot be compiled here; None if a small one was compiled."""
    advice = "pip install --upgrade 'snnbench[cuda]'"
    try:
        core = import_module("cuda.core")
        version()
        for path in NEEDED:
            attrgetter(path)(core)
        compile_source(PROBE, "sm_80")
    except ModuleNotFoundError as error:
        return f"{error.name} is not installed: {advice}"
    except (ImportError, AttributeError) as error:
        return f"cuda-core is another version than this needs ({error}): {advice}"
    except Exception as error:  # cuda-core raises many types
        return f"NVRTC does not compile: {(str(error) or repr(error)).splitlines()[0]}"
    return None


@lru_cache(maxsize=1)
def version() -> str:
    """Returns the version of NVRTC. Raises RuntimeError if NVRTC does not answer."""
    from cuda.bindings import nvrtc

    status, major, minor = nvrtc.nvrtcVersion()
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"NVRTC answers {status}")
    return f"{major}.{minor}"


def compiled(program: CudaProgram, architecture: str) -> Path:
    """Returns the cubin of a program for an architecture such as `sm_90`, from the cache folder."""
    source = program.source()
    key = hashlib.sha256(
        repr((source, sorted(OPTIONS.items()), version(), architecture)).encode()
    ).hexdigest()
    return cached(
        f"cuda-{key}", ".cubin", lambda path: path.write_bytes(compile_source(source, architecture))
    )


def compile_source(source: str, architecture: str, **options) -> bytes:
    """Returns the cubin of a text. `options` of cuda-core's ProgramOptions override OPTIONS."""
    import cuda.core

    chosen = cuda.core.ProgramOptions(arch=architecture, **{**OPTIONS, **options})
    return bytes(cuda.core.Program(source, "c++", chosen).compile("cubin").code)


@lru_cache(maxsize=1024)
def kernel(program: CudaProgram, device: int):
    """Returns the kernel of a program, compiled and loaded for the device of this index."""
    from cuda.core import ObjectCode

    major, minor = torch.cuda.get_device_capability(device)
    cubin = compiled(program, f"sm_{major}{minor}").read_bytes()
    return ObjectCode.from_cubin(cubin).get_kernel(program.kernel)


@lru_cache(maxsize=1024)
def stream(device: int, handle: int):
    """Returns torch's stream as a cuda-core stream, cached because creation is slower than a
    launch; every device has a stream 0."""
    from cuda.core import Stream

    return Stream.from_handle(handle)


@lru_cache(maxsize=1024)
def configuration(grid: int, block: int):
    from cuda.core import LaunchConfig

    return LaunchConfig(grid=grid, block=block)


def launch(work) -> None:
    """Enqueues a `CudaLaunch` of lif/cuda/launch.py on torch's current stream."""
    import cuda.core as driver

    index = work.device.index
    with torch.cuda.device(index):
        driver.Device(index).set_current()  # autograd's threads may not have a context yet
        current = stream(index, torch.cuda.current_stream(index).cuda_stream)
        driver.launch(
            current,
            configuration(work.grid, work.block),
            kernel(work.program, index),
            *work.arguments,
        )
