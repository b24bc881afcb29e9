"""Pitfalls 2 to 8: constants, resets and states that frameworks understand in another way than
their names say.

Ways to measure another neuron, or none, that cost people hours; each by its number, with what keeps
us out of it. 11, a package that runs pip when imported, is kept out where workers start: see
test_sandbox.py. What concerns frameworks in environments of their own (5, 6, 7, 8 and 18 of
lava-dl) is proved there: see test_homes.py.
"""

import numpy as np
import pytest
from support.expected import adapter_of
from support.proofs import proof_of, refusal_of
from support.ready import (
    ABOVE,
    BELOW,
    CURRENTS,
    JAX,
    READY,
    THRICE,
    TORCH,
    TWICE,
    answers,
    changed,
    every_variant,
    program_of,
)

from snnbench.core.case import Case
from snnbench.kernels.spec import NEURONS, NeuronSpec
from snnbench.runner.check import with_neuron

pytestmark = pytest.mark.frameworks


@pytest.mark.parametrize("name", ["spikingjelly", "norse", "snntorch"])
def test_2_the_same_spikes_with_another_gradient_are_rejected(name):
    """A reset through which the gradient passes, and one through which it does not, give the
    same spikes."""
    right = adapter_of(name)

    class Attached(type(right)):
        def lif(self, spec, features, construction):
            reset = "soft" if name == "snntorch" else "hard"
            return super().lif(
                NeuronSpec(reset, detach_reset=reset == "soft"), features, construction
            )

    spec = NEURONS["soft" if name == "snntorch" else "hard"]
    case = Case(name, neuron=spec, neurons=61, time_steps=31, batch=3)
    assert proof_of(right, case).passed
    proof = proof_of(Attached(), case)
    (stage,) = proof.stages
    assert not proof.passed and stage.verdict.wrong_decisions == 0 and proof.has_other_reset
    fields = f'reset = "{spec.reset}", detach_reset = {str(name == "snntorch").lower()}'
    assert with_neuron(proof.reason, case).endswith(f"--neuron '{{ {fields} }}'")


@pytest.mark.parametrize(
    "name", [name for name in READY if not name.startswith("fused") and name not in JAX]
)
def test_3_decay_is_the_factor_per_step_whatever_a_framework_calls_it(name):
    """β, 1 − 1/τ, exp(−1/τ) and exp(−(1 − β)) all go by these names. Told apart by another decay
    than the usual."""
    case = changed(name, neurons=61, time_steps=31, batch=3)
    case = Case(
        **{
            **vars(case),
            "neuron": NeuronSpec(case.neuron.reset, case.neuron.detach_reset, decay=0.875),
        }
    )
    assert refusal_of(adapter_of(case.framework), case) is None
    proof = proof_of(adapter_of(case.framework), case)
    assert proof.passed, proof.reason


@every_variant
def test_4_currents_arrive_as_they_are(name):
    """Sinabs, SpikingJelly and Norse scale their input by 1 − β unless told not to, or always;
    Rockpool's synapse decays it."""
    spikes = answers(name)[0]
    assert spikes[:, BELOW].tolist() == [0, 0, 0]
    assert spikes[0, ABOVE] == 1


@every_variant
def test_5_a_neuron_fires_once_a_step(name):
    """Sinabs and Rockpool fire ⌊v/θ⌋ times unless told otherwise."""
    assert answers(name)[0][0, THRICE] == 1


@every_variant
def test_6_a_spike_comes_in_the_step_of_its_current(name):
    """Spyx's LIF answers one step late."""
    spikes = answers(name)[0]
    assert spikes[:, ABOVE].tolist() == [1, 0, 0]
    assert spikes[:2, TWICE].tolist() == [0, 1]


@pytest.mark.parametrize("name", TORCH)
def test_7_only_weights_and_biases_are_trained(name):
    """Time constants, thresholds and the like are parameters in Sinabs, Rockpool and
    SpikingJelly; their gradient takes time."""
    program = program_of(READY[name])
    trained = [p for p in program.network.parameters() if p.requires_grad]
    assert {id(p) for p in trained} == {id(p) for p in program.leaves} and len(trained) == 2
    assert program.facts(program.inference(program.put_input(CURRENTS)))["warnings"] == []


@every_variant
def test_8_every_call_begins_at_rest(name):
    """Sinabs, SpikingJelly and Rockpool keep their state, and Sinabs the graph that made it,
    into the next call."""
    first, second = answers(name)
    assert np.array_equal(first, second)
    if name in JAX:  # their functions are pure
        return
    program = program_of(READY[name])
    gradients = []
    for _ in range(2):
        result = program.forward(program.put_input(CURRENTS))
        done = program.backward(result, program.put_upstream(np.ones_like(CURRENTS), result))
        gradients.append(program.gradients(done).input)
        program.release()
    assert np.array_equal(*gradients)
