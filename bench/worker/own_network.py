"""A user's function that returns a network is called here, in a process of its own."""

import importlib.util
import json
import traceback
from pathlib import Path
from typing import Any

from ..core.network import Network
from ..workloads.own import as_text


def made(reference: str) -> dict[str, Any]:
    """The text of the network that `file.py:function` returns, or in `fault` one sentence on why there is none."""
    source, _, name = reference.rpartition(":")
    try:
        spec = importlib.util.spec_from_file_location("own_network", source)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if not callable(function := getattr(module, name, None)):
            return {"fault": f"has no function {name!r}"}
        network = function()
        if not isinstance(network, Network):
            return {
                "fault": f"{name} returned {type(network).__name__}, not a Network (snnbench.adapters has it, and Node)"
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


def write(reference: str, path: Path) -> None:
    path.write_text(json.dumps(made(reference)))
