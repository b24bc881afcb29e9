"""Frameworks in environments of their own, for real, as far as a CPU goes.

SNNBENCH_TEST_ENVIRONMENTS names the folder in which `snnbench env create` made them; of what is not
there nothing is tested. `.ci/run` makes lava-dl's.
"""

import json
import os
import subprocess

import numpy as np
import pytest
from support.command_line import axes
from support.paths import FAULTY
from support.slow import representatives

from snnbench.environments import environment

FOLDER = os.environ.get("SNNBENCH_TEST_ENVIRONMENTS")
WRONG = FAULTY / "lava_dl_wrong.py"
SIZES = axes(neurons=61, time_steps=31, batch=3)
SHORT = ("bf16", "fp16", "amp-bf16")

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(not FOLDER, reason="SNNBENCH_TEST_ENVIRONMENTS names no folder"),
]


@pytest.fixture(autouse=True)
def homes(request, monkeypatch, snnbench):
    monkeypatch.setenv("SNNBENCH_ENVIRONMENTS", FOLDER or "")
    snnbench.environment["SNNBENCH_ENVIRONMENTS"] = FOLDER
    homes = (
        "spikingjelly-cupy",
        "jaxpike",
        "brainpy-state",
        "slax",
        "jaxsnn",
        "matterhorn-pytorch",
    )
    name = next((each for each in homes if each[:7] in request.node.name), "lava-dl")
    if "brainevent" in request.node.name:
        name = "brainpy-state"
    if lacking := environment.named(name).lacking():
        pytest.skip(lacking)


def checked(snnbench, *arguments) -> dict:
    """(variant, neuron, precision) → what `snnbench check` says of it."""
    ended = snnbench("check", *arguments, *SIZES, "--json")
    results = {}
    for result in json.loads(ended.stdout):
        case = result["case"]
        variant = (
            case["framework"]
            if case["construction"] == "default"
            else f"{case['framework']}:{case['construction']}"
        )
        neuron = "native" if "native" in case["neuron"] else case["neuron"]["reset"]
        results[variant, neuron, case["precision"]] = result
    return results


def statuses(results) -> dict:
    return {key: result["status"] for key, result in results.items()}


def test_lava_dl_is_proved_in_every_format_that_holds_its_state(snnbench):
    neurons = ["--neuron", "none", "--neuron", "hard-straight"]
    precisions = [word for precision in ("fp32", *SHORT) for word in ("--precision", precision)]
    results = checked(snnbench, "lava-dl", "lava-dl:quantised", *neurons, *precisions)
    proved = {key for key, result in results.items() if result["status"] == "ok"}
    for variant in ("lava-dl", "lava-dl:quantised"):
        reasons = {
            key[1:]: results[key]["reason"] for key in results.keys() - proved if key[0] == variant
        }
        assert {
            ("none", "fp16"),
            *(("hard-straight", precision) for precision in SHORT),
        } == reasons.keys(), reasons
        assert all(
            "more than fp16 holds" in reasons[neuron, "fp16"]
            for neuron in ("none", "hard-straight")
        )
        assert all(
            "fires without a reset" in reasons["hard-straight", precision]
            for precision in ("bf16", "amp-bf16")
        )
    for neuron in ("none", "hard-straight"):
        last = results["lava-dl", neuron, "fp32"]["proof"]["stages"][-1]
        assert last["wrong_decisions"] == 0 and last["grad_error"] < 1e-5


@pytest.mark.parametrize(
    ("fault", "precision", "words"),
    [
        ("EightBits", "fp32", "small problem, fp32"),
        ("Late", "fp32", "one step late"),
        ("Rounded", "bf16", "the framework gave 1"),
    ],
)
def test_a_wrong_lava_dl_is_rejected(snnbench, fault, precision, words):
    """18: without `pre_hook_fx=None` weights are rounded to 8 bits; 6: blocks answer a step
    late."""
    results = checked(
        snnbench,
        "--adapter",
        f"{WRONG}:{fault}",
        "--neuron",
        "hard-straight",
        "--precision",
        precision,
    )
    ((_, result),) = results.items()
    assert result["status"] == "check_failed" and words in result["reason"], result["reason"]


@pytest.mark.parametrize(
    ("name", "formats"), representatives([("lava-dl", "int64"), ("spikingjelly-cupy", None)], [1])
)
def test_natives_have_the_right_time_axis_in_every_format(snnbench, name, formats):
    grid = f'neurons = [61]\ntime_steps = [31]\nbatch = [3]\ndevice = ["cpu"]\nneuron = ["native"]\nprecision = {["fp32", *SHORT]}'
    ended = snnbench.run(snnbench.config([name], grid=grid))
    assert ended.exit_code == 0, ended.stderr
    given = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "amp-bf16": "float32"}
    assert {row["precision"]: row["state_dtype"] for row in ended.rows} == {
        key: formats or value for key, value in given.items()
    }
    assert all(float(row["firing_rate"]) > 0.02 and row["native"] for row in ended.rows)


def test_spikingjelly_cupy_is_proved_in_every_format(snnbench):
    precisions = [word for precision in ("fp32", *SHORT) for word in ("--precision", precision)]
    results = checked(
        snnbench, "spikingjelly-cupy", "--neuron", "soft", "--neuron", "hard", *precisions
    )
    assert set(statuses(results).values()) == {"ok"} and len(results) == 8


def test_jaxpike_is_proved_in_its_own_loops(snnbench):
    attached = '{ reset = "hard", detach_reset = false }'
    results = checked(
        snnbench, "jaxpike:*", "--neuron", "soft", "--neuron", attached, "--neuron", "none"
    )
    proved = {
        (variant, neuron)
        for (variant, neuron, _), status in statuses(results).items()
        if status == "ok"
    }
    spelled = {
        (variant, neuron)
        for variant in ("jaxpike", "jaxpike:checkpointed")
        for neuron in ("soft", "hard")
    }
    assert proved == spelled | {("jaxpike:parallel", "none")}
    assert set(statuses(results).values()) == {"ok", "unsupported"}


