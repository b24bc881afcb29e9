"""Which products ran in this process, and at which share of ones, for the records of measurements."""

from dataclasses import dataclass

from . import dense

TABLES_FROM, TABLES_FROM_BACKWARD = 0.255, 0.34
"""The shares of ones from where on sums of rows come from tables of partial sums, forward and in the weight's gradient, whose
tables serve fewer sums. Measured with AVX-512 and AVX2 at N = 256 and 512: alike."""


@dataclass
class Ran:
    """What products of spikes of one size did last."""

    rows: int
    inputs: int
    neurons: int
    planes: int
    ones: int | None = None
    """Bits that were set in the input; -1: it was no spikes; None: nothing ran."""

    @property
    def share(self) -> float | None:
        """That of ones in the input; None where it was no spikes."""
        return (
            None
            if self.ones is None or self.ones < 0
            else self.ones / (self.rows * self.inputs * self.planes)
        )

    @property
    def product(self) -> str:
        """That of the forward pass."""
        return "dense" if self.share is None else "table" if self.share > TABLES_FROM else "event"


_ran: dict[tuple[int, int], Ran] = {}


def of(shape, neurons: int, counts: int) -> Ran:
    """Where to note what products of x (T, B, K) with `neurons` do. For each layer the one with the most rows is told."""
    steps, batch, inputs = shape
    known = _ran.get((inputs, neurons))
    if (
        known is None
        or steps * batch > known.rows
        or (steps * batch == known.rows and counts.bit_length() != known.planes)
    ):
        known = _ran[inputs, neurons] = Ran(steps * batch, inputs, neurons, counts.bit_length())
    return (
        known
        if steps * batch == known.rows
        else Ran(steps * batch, inputs, neurons, counts.bit_length())
    )


def products() -> list[Ran]:
    """What ran, a layer (K, N) each, in the order of their first calls."""
    return [ran for ran in _ran.values() if ran.ones is not None]


def facts() -> dict:
    """`product` and `product_rate` of a record: the products that ran, a dense one with how it was computed, and the mean share
    of ones over layers. Nothing, if none of our own ran."""
    ran = products()
    names = list(dict.fromkeys(one.product for one in ran if one.product != "dense"))
    if dense.choices.cache_info().currsize:
        names.append("dense by " + ", ".join(dict.fromkeys(dense.choices().values())))
    shares = [one.share for one in ran if one.share is not None]
    rate = {"product_rate": sum(shares) / len(shares)} if shares else {}
    return {"product": ", ".join(names), **rate} if names else {}
