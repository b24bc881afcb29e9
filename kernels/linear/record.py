"""Records the products that ran in this process and their share of ones, for measurements."""

from dataclasses import dataclass

from . import dense

TABLES_FROM, TABLES_FROM_BACKWARD = 0.255, 0.34
"""Shares of ones from which on tables of partial sums are faster, forward and in the weight's
gradient, of many rows.

Measured with AVX-512 and AVX2 at N = 256 and 512, with equal results. Tables of the gradient serve
fewer sums.
"""


def tables_from(share: float, sums: int, rows: int) -> float:
    """Returns the share of ones from which on tables are faster for so many `sums` of selected
    `rows`, where `share` is that of many.

    Four partial sums for each row are filled in, and whole words of 64 rows are added.
    """
    return (share + 4 / sums) * 64 * -(-rows // 64) / rows


@dataclass
class Ran:
    """The last product of spikes of one size."""

    rows: int
    inputs: int
    neurons: int
    planes: int
    ones: int | None = None
    """Set bits of the input; -1 if it was no spikes; None if nothing ran."""

    @property
    def share(self) -> float | None:
        """Share of ones in the input; None if it was no spikes."""
        return (
            None
            if self.ones is None or self.ones < 0
            else self.ones / (self.rows * self.inputs * self.planes)
        )

    @property
    def product(self) -> str:
        """Product of the forward pass: "dense", "table" or "event"."""
        if self.share is None:
            return "dense"
        by_table = self.share > tables_from(TABLES_FROM, self.rows, self.inputs)
        return "table" if by_table else "event"


_ran: dict[tuple[int, int], Ran] = {}


def of(shape, neurons: int, counts: int) -> Ran:
    """Returns the record for x (T, B, K) and `neurons`; each layer reports that with the most
    rows."""
    steps, batch, inputs = shape
    largest = _ran.get((inputs, neurons))
    if (
        largest is None
        or steps * batch > largest.rows
        or (steps * batch == largest.rows and counts.bit_length() != largest.planes)
    ):
        largest = _ran[inputs, neurons] = Ran(steps * batch, inputs, neurons, counts.bit_length())
    return (
        largest
        if steps * batch == largest.rows
        else Ran(steps * batch, inputs, neurons, counts.bit_length())
    )


def products() -> list[Ran]:
    """Returns the products that ran, one for each layer (K, N), in the order of first calls."""
    return [ran for ran in _ran.values() if ran.ones is not None]


def facts() -> dict:
    """Returns `product`, the products that ran, and `product_rate`, the mean share of ones over
    layers.

    A dense product includes the key of WAYS. Returns an empty dict if no product of this package
    ran.
    """
    ran = products()
    names = list(dict.fromkeys(r.product for r in ran if r.product != "dense"))
    if dense.choices.cache_info().currsize:
        names.append("dense by " + ", ".join(dict.fromkeys(dense.choices().values())))
    shares = [r.share for r in ran if r.share is not None]
    rate = {"product_rate": sum(shares) / len(shares)} if shares else {}
    return {"product": ", ".join(names), **rate} if names else {}
