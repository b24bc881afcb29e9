"""What the badge of a framework says: how many neurons are proved, and never a rank, which changes with the size."""

from snnbench.kernels.spec import NEURONS

GOOD, SOME, BAD = "#00795a", "#8a5a00", "#b04a00"


def badge_of(verdicts: dict[str, str]) -> tuple[str, str]:
    """Words and colour, from `proved`, `rejected` or something else by the neuron's name."""
    tried = [name for name in NEURONS if name in verdicts]
    proved = [name for name in tried if verdicts[name] == "proved"]
    rejected = any(verdicts[name] == "rejected" for name in tried)
    words = f"proved {len(proved)}/{len(tried)} neurons" if tried else "nothing tried"
    return words, BAD if rejected or not proved else GOOD if len(proved) == len(tried) else SOME