def attached(surrogate: str = "superspike", reset: str = "hard", **more) -> str:
    values = {"reset": f'"{reset}"', "detach_reset": "false", "surrogate": f'"{surrogate}"', **more}
    return "{ " + ", ".join(f"{key} = {value}" for key, value in values.items()) + " }"


SPELLED = {
    "brainpy-state": (
        ["soft", attached(reset="hard-straight"), attached("rectangle", "soft", threshold=0.5)],
        [attached(), "none"],
    ),
    "brainevent": (
        ["soft", "hard", attached(current_decay=0.5)],
        ["{ reset = 'soft', max_spikes = 2 }"],
    ),
    "slax": (["soft", attached(), attached("atan")], ["hard", "none", attached("atan", slope=2.0)]),
    "jaxsnn": (
        [attached(slope=3.0), attached(current_decay=0.5)],
        ["soft", "none", attached("rectangle")],
    ),
    "matterhorn-pytorch": (
        [attached("rectangle", "soft"), attached("triangle")],
        ["soft", attached("sigmoid", "soft", slope=4.0)],
    ),
}
"""By framework the neurons that it is proved with, and some that it refuses."""


@pytest.mark.parametrize("name", SPELLED)
def test_what_a_framework_spells_is_proved_and_the_rest_refused(snnbench, name):
    for neurons, status in zip(SPELLED[name], ("ok", "unsupported"), strict=True):
        ended = snnbench(
            "check",
            name,
            *(word for neuron in neurons for word in ("--neuron", neuron)),
            *SIZES,
            "--json",
        )
        results = [(result["status"], result["reason"]) for result in json.loads(ended.stdout)]
        assert [told for told, _ in results] == [status] * len(neurons), results


def test_slax_is_proved_under_its_unrolled_loop(snnbench):
    assert set(
        statuses(
            checked(snnbench, "slax:unrolled", "--neuron", "soft", *axes(time_steps=7))
        ).values()
    ) == {"ok"}


ALONE = """
import json, sys
import numpy as np
from snnbench.adapters import registry
from snnbench.core.case import NATIVE, Case
from snnbench.workloads import workload_of

adapter = registry.load(registry.FRAMEWORKS[sys.argv[1]])
case = Case(sys.argv[1], workload="lif", bias=False, neuron=NATIVE, time_steps=31, batch=5, neurons=61)
currents = np.load(sys.argv[2])
program = adapter.program(case, workload_of(case).network(case))
program.load({})
result = program.forward(program.put_input(currents))
upstream = np.zeros_like(currents)
upstream[int(sys.argv[3])] = 1
spikes = program.spikes(result)["neuron1"]
gradient = program.gradients(program.backward(result, program.put_upstream(upstream, result))).input[0]
np.savez(sys.argv[4], spikes=spikes, gradient=gradient)
"""


def alone(folder, name, currents, step):
    """Spikes of a native neuron, and the gradient of those at `step` by the first currents."""
    (folder / "alone.py").write_text(ALONE)
    np.save(folder / "currents.npy", currents)
    files = [folder / "currents.npy", str(step), folder / "out.npz"]
    subprocess.run(
        [environment.named(name).python, folder / "alone.py", name, *files], check=True, timeout=120
    )
    return np.load(folder / "out.npz")


def slayer_steps(currents):
    """Whole multiples of 1/4096, a decay of 3687/4096 rounded to zero, to zero at 0.09375, and a
    step late."""
    v, spikes = np.zeros(currents.shape[1:], np.int64), np.zeros(currents.shape)
    for t, x in enumerate(currents[:-1]):
        v = np.trunc(v * (4096 - 410) / 4096).astype(np.int64) + np.trunc(
            4096 * np.trunc(4096 * x) / 4096
        ).astype(np.int64)
        fires = v / 4096 >= 0.09375 + 0.01 / 4096
        spikes[t + 1], v = fires, v * ~fires
    return spikes


def spikingjelly_steps(currents):
    v, spikes = np.zeros(currents.shape[1:]), np.zeros(currents.shape)
    for t, x in enumerate(currents):
        v = v + (x - v) / 2
        spikes[t], v = v >= 1, v * (v < 1)
    return spikes


@pytest.mark.parametrize(
    ("name", "said", "size"),
    [("lava-dl", slayer_steps, 0.06), ("spikingjelly-cupy", spikingjelly_steps, 2.0)],
)
def test_a_native_neuron_fires_as_its_description_says(tmp_path, name, said, size):
    currents = np.random.default_rng(7).normal(0.3 * size, size, (31, 5, 61)).astype(np.float32)
    spikes = alone(tmp_path, name, currents, 0)["spikes"]
    assert 0.02 < spikes.mean() < 0.9
    assert np.mean(spikes != said(currents.astype(np.float64))) < 2e-4


def test_the_surrogate_of_lava_dl_s_native_neuron_is_its_own(tmp_path):
    """A block's own, 0.1/(2τ)·exp(−|v − θ|/τ) with τ = 100·θ, seen one step later."""
    currents = np.zeros((31, 5, 61), np.float32)
    currents[0] = np.linspace(-1, 1, 305).reshape(5, 61)
    gradient = alone(tmp_path, "lava-dl", currents, 1)["gradient"]
    v, tau = np.trunc(4096 * currents[0].astype(np.float64)) / 4096, 9.375
    np.testing.assert_allclose(
        gradient, 0.1 / (2 * tau) * np.exp(-abs(v - 0.09375) / tau), rtol=1e-4
    )
