"""Delays that are learned: a node of the network, not of a framework."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.autograd import assert_gradients, delayed
from support.expected import adapter_of, case_of
from support.networks import WIDEST, sized
from support.proofs import proof_of, refusal_of
from support.slow import without

from snnbench.core.case import Case
from snnbench.core.network import Network, Node
from snnbench.core.variant import VARIANT_FIELDS


@pytest.mark.frameworks
@pytest.mark.parametrize(
    "name", without({"jax", "snntorch", "norse"}, ["torch", "jax", "snntorch", "norse"])
)
def test_they_are_proved_with_their_loss(name):
    values = {k: v for k, v in vars(sized("shd-delays")).items() if k not in VARIANT_FIELDS}
    named = {each: getattr(case_of(name, WIDEST), each) for each in VARIANT_FIELDS}
    case = Case(**{**values, **named, "loss": "cross-entropy", "optimizer": "adam"})
    assert (reason := refusal_of(adapter_of(name), case)) is None, reason
    proof = proof_of(adapter_of(name), case)
    assert proof.passed, proof.reason


@given(st.integers(1, 9), st.integers(1, 9), st.floats(0.3, 4), st.integers(0, 99))
def test_the_oracle_has_the_gradient_of_autograd(steps, most, sigma, seed):
    node = Node("delayed", "delayed", options={"outputs": 4, "most": most, "sigma": sigma})
    shapes, random = Network((3,), (node,)).parameters["delayed"], np.random.default_rng(seed)
    own = {key: (most - 1) * random.random(shape) for key, shape in shapes.items()}
    x, upstream = (random.standard_normal((steps, 2, count)) for count in (3, 4))
    assert_gradients(node, delayed, own, x, upstream)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"outputs": 3, "most": 5}, "needs the option 'sigma'"),
        ({"outputs": 3, "most": 0, "sigma": 1.0}, "most = 0 must be a whole number from 1"),
        ({"outputs": 3, "most": 5, "sigma": 0}, "sigma = 0 must be a number above 0"),
    ],
)
def test_options_that_make_no_delay_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        Node("delayed", "delayed", options=options)
