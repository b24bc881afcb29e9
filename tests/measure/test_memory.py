"""Known bytes that an adapter takes in a phase, or keeps between calls, read back within 5 %."""

import ctypes
import mmap
import tomllib
from itertools import pairwise

import pytest
from support.command_line import ALL_PHASES
from support.paths import WRONG
from support.slow import representatives, without

from snnbench.adapters import registry
from snnbench.measure import memory
from snnbench.measure.memory import RetainedMemory, freed_memory_returned
from snnbench.measure.phases import Phases

MIB = 1 << 20
HEAVY = {"forward": 128 * MIB, "backward": 80 * MIB, "step": 112 * MIB, "inference": 96 * MIB}
HEAVY_TORCH = {
    "forward": 128 * MIB,
    "backward": 160 * MIB,
    "step": 160 * MIB,
    "inference": 128 * MIB,
}
BUFFER = 64 * MIB
FRAMEWORKS = ("torch", "jax")
NAMES = {
    "numpy": "numpy_network.py:NumpyNetwork",
    "heavy": "heavy.py:Heavy",
    "keeping": "heavy.py:Keeping",
    "heavy-torch": "heavy_torch.py:HeavyTorch",
    "hoarding": "hoarding.py:Hoarding",
    "hoarding-child": "hoarding.py:HoardingChild",
    "hoarding-late": "hoarding.py:HoardingLate",
    "leaking": "hoarding.py:Leaking",
    "hoarding-torch": "hoarding_torch.py:HoardingTorch",
    "hoarding-jax": "hoarding_jax.py:HoardingJax",
}

WEIGHED = tomllib.loads((WRONG / "faults.toml").read_text())["weighed"]


def run_of(snnbench, names, *frameworks):
    adapters = [NAMES[name] for name in names]
    config = snnbench.config([*names, *frameworks], adapters, measure=f"{ALL_PHASES}timed = false")
    ended = snnbench.run(config, out=names[0])
    assert ended.exit_code == 0, ended.stderr
    return ended


@pytest.fixture(scope="module")
def weighed(snnbench_module):
    """A run of adapters in NumPy."""
    return run_of(snnbench_module, [name for name in NAMES if not name.endswith(FRAMEWORKS)])


@pytest.fixture(scope="module")
def weighed_frameworks(snnbench_module):
    """A run of torch, of JAX, and of adapters on them."""
    names = [name for name in NAMES if name.endswith(FRAMEWORKS)]
    return run_of(snnbench_module, names, *FRAMEWORKS)


@pytest.mark.parametrize("fault", WEIGHED)
def test_calls_that_compute_less_while_they_are_weighed_are_refused(snnbench, fault):
    reference = f"{WRONG / fault}"
    name = registry.load(reference).name
    config = snnbench.config([name], [reference], measure=f"{ALL_PHASES}timed = false")
    ended = snnbench.run(config)
    record = ended.record(name)
    assert record["status"] == "check_failed"
    assert WEIGHED[fault] in record["reason"]
    assert "inference while" not in record["reason"]


def run_with(request, name):
    on_framework = name.endswith(FRAMEWORKS)
    return request.getfixturevalue("weighed_frameworks" if on_framework else "weighed")


@pytest.mark.parametrize("phase", HEAVY)
@pytest.mark.parametrize("figure", ["peak_bytes", "extra_bytes"])
@pytest.mark.parametrize(
    ("heavy", "light", "bytes"),
    without({"heavy-torch"}, [("heavy", "numpy", HEAVY), ("heavy-torch", "torch", HEAVY_TORCH)]),
)
def test_known_bytes_read_back_within_five_percent(request, heavy, light, bytes, phase, figure):
    weighed = run_with(request, heavy)
    taken = (
        weighed.record(heavy)["memory"][phase][figure]
        - weighed.record(light)["memory"][phase][figure]
    )
    assert taken == pytest.approx(bytes[phase], rel=0.05)


def test_what_forward_keeps_for_backward_counts_in_both(weighed):
    keeping, light = (weighed.record(name)["memory"] for name in ("keeping", "numpy"))
    for phase in ("forward", "backward", "step"):
        assert keeping[phase]["extra_bytes"] - light[phase]["extra_bytes"] == pytest.approx(
            HEAVY["forward"], rel=0.05
        ), phase


@pytest.mark.frameworks
@pytest.mark.parametrize("phase", HEAVY)
@pytest.mark.parametrize(
    ("hoarding", "light"),
    without(
        {"hoarding-torch", "hoarding-jax"},
        [("hoarding", "numpy"), ("hoarding-torch", "torch"), ("hoarding-jax", "jax")],
    ),
)
def test_a_buffer_that_stays_between_calls_is_weighed_and_is_no_part_of_a_call(
    request, hoarding, light, phase
):
    weighed = run_with(request, hoarding)
    with_buffer, without = (weighed.record(name)["memory"][phase] for name in (hoarding, light))
    assert with_buffer["kept_bytes"] - without["kept_bytes"] == pytest.approx(BUFFER, rel=0.05)
    assert with_buffer["extra_bytes"] == pytest.approx(without["extra_bytes"], abs=0.05 * BUFFER)


