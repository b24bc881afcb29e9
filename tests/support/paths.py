"""Where tests find what they share."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"
FAULTS = TESTS / "faults"
FAULTY = FAULTS / "faulty"
WRONG = FAULTS / "wrong"
SETS = sorted(path.name.partition(".")[0] for path in (ROOT / "results").glob("*.bundle.jsonl"))
"""Names of the committed sets."""


def committed(name: str) -> Path:
    """The bundle of a committed set."""
    return ROOT / "results" / f"{name}.bundle.jsonl"
