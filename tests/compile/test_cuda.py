"""The machine code that NVRTC and nvcc make of the CUDA kernels for an H100 or H200, read from
its disassembly."""

import math
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support import sass
from support.cuda_checks import channel, forward_call
from support.slow import representatives

from snnbench.kernels.build import nvrtc
from snnbench.kernels.lif.contract import CHECKPOINT_STEPS, Backward
from snnbench.kernels.lif.cuda import launch as cuda_launch
from snnbench.kernels.spec import RESETS, SURROGATES, NeuronSpec

ARCHITECTURE = "sm_90"

needs_nvrtc = pytest.mark.skipif(nvrtc.unavailable() is not None, reason=f"{nvrtc.unavailable()}")
needs_nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")
needs_disassembler = pytest.mark.skipif(
    sass.tool("cuobjdump") is None, reason="needs cuobjdump, from Triton or the CUDA toolkit"
)


def forward_program(
    count: int, dtype=torch.float32, spec=None, steps: int = 100, **options
) -> nvrtc.CudaProgram:
    x = torch.empty(steps, 16, count // 16, dtype=dtype)
    return cuda_launch.prepare(
        forward_call(spec or NeuronSpec(), x, spikes_dtype=dtype, **options)
    ).program


def backward_program(
    count: int, dtype=torch.float32, spec=None, everything=False, parts=False
) -> nvrtc.CudaProgram:
    x = torch.empty(100, 16, count // 16, dtype=dtype)
    over = channel(0, x, 1) if everything else None
    inner = torch.empty(16, count // 16)
    call = Backward(
        spec=spec or NeuronSpec(),
        currents=x,
        scale=over,
        shift=over,
        checkpoints=torch.empty(-(-100 // CHECKPOINT_STEPS), 16, count // 16),
        grad_spikes=torch.empty_like(x),
        grad_trace=torch.empty_like(x) if everything else None,
        grad_final=inner if everything else None,
        center=over,
        mix_error=over,
        mix_current=over,
        mix_constant=over,
        grad_currents=torch.empty_like(x),
        grad_state=inner if everything else None,
        sum_error=inner,
        sum_by_current=inner if everything else None,
        grad_parts=x.new_empty((3, *x.shape), dtype=torch.bfloat16) if parts else None,
    )
    return cuda_launch.prepare(call).program


FEW, MANY = 8192, 65536
"""Sequences at 16 x 512 and 16 x 4096 neurons."""

VARIANTS = {
    # name: (program, loads in flight, registers at most, bits of the widest load, instructions for
    # each element at most)
    "forward float32 few": (lambda: forward_program(FEW), 64, 176, 32, 14.5),
    "forward float32 many": (lambda: forward_program(MANY), 16, 168, 128, 11),
    "forward bfloat16 many": (lambda: forward_program(MANY, torch.bfloat16), 32, 168, 64, 11.5),
    "forward bits": (lambda: forward_program(MANY, bits=True), 16, 168, 128, 11),
    "backward float32 few": (lambda: backward_program(FEW), 64, 152, 32, 23.5),
    "backward float32 many": (lambda: backward_program(MANY), 40, 96, 32, 23.5),
    "backward bfloat16 many": (lambda: backward_program(MANY, torch.bfloat16), 40, 144, 32, 24.5),
    "backward float32 few, split": (lambda: backward_program(FEW, parts=True), 64, 152, 32, 47.5),
    "backward float32 many, split": (lambda: backward_program(MANY, parts=True), 30, 128, 32, 47.5),
    "backward float32 few, split, hard": (
        lambda: backward_program(FEW, spec=NeuronSpec("hard"), parts=True),
        64,
        176,
        32,
        47.5,
    ),
    "backward float32 many, split, hard": (
        lambda: backward_program(MANY, spec=NeuronSpec("hard"), parts=True),
        40,
        144,
        32,
        47.5,
    ),
    "backward float16 everything": (
        lambda: backward_program(MANY, torch.float16, everything=True),
        72,
        176,
        32,
        39,
    ),
}


def variant_of(name: str) -> tuple[nvrtc.CudaProgram, tuple[float, ...]]:
    """A variant's program and the limits of `assert_fast`."""
    make, *limits, per_element = VARIANTS[name]
    program = make()
    return program, (*limits, per_element * elements(program))


def read(cubin: bytes, folder: Path) -> tuple[list[sass.Instruction], sass.Usage]:
    path = folder / "kernel.cubin"
    path.write_bytes(cubin)
    (usage,) = sass.usages(sass.resource_usage(path)).values()
    return sass.parse(sass.disassemble(path)), usage


def elements(program: nvrtc.CudaProgram) -> int:
    """Elements that a thread computes in one turn of the time loop."""
    macros = dict(program.macros)
    return macros.get("LIF_DEPTH", CHECKPOINT_STEPS) * macros["LIF_WIDTH"]


def assert_fast(
    cubin: bytes, folder: Path, in_flight=8, registers=255, widest=0, instructions=math.inf
) -> None:
    """Loads run ahead, nothing is spilled, products and sums are rounded one by one, and a turn
    of the time loop takes at most so many `instructions`."""
    code, usage = read(cubin, folder)
    loop = sass.time_loop(code)
    assert sass.loads_in_flight(loop) >= in_flight
    assert not sass.uses_local_memory(code) and usage.local == usage.stack == 0
    assert usage.registers <= registers
    assert sass.widest_load(loop) >= widest
    assert len(loop) <= instructions, "more instructions"
    assert "FFMA" not in {instruction.opcode for instruction in loop}, "contracted"
    assert "CALL" not in {instruction.opcode for instruction in loop}, (
        "slow paths keep steps from overlapping"
    )


@needs_nvrtc
@needs_disassembler
@pytest.mark.parametrize("variant", representatives(VARIANTS, quick=(1, 8)))
def test_what_nvrtc_makes(variant, tmp_path):
    program, limits = variant_of(variant)
    assert_fast(nvrtc.compile_source(program.source(), ARCHITECTURE), tmp_path, *limits)


@needs_nvcc
@needs_disassembler
@pytest.mark.parametrize(
    "variant", representatives(["forward float32 many", "backward float32 many"], quick=(0,))
)
def test_what_nvcc_makes(variant, tmp_path):
    program, limits = variant_of(variant)
    source, cubin = tmp_path / "source.cu", tmp_path / "compiled.cubin"
    source.write_text(program.source())
    subprocess.run(
        [
            "nvcc",
            "-std=c++17",
            "--fmad=false",
            "-cubin",
            f"-arch={ARCHITECTURE}",
            source,
            "-o",
            cubin,
        ],
        check=True,
    )
    assert_fast(cubin.read_bytes(), tmp_path, *limits)


@needs_nvrtc
@needs_disassembler
@pytest.mark.parametrize(
    "surrogate", representatives(SURROGATES, quick=(2,))
)  # sigmoid: an exponential and a division
def test_every_surrogate_is_straight_code(surrogate, tmp_path):
    reset = RESETS[SURROGATES.index(surrogate) % len(RESETS)]
    program = backward_program(FEW, spec=NeuronSpec(reset, surrogate=surrogate))
    short = nvrtc.CudaProgram(
        program.path, (*(m for m in program.macros if m[0] != "LIF_CHUNK"), ("LIF_CHUNK", 4))
    )
    assert_fast(nvrtc.compile_source(short.source(), ARCHITECTURE), tmp_path)


@needs_nvrtc
@needs_disassembler
def test_one_step_at_a_time_is_noticed(tmp_path, monkeypatch):
    """A planted fault: a loop of single steps, as in most fused kernels: loads wait for the
    stores."""
    monkeypatch.setattr(cuda_launch, "make_plan", cuda_launch.make_plan.__wrapped__)
    monkeypatch.setattr(cuda_launch, "forward_depth", lambda *_: 1)
    with pytest.raises(AssertionError, match="loads_in_flight"):
        assert_fast(nvrtc.compile_source(forward_program(MANY).source(), ARCHITECTURE), tmp_path)


@needs_nvrtc
@needs_disassembler
def test_strides_of_time_that_are_loaded_are_noticed(tmp_path):
    """A planted fault: a stride that the compiler does not know, so that every address is
    computed in 64 bits."""
    program, limits = variant_of("forward float32 few")
    known = dict(program.macros)["currents_step"]
    source = program.source().replace(
        f"#define currents_step {known}", "#define currents_step (size_last + groups)"
    )
    with pytest.raises(AssertionError, match=r"more instructions|registers"):
        assert_fast(nvrtc.compile_source(source, ARCHITECTURE), tmp_path, *limits)


@needs_nvrtc
@needs_disassembler
def test_contraction_is_noticed(tmp_path):
    """A planted fault: contraction, which gives other spikes than the reference."""
    with pytest.raises(AssertionError, match="contracted"):
        assert_fast(
            nvrtc.compile_source(forward_program(MANY).source(), ARCHITECTURE, fma=True), tmp_path
        )


@needs_nvrtc
def test_errors_of_the_compiler_are_raised():
    with pytest.raises(Exception, match="no_such_type"):
        nvrtc.compile_source("no_such_type x;", ARCHITECTURE)


def test_compiled_once(tmp_path, monkeypatch):
    monkeypatch.setenv("SNNBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(nvrtc, "version", lambda: "13.0")
    made = []
    monkeypatch.setattr(
        nvrtc,
        "compile_source",
        lambda source, architecture: made.append((source, architecture)) or b"code",
    )
    one, other = forward_program(FEW), forward_program(FEW, torch.bfloat16)
    assert nvrtc.compiled(one, "sm_90") == nvrtc.compiled(one, "sm_90")
    assert len(made) == 1
    paths = {
        nvrtc.compiled(one, "sm_90"),
        nvrtc.compiled(other, "sm_90"),
        nvrtc.compiled(one, "sm_80"),
    }
    monkeypatch.setattr(nvrtc, "version", lambda: "13.5")
    paths.add(nvrtc.compiled(one, "sm_90"))
    monkeypatch.setattr(nvrtc, "OPTIONS", {**nvrtc.OPTIONS, "fma": True})
    paths.add(nvrtc.compiled(one, "sm_90"))
    assert len(paths) == len(made) == 5
    assert all(path.read_bytes() == b"code" for path in paths)


def test_reasons_why_it_cannot_run(monkeypatch):
    gpu = torch.device("cuda")
    assert "CUDA device" in cuda_launch.unavailable(torch.device("cpu"), torch.float32)
    assert "float32" in cuda_launch.unavailable(gpu, torch.float64)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert "no CUDA device" in cuda_launch.unavailable(gpu, torch.float32)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert "8.0" in cuda_launch.unavailable(gpu, torch.float32)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    nvrtc.unavailable.cache_clear()
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    assert "cuda.core is not installed" in cuda_launch.unavailable(gpu, torch.float32)
    nvrtc.unavailable.cache_clear()
