"""Configs of cases that deliver data, for the command line."""

import json
from pathlib import Path

from .command_line import Snnbench

STRATEGIES = ["tonic:*", "frames:*"]


def configured(
    snnbench: Snnbench, framework: list[str], adapters=(), grid="", name="delivery", **axes
) -> Path:
    """A config of few synthetic recordings of SHD, two batches of them; `adapters` are
    references, `axes` other values than usual by key of the grid, `grid` further lines of it."""
    snnbench.environment["SNNBENCH_CACHE"] = str(snnbench.folder / "cache")
    usual = {
        "dataset": ["synthetic-shd"],
        "samples": [28],
        "time_steps": [50],
        "batch": [13],
        "device": ["cpu"],
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in (usual | axes).items()]
    path = snnbench.folder / f"{name}.toml"
    path.write_text(
        f'name = "{name}"\nadapters = {json.dumps([*map(str, adapters)])}\n'
        f'[grid]\nframework = {json.dumps(framework)}\nworkload = ["data"]\n{chr(10).join(lines)}\n{grid}\n'
        '[measure]\nblocks = 1\nmost_blocks = 1\npasses = 1\nslot = "5ms"\nthreads = 1\n'
    )
    return path
