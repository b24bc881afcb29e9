"""Which adapters there are: the built-in ones, those of installed packages, and single files named
by the user.

Nothing here imports an adapter except `load`, which only workers call.
"""

import importlib
import importlib.util
import re
import sys
from pathlib import Path

from snnbench.core.complete import NoAdapter, adapter_class
from snnbench.core.contract import Adapter

BUILT_IN = {
    "fused": "snnbench.adapters.fused:Fused",
    "jax": "snnbench.adapters.jax_scan:JaxScan",
    "torch": "snnbench.adapters.torch_loop:TorchLoop",
    "snntorch": "snnbench.adapters.snntorch:SnnTorch",
    "norse": "snnbench.adapters.norse:Norse",
    "spikingjelly": "snnbench.adapters.spikingjelly:SpikingJelly",
    "sinabs": "snnbench.adapters.sinabs:Sinabs",
    "spyx": "snnbench.adapters.spyx:Spyx",
    "rockpool": "snnbench.adapters.rockpool:Rockpool",
    "rockpool-jax": "snnbench.adapters.rockpool_jax:RockpoolJax",
    "frames": "snnbench.data.strategies.frames:Frames",
    "slax": "snnbench.adapters.slax:Slax",
    "lava-dl": "snnbench.adapters.lava_dl:LavaDl",
    "tonic": "snnbench.data.strategies.tonic:Tonic",
    "snntorch-ipu": "snnbench.adapters.snntorch_ipu:SnnTorchIpu",
    "brainpy-state": "snnbench.adapters.brainpy_state:BrainpyState",
    "spikingjelly-cupy": "snnbench.adapters.spikingjelly_cupy:SpikingJellyCupy",
    "sinabs-exodus": "snnbench.adapters.sinabs_exodus:SinabsExodus",
    "jaxsnn": "snnbench.adapters.jaxsnn:Jaxsnn",
    "rockpool-exodus": "snnbench.adapters.rockpool_exodus:RockpoolExodus",
    "jaxpike": "snnbench.adapters.jaxpike:Jaxpike",
    "matterhorn-pytorch": "snnbench.adapters.matterhorn:Matterhorn",
    "brainevent": "snnbench.adapters.brainevent:Brainevent",
}
"""The adapters of this project, by name. The place of a name is its colour and shape in reports:
new names come last, and siblings are eleven places apart to share a colour."""

LOADING = {name: BUILT_IN[name] for name in ("tonic", "frames")}
"""Adapters that load data."""

FRAMEWORKS = {name: reference for name, reference in BUILT_IN.items() if name not in LOADING}
"""Adapters that compute networks."""

OURS = ("fused", "frames")
"""This project's own frameworks: its kernels and its data loading."""

ENTRY_POINT_GROUP = "snnbench.adapters"


def is_own(reference: str) -> bool:
    """Returns True for an adapter of this project, in this version or another."""
    return reference.startswith("snnbench.")


def references() -> dict[str, str]:
    """`name → module:Class` of every installed adapter, without importing any."""
    # Late: workers that run one adapter are not to pay for it.
    from importlib.metadata import entry_points

    installed = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {**installed, **BUILT_IN}


def load(reference: str) -> Adapter:
    """The adapter behind `module:Class` or `path/to/file.py:Class`. Raises what the import raises;
    NoAdapter if there is no such module or class, or it is no adapter."""
    source, _, name = reference.rpartition(":")
    if source.endswith(".py"):
        # Last, so that a file named like a framework does not hide it.
        sys.path.append(str(Path(source).parent))
        module_name = "snnbench_adapter_" + re.sub(r"\W", "_", Path(source).stem)
        spec = importlib.util.spec_from_file_location(module_name, source)
        if spec is None or spec.loader is None:
            raise ImportError(f"{source} is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module  # torch.compile looks its globals up by this name
        spec.loader.exec_module(module)
    else:
        try:
            module = importlib.import_module(source)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{source}.".startswith(f"{error.name}."):
                raise
            raise NoAdapter(
                f"{reference}: there is no module {source}; "
                f"a file is named like path/to/file.py:{name}"
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
