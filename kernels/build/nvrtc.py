"""Compiles CUDA kernels with NVRTC, caches the results, and launches kernels on torch's stream.

NVRTC and cuda-core are imported only when they are needed, so the package works without them.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch

from .cache import cached
from .source import inlined

OPTIONS = {"std": "c++17", "fma": False}
"""Without contraction to fused multiply-adds, because they round differently and spikes would differ from the reference."""


@dataclass(frozen=True)
class CudaProgram:
    """A CUDA file with a kernel of the same name, and the macros that it is compiled with."""

    path: Path
    macros: tuple[tuple[str, int | str], ...]

    @property
    def kernel(self) -> str:
        return self.path.stem

    def source(self) -> str:
        """One text to compile; the cubin is cached by it."""
        return "".join(f"#define {name} {value}\n" for name, value in self.macros) + inlined(self.path)


@lru_cache(maxsize=1)
def unavailable() -> str | None:
    """Why CUDA kernels cannot be compiled here, in words for the user; None if they can."""
    try:
        import cuda.core  # noqa: F401

        version()
    except ImportError as error:
        return f"{error.name} is not installed: pip install cuda-core cuda-bindings nvidia-cuda-nvrtc"
    except RuntimeError as error:
        return f"NVRTC does not load: {str(error).splitlines()[0]}"
    return None


@lru_cache(maxsize=1)
def version() -> str:
    """The version of NVRTC, which the machine code depends on. Raises RuntimeError if NVRTC does not answer."""
    from cuda.bindings import nvrtc

    status, major, minor = nvrtc.nvrtcVersion()
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"NVRTC answers {status}")
    return f"{major}.{minor}"


def compiled(program: CudaProgram, architecture: str) -> Path:
    """The cubin of a program for an architecture such as `sm_90`, compiled once for all processes that share the cache folder."""
    source = program.source()
    key = hashlib.sha256(repr((source, sorted(OPTIONS.items()), version(), architecture)).encode()).hexdigest()
    return cached(f"cuda-{key}", ".cubin", lambda path: path.write_bytes(compile_source(source, architecture)))


def compile_source(source: str, architecture: str, **options) -> bytes:
    """The cubin of a text. `options` of cuda-core's ProgramOptions override OPTIONS."""
    import cuda.core

    chosen = cuda.core.ProgramOptions(arch=architecture, **{**OPTIONS, **options})
    return bytes(cuda.core.Program(source, "c++", chosen).compile("cubin").code)


@lru_cache(maxsize=1024)
def kernel(program: CudaProgram, device: int):
    """The kernel of a program, compiled and loaded for a device of this number."""
    from cuda.core import ObjectCode

    major, minor = torch.cuda.get_device_capability(device)
    cubin = compiled(program, f"sm_{major}{minor}").read_bytes()
    return ObjectCode.from_cubin(cubin).get_kernel(program.kernel)


class TorchStream:
    """torch's current stream of a device, with the protocol by which cuda-core takes foreign streams."""

    def __init__(self, device: int):
        self.address = torch.cuda.current_stream(device).cuda_stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


def launch(work) -> None:
    """Enqueue a `CudaLaunch` of lif/cuda/launch.py on torch's current stream."""
    from cuda.core import Device, LaunchConfig
    from cuda.core import launch as enqueue

    index = work.device.index
    with torch.cuda.device(index):
        Device(index).set_current()  # autograd's threads may not have a context yet
        config = LaunchConfig(grid=work.grid, block=work.block)
        enqueue(TorchStream(index), config, kernel(work.program, index), *work.arguments)
