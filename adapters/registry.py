"""Which adapters there are: the built-in ones, those of installed packages, and single files named by the user.

Nothing here imports an adapter except `load`, which only workers call.
"""

import importlib
import importlib.util
import re
import sys
from pathlib import Path

from .base.contract import Adapter

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
    "lava-dl": "snnbench.adapters.lava_dl:LavaDl",
    "spikingjelly-cupy": "snnbench.adapters.spikingjelly_cupy:SpikingJellyCupy",
    "sinabs-exodus": "snnbench.adapters.sinabs_exodus:SinabsExodus",
    "rockpool-exodus": "snnbench.adapters.rockpool_exodus:RockpoolExodus",
}

ENTRY_POINT_GROUP = "snnbench.adapters"


def references() -> dict[str, str]:
    """`name → module:Class` of every installed adapter, without importing any."""
    from importlib.metadata import entry_points  # late: workers that run one adapter are not to pay for it

    installed = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {**installed, **BUILT_IN}


def load(reference: str) -> Adapter:
    """The adapter behind `module:Class` or `path/to/file.py:Class`. Raises ImportError or AttributeError as the import does;
    TypeError if the class is no adapter."""
    source, _, name = reference.rpartition(":")
    if source.endswith(".py"):
        sys.path.append(str(Path(source).parent))  # last, so that a file named like a framework does not hide it
        spec = importlib.util.spec_from_file_location("snnbench_adapter_" + Path(source).stem, source)
        if spec is None or spec.loader is None:
            raise ImportError(f"{source} is no Python file")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(source)
    adapter = getattr(module, name)
    if not (isinstance(adapter, type) and issubclass(adapter, Adapter)):
        raise TypeError(f"{reference} is not a subclass of TorchAdapter or JaxAdapter")
    if not re.fullmatch(r"[A-Za-z0-9_.-]+", getattr(adapter, "name", "")):
        raise TypeError(f"{reference} needs a name of letters, digits, dots, dashes and underscores")
    return adapter()
