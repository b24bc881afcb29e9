"""Neurons by their frameworks' names: the framework's own object computes the equation, its spikes
and gradients, and has the defaults of the table."""

import importlib
import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch
from support import autograd

from snnbench.adapters.names import NAMES
from snnbench.experiment.named import neurons_of, read_named

pytestmark = pytest.mark.frameworks

T, B, N = 37, 3, 97


def torch_gradient(run):
    """Returns the function from currents and weights of spikes to spikes and the gradient."""

    def result(currents, weights):
        x = torch.tensor(currents, dtype=torch.float32, requires_grad=True)
        spikes = run(x)
        (spikes * torch.tensor(weights, dtype=torch.float32)).sum().backward()
        return spikes.detach().numpy(), x.grad.numpy()

    return result


def snntorch_run(text):
    import snntorch
    from snntorch import surrogate

    if "StateLeaky" in text:
        neuron = eval(
            f"{text[:-1]}, channels={N})",
            {"snntorch": snntorch, "torch": torch, **vars(surrogate)},
        )
        return torch_gradient(lambda x: neuron(x)[0])
    neuron = eval(text, {"snntorch": snntorch, **vars(surrogate)})

    def run(x):
        mem, spikes = torch.zeros(B, N), []
        for step in x.unbind(0):
            spike, mem = neuron(step, mem)
            spikes.append(spike)
        return torch.stack(spikes)

    return torch_gradient(run)


RUNS = {
    "snntorch.Leaky(beta=0.95)": snntorch_run,
    "snntorch.Leaky(beta=0.8, spike_grad=fast_sigmoid(), reset_mechanism='zero')": snntorch_run,
    "snntorch.Leaky(beta=0.9, threshold=0.5, spike_grad=sigmoid(slope=3))": snntorch_run,
    "snntorch.Leaky(beta=0.9, spike_grad=atan(alpha=4), reset_mechanism='none')": snntorch_run,
    "snntorch.Leaky(beta=0.9, spike_grad=straight_through_estimator())": snntorch_run,
    "snntorch.StateLeaky(beta=torch.tensor(0.9))": snntorch_run,
}


def by_equation(meaning, currents, weights, monkeypatch):
    """Returns spikes and gradient of the equation in float64, its surrogate as high as it is
    there."""
    spec, height = meaning.spec, meaning.surrogate.height
    slope_at = autograd.SLOPES[spec.surrogate]
    monkeypatch.setitem(autograd.SLOPES, spec.surrogate, lambda u, k: height * slope_at(u, k))
    x = torch.tensor(currents, dtype=torch.float64, requires_grad=True)
    spikes = autograd.loop(spec, meaning.gain * x)
    (spikes * torch.tensor(weights)).sum().backward()
    return spikes.detach().numpy(), x.grad.numpy()


def difference(meaning, text, monkeypatch):
    """Returns the share of other spikes and the relative error of the gradient, against the
    framework itself."""
    random = np.random.default_rng(3)
    drive = meaning.spec.threshold / meaning.gain
    currents = random.normal(0.1 * drive, 0.6 * drive, (T, B, N))
    weights = random.normal(size=(T, B, N))
    spikes, gradient = RUNS[text](text)(currents, weights)
    right, exact = by_equation(meaning, currents, weights, monkeypatch)
    assert 0.02 < right.mean() < 0.8
    same = (spikes == right).all(axis=0)
    error = np.linalg.norm((gradient - exact)[:, same]) / np.linalg.norm(exact[:, same])
    return np.mean(spikes != right), error


@pytest.mark.parametrize("text", RUNS)
def test_the_framework_s_own_neuron_computes_the_equation(text, monkeypatch):
    meaning = read_named(text.replace("torch.tensor(0.9)", "0.9"))
    others, error = difference(meaning, text, monkeypatch)
    assert others < 1e-3 and error < 1e-3


@pytest.mark.parametrize(
    "wrong", [{"decay": 0.94}, {"detach_reset": False}, {"slope": 1.5}, {"reset": "soft"}]
)
def test_another_equation_is_found_out(wrong, monkeypatch):
    meaning = read_named(text := "snntorch.Leaky(beta=0.95)")
    others, error = difference(
        replace(meaning, spec=replace(meaning.spec, **wrong)), text, monkeypatch
    )
    assert others > 1e-3 or error > 1e-2


@pytest.mark.parametrize(
    ("framework", "module", "ours"),
    [
        ("snntorch", module, {name})
        for module, name in [("snntorch", "Leaky"), ("snntorch", "StateLeaky")]
    ]
    + [("snntorch", "snntorch.surrogate", {*NAMES["snntorch"]} - {*neurons_of("snntorch")})],
)
def test_defaults_are_those_of_the_framework(framework, module, ours):
    for name in ours:
        theirs = inspect.signature(getattr(importlib.import_module(module), name)).parameters
        for key, each in inspect.signature(NAMES[framework][name]).parameters.items():
            if isinstance(each.default, float | int | str) and not isinstance(each.default, bool):
                assert theirs[key].default == each.default, (name, key)
            assert key in theirs
