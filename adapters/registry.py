"""Which adapters there are: the built-in ones, those of installed packages, and single files named by the user.

Nothing here imports an adapter except `load`, which only workers call.
"""

import importlib
import importlib.util
import sys
from pathlib import Path

from snnbench.core.complete import NoAdapter, adapter_class
from snnbench.core.contract import Adapter

BUILT_IN = {
    "fused": "snnbench.adapters.fused:Fused",
    "torch": "snnbench.adapters.torch_loop:TorchLoop",
    "snntorch": "snnbench.adapters.snntorch:SnnTorch",
    "norse": "snnbench.adapters.norse:Norse",
    "sinabs": "snnbench.adapters.sinabs:Sinabs",
    "rockpool": "snnbench.adapters.rockpool:Rockpool",
    "rockpool-jax": "snnbench.adapters.rockpool_jax:RockpoolJax",
    "spikingjelly": "snnbench.adapters.spikingjelly:SpikingJelly",
    "spyx": "snnbench.adapters.spyx:Spyx",
    "jax": "snnbench.adapters.jax_scan:JaxScan",
    "bindsnet": "snnbench.adapters.bindsnet:BindsNet",
    "snntorch-ipu": "snnbench.adapters.snntorch_ipu:SnnTorchIpu",
    "snnax": "snnbench.adapters.snnax:Snnax",
    "eventax": "snnbench.adapters.eventax:Eventax",
    "jaxpike": "snnbench.adapters.jaxpike:Jaxpike",
    "brainpy-state": "snnbench.adapters.brainpy_state:BrainpyState",
    "slax": "snnbench.adapters.slax:Slax",
    "jaxsnn": "snnbench.adapters.jaxsnn:Jaxsnn",
    "matterhorn-pytorch": "snnbench.adapters.matterhorn:Matterhorn",
    "lava-dl": "snnbench.adapters.lava_dl:LavaDl",
    "spikingjelly-cupy": "snnbench.adapters.spikingjelly_cupy:SpikingJellyCupy",
    "sinabs-exodus": "snnbench.adapters.sinabs_exodus:SinabsExodus",
    "rockpool-exodus": "snnbench.adapters.rockpool_exodus:RockpoolExodus",
}
"""Those that compute networks."""

LOADING = {
    "tonic": "snnbench.data.strategies.tonic:Tonic",
    "frames": "snnbench.data.strategies.frames:Frames",
}
"""Those that load data."""

OWN = {**BUILT_IN, **LOADING}

ENTRY_POINT_GROUP = "snnbench.adapters"


def references() -> dict[str, str]:
    """`name → module:Class` of every installed adapter, without importing any."""
    from importlib.metadata import (
        entry_points,
    )  # late: workers that run one adapter are not to pay for it

    installed = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {**installed, **OWN}


def load(reference: str) -> Adapter:
    """The adapter behind `module:Class` or `path/to/file.py:Class`. Raises what the import raises; NoAdapter if there is no such
    module or class, or it is no adapter."""
    source, _, name = reference.rpartition(":")
    if source.endswith(".py"):
        sys.path.append(
            str(Path(source).parent)
        )  # last, so that a file named like a framework does not hide it
        spec = importlib.util.spec_from_file_location(
            "snnbench_adapter_" + Path(source).stem, source
        )
        if spec is None or spec.loader is None:
            raise ImportError(f"{source} is no Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        try:
            module = importlib.import_module(source)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{source}.".startswith(f"{error.name}."):
                raise
            raise NoAdapter(
                f"{reference}: there is no module {source}; a file is named like path/to/file.py:{name}"
            ) from None
    if not hasattr(module, name):
        own = [
            key
            for key, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == module.__name__
        ]
        raise NoAdapter(
            f"{reference}: there is no class {name}"
            + (f" (there is {', '.join(own)})" if own else "")
        )
    return adapter_class(getattr(module, name), reference)()
