"""Reads NIR files: types and arrays of the nodes, and the edges. With h5py alone, because
frameworks require versions of the package `nir` that exclude each other.

A `.nir` file is HDF5 with the texts `version` and `node/type`, for each node a group
`node/nodes/NAME` with the text `type` and arrays, and the pairs of names `node/edges`.
"""

import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...common.mistakes import shown
from ..network import NetworkFault

MOST_NODES, MOST_VALUES = 1000, 1 << 24
"""Limits of a file: its nodes, and the numbers of all its arrays together."""
READING_S = 8.0
READ = (
    "import pickle, sys; from pathlib import Path; "
    "from snnbench.experiment.nir.file import answer; "
    "sys.stdout.buffer.write(pickle.dumps(answer(Path(sys.argv[1]))))"
)


@dataclass(frozen=True)
class NirNode:
    """A node with its type, such as `LIF`, and its arrays by name."""

    name: str
    type: str
    arrays: dict[str, np.ndarray]

    def fault(self, text: str) -> NetworkFault:
        return NetworkFault(f"node {self.name}: {text}")


@dataclass(frozen=True)
class NirGraph:
    """The content of a file. `version` is that of the package that wrote it."""

    version: str
    nodes: dict[str, NirNode]
    edges: list[tuple[str, str]]


def read_apart(path: Path, seconds: float = READING_S) -> NirGraph:
    """Like `read_nir`, in a separate process: on some damaged files HDF5 hangs or crashes. Raises
    NetworkFault for these too."""
    command = [sys.executable, "-P", "-c", READ, str(path)]
    fault = "is no NIR file that HDF5 can read"
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        raise NetworkFault(f"{fault}: it does not come to an end in {seconds:g} s") from None
    if done.returncode:
        raise NetworkFault(f"{fault}: it ended the process that read it")
    graph = pickle.loads(done.stdout)
    if isinstance(graph, NirGraph):
        return graph
    raise NetworkFault(graph)


def answer(path: Path) -> NirGraph | str:
    """Returns the graph of a file, or the fault."""
    try:
        return read_nir(path)
    except NetworkFault as fault:
        return str(fault)


def read_nir(path: Path) -> NirGraph:
    """Reads a NIR file. Raises NetworkFault for any other file."""
    try:
        import h5py
    except ModuleNotFoundError:
        raise NetworkFault("needs the Python package h5py: pip install 'snnbench[data]'") from None
    try:
        with h5py.File(path, "r") as file:
            return _Reader(h5py).graph(file)
    except NetworkFault:
        raise
    except (OSError, RuntimeError, KeyError, TypeError, ValueError, AttributeError) as error:
        # h5py raises any of these for damaged files.
        words = " ".join(str(error).split())
        raise NetworkFault(f"is no NIR file that HDF5 can read: {words[:150]}") from None


class _Reader:
    """Reads plain groups and datasets of the file itself, and at most MOST_VALUES numbers."""

    def __init__(self, h5py: Any):
        self.h5py, self.remaining = h5py, MOST_VALUES

    def graph(self, file: Any) -> NirGraph:
        version = self._text(file, "version") if "version" in file else "unknown"
        top = self._group(file, "node", "the file")
        kind = self._text(top, "type")
        if kind != "NIRGraph":
            raise NetworkFault(f"has a {kind} at its top, where a NIRGraph belongs")
        nodes = self._group(top, "nodes", "its graph")
        if len(nodes) > MOST_NODES:
            raise NetworkFault(f"has {len(nodes)} nodes; at most {MOST_NODES} are read")
        read = {name: self._node(name, self._group(nodes, name, "its graph")) for name in nodes}
        return NirGraph(version, read, self._edges(top))

    def _node(self, name: str, group: Any) -> NirNode:
        kind = self._text(group, "type", f"node {name}")
        if kind == "NIRGraph":
            return NirNode(name, kind, {})
        arrays = {}
        for key in group:
            if key in ("type", "metadata"):
                continue
            dataset = self._dataset(group, key, f"node {name}")
            if dataset.dtype.kind in "fiub":
                arrays[key] = np.asarray(dataset[()])
            elif dataset.shape == () and self.h5py.check_string_dtype(dataset.dtype):
                # Such as padding = 'same'.
                arrays[key] = np.asarray(self._text(group, key, f"node {name}"))
        return NirNode(name, kind, arrays)

    def _edges(self, top: Any) -> list[tuple[str, str]]:
        dataset = self._dataset(top, "edges", "its graph")
        if dataset.ndim != 2 or dataset.shape[1] != 2:
            raise NetworkFault(f"has edges of shape {dataset.shape}; they are pairs of names")
        rows = dataset.asstr()[()] if self.h5py.check_string_dtype(dataset.dtype) else None
        if rows is None:
            raise NetworkFault("has edges that are no names")
        return [(str(source), str(target)) for source, target in rows]

    def _text(self, group: Any, key: str, where: str = "the file") -> str:
        dataset = self._dataset(group, key, where)
        if dataset.shape != () or not self.h5py.check_string_dtype(dataset.dtype):
            raise NetworkFault(f"has in {where} a {key} that is no text")
        text = dataset.asstr()[()]
        if len(text) > 100:
            raise NetworkFault(f"has in {where} a {key} of {len(text)} characters")
        return str(text)

    def _group(self, group: Any, key: str, where: str) -> Any:
        return self._inside(group, key, where, self.h5py.Group, "group")

    def _dataset(self, group: Any, key: str, where: str) -> Any:
        dataset = self._inside(group, key, where, self.h5py.Dataset, "array")
        if dataset.external or dataset.is_virtual:
            raise NetworkFault(f"keeps {shown(key)} of {where} in another file")
        if dataset.shape is None:
            raise NetworkFault(f"has nothing in {shown(key)} of {where}")
        self.remaining -= dataset.size
        if self.remaining < 0:
            raise NetworkFault(f"has more than {MOST_VALUES:,} numbers")
        return dataset

    def _inside(self, group: Any, key: str, where: str, kind: Any, words: str) -> Any:
        link = group.get(key, getlink=True)
        if link is None:
            raise NetworkFault(f"lacks the {words} {shown(key)} in {where}")
        if not isinstance(link, self.h5py.HardLink):
            raise NetworkFault(f"has a link to another place in {shown(key)} of {where}")
        member = group[key]
        if not isinstance(member, kind):
            raise NetworkFault(f"has in {shown(key)} of {where} something else than a {words}")
        return member
