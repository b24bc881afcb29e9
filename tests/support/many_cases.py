"""A result folder of as many cases as are asked for, made from committed records: other sizes,
other times, the same shape.

By hand: `PYTHONPATH=tests python -m support.many_cases FOLDER CASES`.
"""

import json
import sys
from itertools import count
from math import exp
from pathlib import Path
from random import Random

from snnbench.core.case import PHASES, Case, full_name

from .trees import unbundled

SECONDS = ("wall", "low", "high", "enqueue", "device")


def write_many(folder: Path, cases: int, blocks: int = 3, seed: int = 0) -> None:
    """`cases` cases of `blocks` blocks each, valid in every field; at every size all that the
    quickstart has. `seed` is of their times."""
    originals: dict[str, list[dict]] = {}
    for path in sorted((unbundled("quickstart", folder) / "records").glob("*.json")):
        record = json.loads(path.read_bytes())
        path.unlink()
        if record["block"] < blocks:
            originals.setdefault(record["case_id"], []).append(record)
    planned = {}
    for number, (time_steps, batch, neurons) in enumerate(_sizes()):
        for originals_of_one in originals.values():
            if len(planned) == cases:
                break
            random = Random(f"{seed} {len(planned)}")
            case = {
                **originals_of_one[0]["case"],
                "time_steps": time_steps,
                "batch": batch,
                "neurons": neurons,
            }
            typed = Case.from_dict(case)
            planned[typed.id] = full_name(typed)
            pace = exp(random.gauss(0, 0.5))
            for original in originals_of_one:
                record = {
                    **original,
                    "case": case,
                    "case_id": typed.id,
                    "live_set": f"{number:06x}{original['block']:06x}",
                }
                record["parts"] = {
                    name: _changed(name, part, random, pace)
                    for name, part in original["parts"].items()
                }
                _write(folder / "records", record)
        if len(planned) == cases:
            break
    (folder / "planned.json").write_text(json.dumps(planned, indent=1))


def _sizes():
    """Sizes as a grid has them, the first ones small: (time_steps, batch, neurons)."""
    for part in count():
        for time_steps in (37, 97, 199, 401):
            for batch in (3, 7, 17, 31, 61):
                for neurons in range(100 * part + 31, 100 * part + 131, 10):
                    yield time_steps, batch, neurons


def _changed(name: str, part: dict, random: Random, pace: float) -> dict:
    """The part with other times, each a little different."""
    changed = {**part, "seconds": part["seconds"] and part["seconds"] * exp(random.gauss(0, 0.1))}
    if name in PHASES and part["timing"]:
        slots = []
        for slot in part["timing"]["slots"]:
            factor = pace * exp(random.gauss(0, 0.005))
            times = {each: slot[each] * factor for each in SECONDS}
            slots.append({**slot, **times, "samples": [one * factor for one in slot["samples"]]})
        changed["timing"] = {**part["timing"], "slots": slots}
    return changed


def _write(folder: Path, record: dict) -> None:
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in record.items()]
    name = f"{record['case_id']}-{record['block']}-{record['done_key']}.json"
    (folder / name).write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write_many(Path(sys.argv[1]), int(sys.argv[2]))
