"""Which products ran in this process, and at which share of ones, for the records of measurements."""

from . import dense

TABLES_FROM = 0.3
"""The share of ones from where on sums of rows come from tables of partial sums. Measured with AVX-512 and AVX2."""

_ran: dict[tuple[int, int], tuple[int, str, float | None]] = {}
"""By inputs and neurons: rows, product and share of ones of the call with the most rows, the last of them."""


def note(shape, outputs: int, counts: int, ones: int) -> None:
    """Note a forward product of x (T, B, K) with `outputs` neurons, in which `ones` bits were set; -1: x was no spikes."""
    steps, batch, inputs = shape
    share = ones / (steps * batch * inputs * counts.bit_length())
    if steps * batch >= _ran.get((inputs, outputs), (0,))[0]:
        product = "dense" if ones < 0 else "table" if share > TABLES_FROM else "event"
        _ran[inputs, outputs] = steps * batch, product, None if ones < 0 else share


def products() -> list[dict]:
    """For each layer (K, N), in the order of their first calls: `product`, "event", "table" or "dense", and `share`, that of ones
    in its input, None where it was no spikes."""
    return [{"layer": f"{k}x{n}", "product": product, "share": share} for (k, n), (_, product, share) in _ran.items()]


def facts() -> dict:
    """`product` and `product_rate` of a record: the products that ran, a dense one with how it was computed, and the mean share
    of ones over layers. Nothing, if none of our own ran."""
    ran = products()
    names = list(dict.fromkeys(one["product"] for one in ran if one["product"] != "dense"))
    if dense.choices.cache_info().currsize:
        names.append("dense by " + ", ".join(dict.fromkeys(dense.choices().values())))
    shares = [one["share"] for one in ran if one["share"] is not None]
    rate = {"product_rate": sum(shares) / len(shares)} if shares else {}
    return {"product": ", ".join(names), **rate} if names else {}
