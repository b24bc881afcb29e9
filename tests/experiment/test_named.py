"""Neurons by the names that frameworks give them: read strictly, shown with their equation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snnbench.experiment.config import load_config
from snnbench.experiment.named import LONGEST, lines_of, read_named
from snnbench.experiment.values import parse_neuron, parse_neuron_text
from snnbench.kernels.spec import NeuronSpec

LEAKY = NeuronSpec("soft-undecayed", detach_reset=True, decay=0.95, surrogate="atan")


def test_a_framework_s_neuron_is_its_equation_in_a_config_and_on_the_command_line():
    for parse in (parse_neuron, parse_neuron_text):
        assert parse("snntorch.Leaky(beta=0.95)") == LEAKY
        assert parse("snntorch.Leaky(0.95)") == LEAKY
        assert parse(" snntorch . Leaky ( beta = 0.95 , ) ") == LEAKY
    experiment = load_config({"name": "a", "grid": {"neuron": ["hard", "snntorch.Leaky(beta=.9)"]}})
    assert experiment.grid.neuron[1].decay == 0.9
    assert experiment.neuron_lines == [
        "snntorch.Leaky(beta=.9): soft-undecayed, detached, decay 0.9, atan(alpha=2)"
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("snntorch.Leaky(beta=0.95)", "soft-undecayed, detached, decay 0.95, atan(alpha=2)"),
        (
            'snntorch.Leaky(beta=0.9, threshold=0.5, spike_grad=surrogate.fast_sigmoid(), reset_mechanism="zero")',
            "hard, detached, decay 0.9, threshold 0.5, fast_sigmoid(slope=25)",
        ),
        (
            "snntorch.Leaky(beta=0.9, spike_grad=atan(alpha=4), reset_mechanism='none')",
            "no reset, decay 0.9, atan(alpha=4); its surrogate is 2 times atan of slope 2, which is measured",
        ),
        (
            "norse.LIFBoxCell(tau_mem_inv=50, dt=0.001, reset_method=reset_subtract)",
            'soft, attached, decay 0.95, method="super"; its factor 0.05 on inputs is left to the weights',
        ),
        (
            "norse.LIF()",
            'hard, attached, decay 0.9, synapse 0.8, method="super"; its factor 0.1 on inputs is left to the weights',
        ),
        (
            "spikingjelly.LIFNode(tau=2.0)",
            "hard, attached, decay 0.5, Sigmoid(alpha=4); its factor 0.5 on inputs is left to the weights",
        ),
        (
            "sinabs.layers.LIF(tau_mem=40, norm_input=False)",
            "soft, attached, decay 0.97531, many spikes a step, SingleExponential(grad_width=0.5, grad_scale=1); "
            "its surrogate is 2 times exponential of slope 2, which is measured",
        ),
        (
            "spyx.nn.LIF(beta=0.9)",
            "soft-undecayed, attached, decay 0.9, superspike(k=25); "
            "it fires a step later than this, which its adapter takes back",
        ),
        ("slax.LIF()", "soft, attached, decay 0.880797, fast_sigmoid(slope=25)"),
    ],
)
def test_its_line_has_the_equation_and_what_differs(text, line):
    assert lines_of([text, "soft", {"reset": "hard"}, text]) == [f"{text}: {line}"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("snntorch.Leaky", "snntorch.Leaky needs beta, such as snntorch.Leaky(beta=…)"),
        (
            "Leaky(beta=.9)",
            "must begin with its framework, as in snntorch.Leaky(beta=0.95); did you mean 'snntorch.Leaky'?",
        ),
        (
            "snntorch.Leeky(beta=1)",
            "snntorch has no neuron 'Leeky' with an equation here; did you mean 'Leaky'?",
        ),
        ("snnTorch.Leaky(beta=.9)", "names no framework 'snnTorch'; did you mean 'snntorch'?"),
        (
            "snntorch.Leaky(beat=.9)",
            "snntorch.Leaky has no argument 'beat' here; did you mean 'beta'?",
        ),
        (
            "snntorch.Leaky(.9, 1.0)",
            "snntorch.Leaky takes its arguments by their names, as in beta=…",
        ),
        ("spyx.LIF(.9)", "spyx.LIF takes its arguments by their names, as in beta=…"),
        ("snntorch.Leaky(.9, beta=.9)", "snntorch.Leaky has beta twice"),
        (
            "snntorch.Leaky(beta=.9, **{})",
            "snntorch.Leaky takes its arguments by their names, as in beta=…",
        ),
        ("snntorch.Leaky(beta='x')", "snntorch.Leaky needs a number for beta, not 'x'"),
        ("snntorch.Leaky(beta=True)", "snntorch.Leaky needs a number for beta, not True"),
        ("snntorch.Leaky(beta=.9, beta=.9)", "snntorch.Leaky has beta twice"),
        ("snntorch.Leaky(beta=1.5)", "decay = 1.5 must be above 0 and at most 1"),
        (
            "snntorch.Leaky(beta=1e999)",
            "snntorch.Leaky has beta = inf, beyond what float32 can hold",
        ),
        (
            "snntorch.Leaky(beta=1/2)",
            "snntorch.Leaky has beta set to what is no plain number, text or name",
        ),
        (
            "snntorch.Leaky(beta=.9, spike_grad=atann())",
            "snntorch.Leaky has spike_grad = atann, which is not known here; did you mean 'atan'?",
        ),
        (
            "snntorch.Leaky(beta=.9, reset_mechanism='sub')",
            "reset_mechanism = 'sub' is not one of subtract, zero, none",
        ),
        (
            "snntorch.Leaky(beta=__import__('os').system('x'))",
            "must look like snntorch.Leaky(beta=0.95)",
        ),
        (
            "norse.LIFBoxCell(reset_method=reset_sub)",
            "norse.LIFBoxCell has reset_method = reset_sub, which is not known here; did you mean 'reset_subtract'?",
        ),
        ("norse.LIF(method='super2')", "method = 'super2' is not one of super, triangle, tanh"),
        (
            "spikingjelly.LIFNode(v_reset=0.5)",
            "v_reset = 0.5 has no equation here: it must be 0.0 or None",
        ),
        ("sinabs.LIF(tau_mem=0)", "sinabs.LIF has no finite decay with these arguments"),
        (
            "sinabs.LIF(tau_mem=9, spike_fn=MaxSpike(max_num_spikes_per_bin=2.5))",
            "MaxSpike needs a whole number for max_num_spikes_per_bin, not 2.5",
        ),
        (
            "rockpool.LIFTorch()",
            "rockpool's neurons have the surrogate StepPWL, constant above θ − 0.5 and zero below, which is no equation "
            "here; neuron = 'native' measures its tutorial's neuron",
        ),
        ("snntorch.Leaky(", "must look like snntorch.Leaky(beta=0.95)"),
        ("a(" * LONGEST, "must look like snntorch.Leaky(beta=0.95)"),
        ("snntorch.Leaky(beta=" + "-" * 400 + "1)", None),
        ("snntorch.Leaky(beta=" + "(" * 150 + "7" + ")" * 150 + ")", None),
    ],
)
def test_a_mistake_in_it_is_one_sentence(text, sentence):
    with pytest.raises(ValueError) as told:
        parse_neuron(text)
    assert sentence in (None, str(told.value))
    assert "\n" not in str(told.value)


@given(st.text(alphabet="sntorch.Leaky(beta=0.95),-'\"[]{}*:\n", max_size=60))
def test_no_text_does_worse(text):
    try:
        read_named("snntorch.Leaky(" + text)
    except ValueError:
        return
