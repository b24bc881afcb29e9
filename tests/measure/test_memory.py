"""Known bytes that an adapter takes in a phase read back within 5 %."""

import pytest

MIB = 1 << 20
HEAVY = {"forward": 256 * MIB, "backward": 160 * MIB, "step": 224 * MIB, "inference": 192 * MIB}
HEAVY_TORCH = {"forward": 128 * MIB, "backward": 160 * MIB, "step": 160 * MIB, "inference": 128 * MIB}
ADAPTERS = ["numpy_network.py:NumpyNetwork", "heavy.py:Heavy", "heavy.py:Keeping", "heavy_torch.py:HeavyTorch"]


@pytest.fixture(scope="module")
def weighed(snnbench_module):
    config = snnbench_module.config(["numpy", "heavy", "keeping", "heavy-torch", "torch"], ADAPTERS)
    ended = snnbench_module.run(config)
    assert ended.exit_code == 0, ended.stderr
    return ended


@pytest.mark.parametrize("phase", HEAVY)
@pytest.mark.parametrize("figure", ["peak_bytes", "extra_bytes"])
@pytest.mark.parametrize(("heavy", "light", "bytes"), [("heavy", "numpy", HEAVY), ("heavy-torch", "torch", HEAVY_TORCH)])
def test_known_bytes_read_back_within_five_percent(weighed, heavy, light, bytes, phase, figure):
    taken = weighed.record(heavy)["memory"][phase][figure] - weighed.record(light)["memory"][phase][figure]
    assert taken == pytest.approx(bytes[phase], rel=0.05)


def test_what_forward_keeps_for_backward_counts_in_both(weighed):
    keeping, light = (weighed.record(name)["memory"] for name in ("keeping", "numpy"))
    for phase in ("forward", "backward", "step"):
        assert keeping[phase]["extra_bytes"] - light[phase]["extra_bytes"] == pytest.approx(HEAVY["forward"], rel=0.05), phase


def test_the_total_holds_arguments_and_results(weighed):
    size, border = 97, 37 * 3 * 97 * 4
    weights = (size * size + size) * 4
    figures = weighed.record("torch")["memory"]
    assert figures["inference"]["peak_bytes"] >= weights + border
    assert figures["forward"]["peak_bytes"] - figures["forward"]["extra_bytes"] == weights + 2 * border
    assert figures["step"]["peak_bytes"] - figures["step"]["extra_bytes"] == 2 * weights + 4 * border


def test_a_row_shows_the_largest_phase_and_what_the_figure_means(weighed):
    row = next(row for row in weighed.rows if row["framework"] == "heavy")
    figures = weighed.record("heavy")["memory"]
    assert int(row["peak_memory_bytes"]) == figures["forward"]["peak_bytes"] == max(f["peak_bytes"] for f in figures.values())
    assert int(row["step_extra_memory_bytes"]) == figures["step"]["extra_bytes"]
    assert row["memory_meaning"] == "host resident"
    assert int(row["host_peak_bytes"]) > HEAVY["forward"]
    assert row["reserved_memory_bytes"] == "", "unknown on a CPU, not 0"


@pytest.mark.frameworks
def test_what_jax_frees_in_its_own_threads_does_not_hide_what_a_call_takes(snnbench):
    """Only the potentials are kept for backward, and they are as large as the spikes; a step keeps them too."""
    size = 500 * 16 * 1024 * 4
    grid = 'neurons = [1024]\ntime_steps = [500]\nbatch = [16]\ndevice = ["cpu"]\nworkload = ["lif"]\n'
    ended = snnbench.run(snnbench.config(["spyx"], grid=grid))
    assert ended.exit_code == 0, ended.stderr
    figures = ended.record("spyx")["memory"]
    assert figures["forward"]["extra_bytes"] == pytest.approx(size, rel=0.1)
    assert figures["step"]["extra_bytes"] == pytest.approx(size, rel=0.1)
    assert figures["inference"]["extra_bytes"] < 0.1 * size


def test_gradients_that_an_earlier_call_left_are_not_taken_off(snnbench):
    """Of wide layers and few steps they are most of what is in use."""
    size = 1500
    grid = f'neurons = [{size}]\ntime_steps = [3]\nbatch = [1]\ndevice = ["cpu"]\n'
    ended = snnbench.run(snnbench.config(["torch"], grid=grid))
    weights, border = (size * size + size) * 4, 3 * size * 4
    figures = ended.record("torch")["memory"]["step"]
    assert figures["peak_bytes"] - figures["extra_bytes"] == 2 * weights + 4 * border
