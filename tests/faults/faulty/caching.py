"""A right network that creates the cache folders of the compilers, and notes whether they were
there before."""

import os
from pathlib import Path

from held import HeldProgram
from numpy_network import NumpyNetwork, notes


class Compiled(HeldProgram):
    def compile_facts(self):
        return {"compile_s": 0.25, "graph_breaks": 3, "recompiles": 2}


class Caching(NumpyNetwork):
    name = "caching"
    program_class = Compiled
    modes = ("eager", "compile")
    seen = False

    def prepare(self, case, threads):
        if self.seen:
            return
        self.seen = True
        for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
            cache = Path(os.environ[name])
            with open(notes() / "caches", "a") as stream:
                stream.write(
                    f"{case.framework_variant} {'warm' if cache.is_dir() else 'cold'} {cache}\n"
                )
            cache.mkdir(parents=True, exist_ok=True)
