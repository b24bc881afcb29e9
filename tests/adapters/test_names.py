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


def arguments_of(text, values):
    return eval("dict" + text[text.index("(") :], values)


def norse_run(text):
    import norse.torch as norse
    from norse.torch.functional import reset
    from norse.torch.functional.lif_box import LIFBoxParameters

    given = arguments_of(text, vars(reset))
    dt = {"dt": given.pop("dt")} if "dt" in given else {}
    name = text.partition("(")[0].removeprefix("norse.")
    kinds = {"LIF": norse.LIFParameters, "IAF": norse.IAFParameters, "LIFBoxCell": LIFBoxParameters}
    given = {
        key: torch.tensor(value) if isinstance(value, float) else value
        for key, value in given.items()
    }
    neuron = getattr(norse, name)(kinds[name](**given), **dt)
    neuron = norse.Lift(neuron) if name.endswith("Cell") else neuron
    return torch_gradient(lambda x: neuron(x)[0])


def spikingjelly_run(text):
    from spikingjelly.activation_based import neuron, surrogate

    node = eval(text.removeprefix("spikingjelly."), {**vars(neuron), **vars(surrogate)})
    node.step_mode = "s"
    return torch_gradient(lambda x: torch.stack([node(step) for step in x.unbind(0)]))


def sinabs_run(text):
    import sys

    sys.modules.setdefault("samna", None)
    from sinabs import activation, layers

    layer = eval(text.removeprefix("sinabs."), {**vars(activation), **vars(layers), "torch": torch})
    return torch_gradient(lambda x: layer(x.transpose(0, 1)).transpose(0, 1))


def spyx_run(text):
    import jax
    import jax.numpy as jnp
    import spyx
    from flax import nnx

    late = "PSU" not in text
    values = {**vars(spyx.nn), **vars(spyx.axn), "rngs": nnx.Rngs(0)}
    start = text.removeprefix("spyx.").replace("(", f"(rngs=rngs, hidden_shape=({N},), ", 1)
    neuron = eval(start, values)

    def run(x):
        more = jnp.concatenate([x, jnp.zeros_like(x[:1])]) if late else x
        return spyx.nn.run(neuron, more)[0][int(late) :]

    def result(currents, weights):
        x = jnp.asarray(currents, jnp.float32)
        spikes, back = jax.vjp(run, x)
        (gradient,) = back(jnp.asarray(weights, spikes.dtype))
        return np.asarray(spikes), np.asarray(gradient)

    return result


RUN = {
    "snntorch": snntorch_run,
    "norse": norse_run,
    "spikingjelly": spikingjelly_run,
    "sinabs": sinabs_run,
    "spyx": spyx_run,
}
TEXTS = [
    "snntorch.Leaky(beta=0.95)",
    "snntorch.Leaky(beta=0.8, spike_grad=fast_sigmoid(), reset_mechanism='zero')",
    "snntorch.Leaky(beta=0.9, threshold=0.5, spike_grad=sigmoid(slope=3))",
    "snntorch.Leaky(beta=0.9, spike_grad=atan(alpha=4), reset_mechanism='none')",
    "snntorch.Leaky(beta=0.9, spike_grad=straight_through_estimator())",
    "snntorch.StateLeaky(beta=torch.tensor(0.9))",
    "norse.LIF()",
    "norse.LIF(tau_mem_inv=50.0, tau_syn_inv=1000.0, v_th=0.5, dt=0.001)",
    "norse.LIFBoxCell()",
    "norse.LIFBoxCell(tau_mem_inv=60.0, reset_method=reset_subtract, method='tanh', alpha=1.5)",
    "norse.LIFBoxCell(tau_mem_inv=0.25, dt=1.0, method='triangle', alpha=3.0)",
    "norse.IAF()",
    "spikingjelly.LIFNode()",
    "spikingjelly.LIFNode(tau=2.0, surrogate_function=ATan(alpha=3.0), detach_reset=True)",
    "spikingjelly.LIFNode(tau=20.0, decay_input=False, v_threshold=0.5, v_reset=None, surrogate_function=SoftSign())",
    "spikingjelly.LIFNode(tau=5.0, v_reset=None, surrogate_function=SuperSpike(alpha=3.0))",
    "spikingjelly.LIFNode(tau=5.0, surrogate_function=PiecewiseQuadratic(alpha=2.0))",
    "spikingjelly.LIFNode(tau=5.0, surrogate_function=PiecewiseExp(alpha=2.0))",
    "spikingjelly.LIFNode(tau=5.0, surrogate_function=Rect(alpha=2.0))",
    "spikingjelly.ParametricLIFNode(init_tau=3.0, decay_input=False)",
    "spikingjelly.IFNode(surrogate_function=DeterministicPass())",
    "spikingjelly.CUBALIFNode()",
    "sinabs.LIF(tau_mem=10.0)",
    "sinabs.LIF(tau_mem=10.0, tau_syn=5.0, spike_fn=SingleSpike, norm_input=False)",
    "sinabs.LIF(tau_mem=8.0, spike_threshold=torch.tensor(0.5), spike_fn=SingleSpike, reset_fn=MembraneReset())",
    "sinabs.LIF(tau_mem=8.0, spike_fn=MaxSpike(2), reset_fn=MembraneSubtract(subtract_value=0.0))",
    "sinabs.IAF(surrogate_grad_fn=SingleExponential(grad_width=0.3, grad_scale=0.5))",
    "spyx.LIF(beta=0.9)",
    "spyx.LIF(beta=0.8, threshold=0.5, activation=triangular())",
    "spyx.PSU_LIF(beta=0.9, activation=arctan())",
    "spyx.PSU_LIF(beta=0.9, activation=boxcar(width=0.5, height=3.0))",
    "spyx.PSU_LIF(beta=0.9, activation=tanh())",
    "spyx.IF()",
    "spyx.CuBaLIF(alpha=0.5, beta=0.9)",
]
ADAPTED = {
    "torch.tensor(0.9)": "0.9",
    "torch.tensor(0.5)": "0.5",
    "MaxSpike(2)": "MaxSpike(max_num_spikes_per_bin=2)",
}
"""Values as they are in a config, by their spelling in Python."""


