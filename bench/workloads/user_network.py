"""`network`: a network that the config brings, a NIR file or a Python function. Other processes
receive it as text."""

import base64
import hashlib
import importlib.util
import json
import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from snnbench.kernels.spec import NeuronSpec

from ..core.case import NETWORK, Case
from ..core.network import TEXTS, Network, Node
from .base import Workload

REFERENCE = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}@[0-9a-f]{16}$"
"""A case's reference to such a network: a name, and a hash of its text."""

_KNOWN: dict[str, Network] = {}


def reference_of(name: str, text: str) -> str:
    return f"{name}@{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def learn(reference: str, text: str) -> Network:
    """Registers the network of a text, which `as_text` wrote, under its reference in this process.
    Raises ValueError for another text."""
    name, _, digest = reference.partition("@")
    if not re.match(REFERENCE, reference) or reference_of(name, text).partition("@")[2] != digest:
        raise ValueError(f"the network {reference} is not the one with this hash")
    if reference not in _KNOWN:
        _KNOWN[reference], TEXTS[reference] = of_text(text), text
    return _KNOWN[reference]


def as_text(network: Network) -> str:
    """Returns a network with all its options and parameters as JSON: equal networks give the same
    text."""
    nodes = [
        {
            "name": node.name,
            "kind": node.kind,
            "inputs": list(node.inputs),
            "options": _plain(node.options),
        }
        for node in network.nodes
    ]
    arrays = {
        node: {key: _encoded(array) for key, array in named.items()}
        for node, named in network.given.items()
    }
    return json.dumps(
        {"input": list(network.input), "nodes": nodes, "given": arrays}, sort_keys=True
    )


def of_text(text: str) -> Network:
    """The inverse of `as_text`."""
    values = json.loads(text)
    nodes = tuple(
        Node(each["name"], each["kind"], tuple(each["inputs"]), _typed(each["options"]))
        for each in values["nodes"]
    )
    arrays = {
        node: {key: _decoded(array) for key, array in named.items()}
        for node, named in values["given"].items()
    }
    return Network(tuple(values["input"]), nodes, arrays)


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options for JSON. Raises TypeError for a neuron that is no NeuronSpec."""
    neuron = options.get("neuron")
    if "neuron" in options and not isinstance(neuron, NeuronSpec):
        raise TypeError(f"neuron = {neuron!r} must be a NeuronSpec")
    return {**options, **({"neuron": neuron.as_dict()} if neuron else {})}


def _typed(options: dict[str, Any]) -> dict[str, Any]:
    return {
        **options,
        **({"neuron": NeuronSpec(**options["neuron"])} if "neuron" in options else {}),
    }


def _encoded(array: np.ndarray) -> dict[str, Any]:
    data = base64.b64encode(np.ascontiguousarray(array, "<f4").tobytes()).decode()
    return {"shape": list(array.shape), "float32": data}


def _decoded(stored: dict[str, Any]) -> np.ndarray:
    return (
        np.frombuffer(base64.b64decode(stored["float32"]), "<f4")
        .reshape(stored["shape"])
        .astype(np.float32)
    )


def _network_of(case: Case) -> Network:
    """A network that the config brings."""
    return _KNOWN[case.network]


class UserNetwork(Workload):
    def canonical(self, case: Case) -> Case:
        return replace(super().canonical(case), neuron=_network_of(case).specs[0])

    def small_case(self, case: Case, input: str = "spikes") -> Case:
        """Keeps the network's sizes and the steps that it mixes; the fewer neurons the last layer
        has, the more steps, so that enough of its spikes occur."""
        network = _network_of(case)
        last = prod(network.shapes[network.neurons[-1]])
        steps = network.mixed_steps or min(97, max(11, 1 + 200 // last))
        return replace(super().small_case(case, input), time_steps=steps)

    def ignores(self, axis: str, values: Sequence[Any]) -> bool:
        return axis == "neuron" or super().ignores(axis, values)


user_network = UserNetwork(NETWORK, _network_of, axes=(), small={"time_steps": 11, "batch": 3})


def build_from(reference: str) -> dict[str, Any]:
    """Calls `file.py:function` and returns the `text` of its network, or a sentence in `fault`.

    Runs the user's code: only workers call it.
    """
    source, _, name = reference.rpartition(":")
    try:
        spec = importlib.util.spec_from_file_location("user_network", source)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if not callable(function := getattr(module, name, None)):
            return {"fault": f"has no function {name!r}"}
        network = function()
        if not isinstance(network, Network):
            return {
                "fault": f"{name} returned {type(network).__name__}, not a Network "
                "(snnbench.adapters has it, and Node)"
            }
        if not network.neurons:
            return {"fault": f"{name} returned a network without a neuron"}
        return {"text": as_text(network)}
    except (Exception, SystemExit) as error:
        line = next(
            (
                frame.lineno
                for frame in reversed(traceback.extract_tb(error.__traceback__))
                if frame.filename == source
            ),
            None,
        )
        return {
            "fault": f"{'' if line is None else f'line {line}: '}{type(error).__name__}: {error}"
        }