def test_a_buffer_in_a_child_process_is_weighed(weighed):
    """With what the child keeps of its parent's pages, because its parent has written them anew."""
    for phase, figures in weighed.record("hoarding-child")["memory"].items():
        assert BUFFER < figures["kept_bytes"] < BUFFER + 24 * MIB, phase
        assert figures["extra_bytes"] < 0.05 * BUFFER, phase


@pytest.mark.parametrize("phase", HEAVY)
@pytest.mark.parametrize(
    ("name", "most"),
    without(FRAMEWORKS, [("numpy", 1), ("heavy", 1), ("keeping", 1), ("torch", 2), ("jax", 20)]),
)
def test_what_keeps_nothing_is_shown_to_keep_little(request, name, most, phase):
    assert run_with(request, name).record(name)["memory"][phase]["kept_bytes"] < most * MIB


def test_what_is_kept_shows_from_the_phase_on_that_keeps_it(weighed):
    *before, inference = (
        figures["kept_bytes"] for figures in weighed.record("hoarding-late")["memory"].values()
    )
    assert max(before) < MIB
    assert inference == pytest.approx(BUFFER, rel=0.05)


def test_a_program_that_keeps_something_of_every_call_is_shown_to_grow(weighed):
    """A phase is called twice at least while it is weighed; every call that holds a forward
    keeps a mebibyte."""
    kept = [figures["kept_bytes"] for figures in weighed.record("leaking")["memory"].values()]
    assert all(later - earlier > 1.95 * MIB for earlier, later in pairwise(kept))


@pytest.mark.slow
@pytest.mark.parametrize(("neurons", "most"), representatives([(256, 1.5), (1024, 1.25)], [0]))
def test_a_loop_weighs_what_is_alive(snnbench, neurons, most):
    """Potentials for backward, and the spikes of every step until they are stacked: blocks of 16
    or 64 KiB and their pages. In a heap with gaps more than twice as much is resident. The
    kernel counts pages in steps: a few may be missing."""
    grid = f'neurons = [{neurons}]\ntime_steps = [50]\nbatch = [16]\ndevice = ["cpu"]\nworkload = ["lif"]\n'
    ended = snnbench.run(snnbench.config(["torch"], grid=grid, measure=ALL_PHASES))
    border, figures = 50 * 16 * neurons * 4, ended.record("torch")["memory"]
    assert 0.9 <= figures["forward"]["extra_bytes"] / (2 * border) < most
    assert 0.9 <= figures["inference"]["extra_bytes"] / border < most


@pytest.fixture
def heap():
    """glibc's malloc as workers have it, and afterwards as it was."""
    if not hasattr(memory.LIBC, "gnu_get_libc_version"):
        pytest.skip("the heap of another C library")
    yield ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(("malloc", memory.LIBC))
    memory.LIBC.mallopt(memory.M_MMAP_MAX, memory.GLIBC_MAPPINGS)


