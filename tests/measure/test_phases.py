"""Every call meets values of its own, and the phases call what they are named for."""

import numpy as np
import pytest
import torch

from snnbench.core.rolling import shifts
from snnbench.measure.phases import Phases, draw_of
from snnbench.proof.problem import rolled

INPUTS = [np.arange(2 * 3 * 5).reshape(2, 3, 5), -np.arange(2 * 3 * 5).reshape(2, 3, 5)]
UPSTREAM = np.arange(2 * 3 * 7).reshape(2, 3, 7)


class Program:
    """Writes down what it is asked; its arrays are NumPy's."""

    def __init__(self):
        self.log, self.parameters = [], 0

    def roll_parameters(self, turn):
        self.parameters = turn

    def roll_input(self, buffer, given, turn):
        moved = np.roll(given, shifts(turn, given.shape), (0, 1, 2))
        if buffer is None:
            return moved
        buffer[:] = torch.as_tensor(moved) if isinstance(buffer, torch.Tensor) else moved
        return buffer

    def release(self):
        self.log.append("release")

    def __getattr__(self, name):
        return lambda *given: self.log.append(name) or given[0]


@pytest.fixture
def program():
    return Program()


@pytest.fixture
def phases(program):
    return Phases(program, INPUTS, UPSTREAM, 7)


@pytest.mark.parametrize("name", ["forward", "backward", "step", "inference"])
def test_no_call_meets_the_input_of_another(phases, name):
    seen = {phases.by_name[name].prepare(index).tobytes() for index in range(12)}
    assert len(seen) >= 8, "sixty are possible here"


@pytest.mark.parametrize("name", ["forward", "backward", "step"])
def test_nor_its_parameters(phases, program, name):
    assert (
        len(
            {
                phases.by_name[name].prepare(index) is not None and program.parameters
                for index in range(12)
            }
        )
        == 12
    )


def test_inference_keeps_its_parameters_from_the_first_call_on(phases, program):
    seen = []
    for seed, index in ((1, 0), (1, 1), (1, 2), (2, 0), (2, 1)):
        phases.seed = seed
        phases.by_name["inference"].prepare(index)
        seen.append(program.parameters)
        assert draw_of(seed, index, "inference").parameters == program.parameters
    assert seen[0] == seen[1] == seen[2] != seen[3] == seen[4]


def test_inputs_are_written_where_the_last_one_was(phases):
    first = phases.by_name["step"].prepare(0)
    assert phases.by_name["step"].prepare(1) is first is not INPUTS[0]


@pytest.mark.parametrize("name", ["backward", "step"])
def test_every_backward_has_an_upstream_gradient_of_its_own_which_its_forward_does_not_know(
    phases, program, name
):
    seen, at_forward = [], []
    program.forward = lambda x: (
        at_forward.append(phases.upstream if phases.upstream is None else phases.upstream.tobytes())
        or x
    )
    for index in range(12):
        phases.by_name[name].prepare(index)
        seen.append(phases.upstream.tobytes())
        assert np.array_equal(phases.upstream, rolled(UPSTREAM, draw_of(7, index, name).upstream))
    assert len(set(seen)) >= 8, "forty-two are possible here"
    assert not at_forward or at_forward[1:] == seen[:-1]


def test_a_draw_gives_the_same_values_again(phases, program):
    x = phases.by_name["step"].prepare(0).copy()
    draw, parameters = draw_of(7, 0, "step"), program.parameters
    phases.by_name["step"].prepare(1)
    assert np.array_equal(phases.put(draw, "step"), x) and program.parameters == parameters


def test_a_phase_is_prepared_by_those_before_it(phases, program):
    before = {
        "backward": ["forward", "wait"],
        "optimizer": ["forward", "backward", "wait"],
        "inference": ["prepare_inference"],
    }
    for name, phase in phases.by_name.items():
        program.log.clear()
        state = phase.prepare(0)
        assert program.log == ["release", *before.get(name, [])]
        phase.call(state)
        assert program.log[-1] == ("optimize" if name == "optimizer" else name)


@pytest.mark.parametrize(
    "other",
    [
        lambda x: x.to(torch.uint8),
        lambda x: x[:, :2],
        lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
        lambda x: x.numpy(),
        lambda x: torch.nn.Parameter(x),
    ],
    ids=["packed", "cut", "transposed", "no tensor", "of another class"],
)
def test_memory_of_a_program_in_which_the_harness_would_work_for_it_is_refused(program, other):
    inputs = [torch.from_numpy(array).float() for array in INPUTS]
    program.fixed_memory = {"x": torch.empty_like(inputs[0])}
    assert (
        Phases(program, inputs, inputs[0], 7).by_name["step"].prepare(0)
        is program.fixed_memory["x"]
    )
    program.fixed_memory = {"x": other(inputs[0])}
    with pytest.raises(TypeError, match="must be like what put_input gave"):
        Phases(program, inputs, inputs[0], 7).by_name["step"].prepare(0)


def test_memory_of_a_program_is_read_without_its_knowledge(program):
    class Listens(dict):
        def get(self, *_):
            raise AssertionError("the program was called between writing and the clock")

    program.fixed_memory = Listens(x=INPUTS[0].copy())
    assert (
        Phases(program, INPUTS, UPSTREAM, 7).by_name["step"].prepare(0)
        is not program.fixed_memory["x"]
    )


@pytest.mark.parametrize("shape", [(5, 7), (37, 3, 97), (1, 1), (4,)])
def test_shifts_are_the_digits_of_a_turn(shape):
    size = int(np.prod(shape))
    assert len({shifts(turn, shape) for turn in range(size)}) == size
    assert shifts(0, shape) == shifts(size, shape) == (0,) * len(shape)
    assert all(
        0 <= shift < length for shift, length in zip(shifts(2**61 + 3, shape), shape, strict=True)
    )


def test_a_draw_is_rolled_by_the_judge_as_by_a_program(program):
    assert np.array_equal(rolled(INPUTS[0], 17), program.roll_input(None, INPUTS[0], 17))
