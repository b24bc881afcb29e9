"""Compiling CUDA kernels with NVRTC, keeping what came out, and launching it on torch's stream.

All of it goes through cuda-core, which, like NVRTC, is imported when it is needed: the package works without them.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch

from .cache import cached
from .source import inlined

OPTIONS = {"std": "c++17", "fma": False}
"""Contracted products and sums would round differently, and spikes would not be those of the reference."""


@dataclass(frozen=True)
class Program:
    """A CUDA file, the kernel of the same name in it, and the macros that it is compiled with."""

    path: Path
    macros: tuple[tuple[str, int | str], ...]

    @property
    def kernel(self) -> str:
        return self.path.stem

    def source(self) -> str:
        """All of it in one text: what is compiled, and what its compiled form is kept under."""
        return "".join(f"#define {name} {value}\n" for name, value in self.macros) + inlined(self.path)


@lru_cache(maxsize=1)
def unavailable() -> str | None:
    """Why nothing can be compiled here, None if it can."""
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
    """NVRTC's, which decides what comes out as much as the source does."""
    from cuda.bindings import nvrtc

    status, major, minor = nvrtc.nvrtcVersion()
    if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise RuntimeError(f"NVRTC answers {status}")
    return f"{major}.{minor}"


def compiled(program: Program, architecture: str) -> Path:
    """The cubin of a program for `sm_90` and the like; compiled once for all processes that share the cache folder."""
    source = program.source()
    key = hashlib.sha256(repr((source, sorted(OPTIONS.items()), version(), architecture)).encode()).hexdigest()
    return cached(f"cuda-{key}", ".cubin", lambda path: path.write_bytes(compile_source(source, architecture)))


def compile_source(source: str, architecture: str, **options) -> bytes:
    """`options` override OPTIONS."""
    import cuda.core

    chosen = cuda.core.ProgramOptions(arch=architecture, **{**OPTIONS, **options})
    return bytes(cuda.core.Program(source, "c++", chosen).compile("cubin").code)


@lru_cache(maxsize=1024)
def kernel(program: Program, device: int):
    """The kernel, loaded. Untested: no CUDA device has run this yet."""
    from cuda.core import ObjectCode

    major, minor = torch.cuda.get_device_capability(device)
    cubin = compiled(program, f"sm_{major}{minor}").read_bytes()
    return ObjectCode.from_cubin(cubin).get_kernel(program.kernel)


class TorchStream:
    """torch's current stream of a device, as cuda-core takes foreign streams."""

    def __init__(self, device: int):
        self.address = torch.cuda.current_stream(device).cuda_stream

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.address


def launch(work) -> None:
    """Enqueue a `Launch` of cuda.py. Untested: no CUDA device has run this yet."""
    from cuda.core import Device, LaunchConfig
    from cuda.core import launch as enqueue

    index = work.device.index
    with torch.cuda.device(index):
        Device(index).set_current()  # autograd's threads may not have a context yet
        config = LaunchConfig(grid=work.grid, block=work.block)
        enqueue(TorchStream(index), config, kernel(work.program, index), *work.arguments)