def test_blocks_are_mapped_once_the_gaps_of_the_heap_are_filled(heap):
    def is_mapped():
        address = heap(memory.MAPPED_BYTES)
        try:
            return memory._is_mapped(address)
        finally:
            memory.LIBC.free(ctypes.c_void_p(address))

    with freed_memory_returned() as fill_gaps:
        small = [heap(memory.MAPPED_BYTES // 2) for _ in range(97)]
        heap(16)  # what is freed below it stays in the heap
        for address in small:
            memory.LIBC.free(ctypes.c_void_p(address))
        assert not is_mapped()
        fill_gaps()
        assert is_mapped()
    assert not is_mapped()


class Probe:
    """Bytes in use are what a list says."""

    def __init__(self):
        self.held = [100]

    def in_use(self):
        return sum(self.held)


def test_what_the_harness_takes_meanwhile_is_left_out():
    probe = Probe()
    retained = RetainedMemory(probe)
    probe.held.append(7)
    with retained.excluding():
        probe.held.append(30)
    assert retained.bytes() == 7
    probe.held[:] = [90]
    assert retained.bytes() == 0, "less than before the first call is nothing kept"


def test_phases_let_go_of_their_input():
    class Program:
        def release(self):
            self.released = True

        def __getattr__(self, name):
            return lambda *given: given[-1]

    phases = Phases(Program(), [1, 2], None, 7)
    phases.by_name["forward"].prepare(0)
    assert phases.buffer is not None
    phases.forget()
    assert phases.buffer is None and phases.program.released


@pytest.mark.slow
def test_the_total_holds_arguments_and_results(weighed_frameworks):
    size, border = 97, 37 * 3 * 97 * 4
    weights = (size * size + size) * 4
    figures = weighed_frameworks.record("torch")["memory"]
    assert figures["inference"]["peak_bytes"] >= weights + border
    assert (
        figures["forward"]["peak_bytes"] - figures["forward"]["extra_bytes"] == weights + 2 * border
    )
    assert (
        figures["step"]["peak_bytes"] - figures["step"]["extra_bytes"] == 2 * weights + 4 * border
    )


def test_a_row_shows_the_largest_phase_and_what_the_figure_means(weighed):
    row = next(row for row in weighed.rows if row["framework"] == "heavy")
    figures = weighed.record("heavy")["memory"]
    assert (
        int(row["peak_memory_bytes"])
        == figures["forward"]["peak_bytes"]
        == max(f["peak_bytes"] for f in figures.values())
    )
    assert int(row["step_extra_memory_bytes"]) == figures["step"]["extra_bytes"]
    assert row["memory_meaning"] == "host resident"
    assert int(row["host_peak_bytes"]) > HEAVY["forward"]
    assert row["reserved_memory_bytes"] == "", "unknown on a CPU, not 0"


@pytest.mark.frameworks
@pytest.mark.slow
def test_what_jax_frees_in_its_own_threads_does_not_hide_what_a_call_takes(snnbench):
    """Only the potentials are kept for backward, and they are as large as the spikes; a step
    keeps them too."""
    size = 500 * 16 * 1024 * 4
    grid = (
        'neurons = [1024]\ntime_steps = [500]\nbatch = [16]\ndevice = ["cpu"]\nworkload = ["lif"]\n'
    )
    ended = snnbench.run(snnbench.config(["spyx"], grid=grid, measure=ALL_PHASES))
    assert ended.exit_code == 0, ended.stderr
    figures = ended.record("spyx")["memory"]
    assert figures["forward"]["extra_bytes"] == pytest.approx(size, rel=0.1)
    assert figures["step"]["extra_bytes"] == pytest.approx(size, rel=0.1)
    assert figures["inference"]["extra_bytes"] < 0.1 * size


@pytest.mark.slow
@pytest.mark.parametrize("loss", [None, "spike-count"])
def test_the_total_of_a_step_is_its_arguments_and_results(loss, snnbench):
    """Of wide layers and few steps most of it are gradients that an earlier call left. A loss gets
    one label of 8 bytes in place of the output's upstream gradient."""
    size = 1500
    grid = f'neurons = [{size}]\ntime_steps = [3]\nbatch = [1]\ndevice = ["cpu"]\n'
    if loss:
        grid += f'loss = ["{loss}"]\n'
    ended = snnbench.run(snnbench.config(["torch"], grid=grid))
    weights, border = (size * size + size) * 4, 3 * size * 4
    upstream = 8 if loss else border
    figures = ended.record("torch")["memory"]["step"]
    assert figures["peak_bytes"] - figures["extra_bytes"] == 2 * weights + 3 * border + upstream


class Frees:
    """A program of which `prepare` gives memory back: pages of a file, as the kernel takes them
    back at any time, or a block that a runtime's thread frees late."""

    def __init__(self, held: mmap.mmap):
        self.held = held

    def prepare(self, number: int) -> None:
        if number:
            self.held.madvise(mmap.MADV_DONTNEED)

    def call(self, state: None) -> bytearray:
        return bytearray(b"1") * BUFFER

    def wait(self, result: bytearray) -> None: ...

    def release(self) -> None:
        self.held[:]  # every page is resident

    def argument_bytes(self) -> int:
        return 4096

    def result_bytes(self, result: bytearray) -> int:
        return len(result)


@pytest.mark.parametrize("of_a_file", [True, False])
def test_memory_that_leaves_before_a_call_is_not_taken_off_its_figure(tmp_path, of_a_file):
    path = tmp_path / "pages"
    path.write_bytes(b"1" * BUFFER)
    with path.open("r+b") as file:
        held = mmap.mmap(file.fileno(), BUFFER) if of_a_file else mmap.mmap(-1, BUFFER)
        frees = Frees(held)
        figures = memory.weigh(frees, frees, memory.host_memory_probe(), 0)
        held.close()
    assert figures["peak_bytes"] == pytest.approx(BUFFER, rel=0.05)
    assert figures["extra_bytes"] < 0.05 * BUFFER


def test_shared_pages_are_kept_memory_and_part_of_the_peak():
    """As those of a tensor after `share_memory_`."""
    probe = memory.host_memory_probe()
    probe.reset()
    retained = RetainedMemory(probe)
    with mmap.mmap(-1, BUFFER) as shared:
        shared.write(b"1" * BUFFER)
        assert retained.bytes() == pytest.approx(BUFFER, rel=0.05)
        before, peak, _ = probe.peak()
        assert peak - before >= BUFFER
    assert retained.bytes() < 0.05 * BUFFER
