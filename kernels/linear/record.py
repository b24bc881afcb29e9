"""Which products of spikes ran in this process, and at which share of ones, for the records of measurements."""

TABLES_FROM = 0.3
"""The share of ones from where on sums of rows come from tables of partial sums. Measured with AVX-512 and AVX2."""

_ran: dict[tuple[int, int, int], tuple[str, float | None]] = {}


def note(shape, outputs: int, counts: int, ones: int) -> None:
    """Note a forward product of x (T, B, K) with `outputs` neurons, in which `ones` bits were set; −1: x was no spikes."""
    steps, batch, inputs = shape
    share = ones / (steps * batch * inputs * counts.bit_length())
    product = "dense" if ones < 0 else "table" if share > TABLES_FROM else "event"
    _ran[steps * batch, inputs, outputs] = product, None if ones < 0 else share


def products() -> list[dict]:
    """For each layer (K, N), in the order of their first calls, what ran at its largest number of rows: `product`, "event",
    "table" or "dense", and `firing_rate`, the share of ones in its input; None where it was no spikes."""
    largest: dict[tuple[int, int], int] = {}
    for rows, *layer in _ran:
        largest[tuple(layer)] = max(rows, largest.get(tuple(layer), 0))
    ran = {layer: _ran[rows, *layer] for layer, rows in largest.items()}
    return [{"layer": f"{k}x{n}", "product": product, "firing_rate": share} for (k, n), (product, share) in ran.items()]