def meaning_of(text):
    for spelling, value in ADAPTED.items():
        text = text.replace(spelling, value)
    return read_named(text)


def currents_of(spec, x):
    """Returns the synaptic currents of inputs x, or x for a neuron without a synapse."""
    if spec.current_decay is None:
        return x
    current, currents = torch.zeros_like(x[0]), []
    for step in x:
        current = spec.current_decay * current + step
        currents.append(current)
    return torch.stack(currents)


def by_equation(meaning, currents, weights, monkeypatch):
    """Returns spikes and gradient of the equation in float64, its surrogate as high as it is
    there."""
    spec, height = meaning.spec, meaning.surrogate.height
    slope_at = autograd.SLOPES[spec.surrogate]
    monkeypatch.setitem(autograd.SLOPES, spec.surrogate, lambda u, k: height * slope_at(u, k))
    x = torch.tensor(currents, dtype=torch.float64, requires_grad=True)
    spikes = autograd.loop(spec, currents_of(spec, meaning.gain * x))
    (spikes * torch.tensor(weights)).sum().backward()
    return spikes.detach().numpy(), x.grad.numpy()


def difference(meaning, text, monkeypatch):
    """Returns the share of other spikes and the relative error of the gradient, against the
    framework itself."""
    random = np.random.default_rng(3)
    drive = meaning.spec.threshold / meaning.gain
    currents = random.normal(0.1 * drive, 0.6 * drive, (T, B, N))
    weights = random.normal(size=(T, B, N))
    spikes, gradient = RUN[text.partition(".")[0]](text)(currents, weights)
    right, exact = by_equation(meaning, currents, weights, monkeypatch)
    assert 0.02 < right.mean() < 0.8
    same = (spikes == right).all(axis=0)
    error = np.linalg.norm((gradient - exact)[:, same]) / np.linalg.norm(exact[:, same])
    return np.mean(spikes != right), error


@pytest.mark.parametrize("text", TEXTS)
def test_the_framework_s_own_neuron_computes_the_equation(text, monkeypatch):
    meaning = meaning_of(text)
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


HOMES = {
    "snntorch": ("snntorch", "snntorch.surrogate"),
    "norse": ("norse.torch", "norse.torch.functional.reset"),
    "spikingjelly": (
        "spikingjelly.activation_based.neuron",
        "spikingjelly.activation_based.surrogate",
    ),
    "sinabs": ("sinabs.layers", "sinabs.activation"),
    "spyx": ("spyx.nn", "spyx.axn"),
}
"""Modules in which a framework's names are found."""


def defaults_of(framework, name):
    """Returns the framework's defaults by argument; of a neuron of Norse those of its
    parameters too."""
    modules = [importlib.import_module(module) for module in HOMES[framework]]
    theirs = next(getattr(module, name) for module in modules if hasattr(module, name))
    found = {
        key: each.default
        for key, each in inspect.signature(
            theirs.__init__ if inspect.isclass(theirs) else theirs
        ).parameters.items()
        if each.default is not each.empty
    }
    if framework == "norse" and "p" in found:
        found = {**found["p"]._asdict(), "dt": 0.001, **found}
    return {
        key: value.item() if isinstance(value, torch.Tensor) else value
        for key, value in found.items()
    }


@pytest.mark.parametrize("framework", HOMES)
def test_defaults_are_those_of_the_framework(framework):
    for name, function in NAMES[framework].items():
        theirs = defaults_of(framework, name)
        for key, each in inspect.signature(function).parameters.items():
            if type(each.default) in (bool, float, int, str):
                assert theirs[key] == each.default, (name, key)


def test_every_neuron_is_compared_with_its_framework():
    compared = {text.partition("(")[0] for text in TEXTS}
    for framework in HOMES:
        for name, function in neurons_of(framework).items():
            same = {name for name, each in neurons_of(framework).items() if each is function}
            assert compared & {f"{framework}.{name}" for name in same} or name == "ALIF", name
