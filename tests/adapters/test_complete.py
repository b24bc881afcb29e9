"""A program written by hand is told which of the harness's methods it lacks."""

import inspect

import pytest

from snnbench import adapters
from snnbench.adapters.base.torch_adapter import TorchAdapter
from snnbench.core.complete import CAN_BE_LEFT_OUT, NoAdapter, adapter_class, whole
from snnbench.core.contract import Program
from snnbench.core.result import ReadByHarness

METHODS = [
    name for name, value in vars(Program).items() if inspect.isfunction(value) and name[0] != "_"
]


def test_the_package_lists_what_an_adapter_needs():
    assert {"TorchAdapter", "JaxAdapter", "TimeLoop", "torch_spike"} <= {*dir(adapters)}


def program(*missing, base=ReadByHarness):
    methods = {name: lambda self, *_: None for name in METHODS if name not in missing}
    return type(
        "Handwritten", (base,), {**methods, "device_clock": "process", "holds_borders": True}
    )()


@pytest.mark.parametrize("name", METHODS)
def test_each_method_is_missed_by_name(name):
    assert whole(program()) and whole(program(base=Program))
    with pytest.raises(
        TypeError, match=rf"^Handwritten lacks {name}\(.*\) of snnbench.core.contract.Program$"
    ):
        whole(program(name))
    inherits = program(name, base=Program)
    if name in CAN_BE_LEFT_OUT:
        assert whole(inherits) is inherits
    else:
        with pytest.raises(TypeError, match=rf"lacks {name}\("):
            whole(inherits)


def test_several_are_named_together_and_with_what_they_are_given():
    with pytest.raises(TypeError, match=r"lacks load\(parameters\), step\(x, upstream\) of"):
        whole(program("step", "load"))


def test_one_that_does_not_inherit_is_told_so_and_not_of_what_it_would_inherit():
    with pytest.raises(
        TypeError, match=r"^Handwritten must inherit from snnbench.core.contract.Program$"
    ):
        whole(program(base=object))
    with pytest.raises(
        TypeError, match=r"^Handwritten must inherit from \S+ and lacks step\(x, upstream\) of \S+$"
    ):
        whole(program("step", base=object))


def test_those_of_our_base_classes_are_whole():
    from snnbench.adapters.base.jax_program import JaxProgram
    from snnbench.adapters.base.torch_program import TorchProgram

    for one in (TorchProgram, JaxProgram):
        assert whole(one.__new__(one))


def test_what_is_the_harnesss_own_is_of_no_framework_wherever_it_comes_from():
    from snnbench.adapters.base.torch_program import TorchProgram

    class Computes:
        def roll_input(self, buffer, given, turn):
            return given

    class Mixed(Computes, TorchProgram):
        pass

    with pytest.raises(
        TypeError,
        match=r"^Mixed must not define `roll_input`: the harness reads the arrays of a Result and",
    ):
        whole(Mixed.__new__(Mixed))
    replaced = TorchProgram.__new__(TorchProgram)
    replaced.roll_input = lambda buffer, given, turn: given
    with pytest.raises(TypeError, match=r"^TorchProgram must not define `roll_input`"):
        whole(replaced)


def test_a_refusal_is_a_text_or_none():
    for right in (None, "it has no backward"):
        adapter = type("Mine", (TorchAdapter,), {"name": "mine", "refusal": right})
        assert adapter_class(adapter, "mine.py:Mine") is adapter
    wrong = type("Mine", (TorchAdapter,), {"name": "mine", "refusal": True})
    with pytest.raises(
        NoAdapter,
        match=r"^mine.py:Mine: refusal = True must be None, or why it computes nothing, as a text$",
    ):
        adapter_class(wrong, "mine.py:Mine")


def test_constructions_are_names_with_sets_of_known_traits():
    right = [
        {"default": set()},
        {**TorchAdapter.constructions, "layers": frozenset({"chain"})},
    ]
    for constructions in right:
        adapter = type("Mine", (TorchAdapter,), {"name": "mine", "constructions": constructions})
        assert adapter_class(adapter, "mine.py:Mine") is adapter
    wrong = [
        ("default", "layers"),
        {},
        {1: set()},
        {"default": {}},
        {"default": ("chain",)},
        {"default": "chain"},
        {"default": {"chained"}},
    ]
    for constructions in wrong:
        adapter = type("Mine", (TorchAdapter,), {"name": "mine", "constructions": constructions})
        with pytest.raises(NoAdapter) as raised:
            adapter_class(adapter, "mine.py:Mine")
        assert str(raised.value) == (
            f"mine.py:Mine: constructions = {constructions!r} must map names to sets of linear, "
            "synaptic, adaptive, coupled, learning, rounding, resumable, uncut, recurrent, feedback, "
            'chain, container, loader, like {"default": set(), "layers": {"synaptic"}}'
        )


@pytest.mark.parametrize("name", ["de fault", "de:fault", "a@1", "a+b", "", "eager"])
def test_a_construction_has_a_name_that_a_config_can_write(name):
    adapter = type("Mine", (TorchAdapter,), {"name": "mine", "constructions": {name: set()}})
    with pytest.raises(NoAdapter) as raised:
        adapter_class(adapter, "mine.py:Mine")
    assert str(raised.value) == (
        f"mine.py:Mine: {name!r} must be of letters, digits, dots, dashes and underscores, and the "
        "name of one construction or one mode"
    )
