"""Where tests find what they share."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
GOLDEN = TESTS / "golden"
FAULTY = TESTS / "faults" / "faulty"
WRONG = TESTS / "faults" / "wrong"
