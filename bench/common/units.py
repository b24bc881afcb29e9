"""Numbers as texts."""

from math import ceil, floor, log10

SECONDS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun: `1 case`, `3 cases`."""
    return f"{number} {noun}{'s' * (number != 1)}"


def seconds(value: float | None) -> str:
    """Formats a time with three significant digits: `1.23 ms`."""
    return "" if value is None else _scaled(value, SECONDS)


def most_seconds(value: float) -> str:
    """Formats an upper bound of a time like `seconds`, rounded up."""
    return _scaled(value, SECONDS, up=True)


def seconds_between(low: float, high: float) -> str:
    """Formats two times, with one unit if they share it: `1.23 – 1.31 ms`."""
    first, last = seconds(low), seconds(high)
    number, unit = first.split(" ")
    return f"{number if last.endswith(f' {unit}') else first} – {last}"


def size(value: float | None) -> str:
    """Formats bytes with a binary unit: `12.3 MiB`."""
    if value is None or value < 2**10:
        return "" if value is None else f"{value:.0f} B"
    return _scaled(value, {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10})


def most_duration(value: float) -> str:
    """Formats an upper bound of a span of time like `duration`, rounded up."""
    return duration(ceil(value) if value < 90 else 60 * ceil(value / 60))


def duration(value: float) -> str:
    """Formats a span of time: `40 s`, `3 min`, `2 h 5 min`."""
    if value < 90:
        return f"{value:.0f} s"
    minutes = round(value / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def joules(value: float | None) -> str:
    """Formats an energy with three significant digits: `1.23 mJ`."""
    return "" if value is None else _scaled(value, {"J": 1.0, "mJ": 1e-3, "µJ": 1e-6, "nJ": 1e-9})


def many(value: float | None) -> str:
    """Formats a count: `1.23 M`, `12,345`."""
    if value is None or value < 1e5:
        return "" if value is None else f"{value:,.0f}"
    return _scaled(value, {"T": 1e12, "G": 1e9, "M": 1e6, "k": 1e3})


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def small_share(value: float | None) -> str:
    """Formats a share with two digits, so that one in a million is not 0 %."""
    return "" if value is None else f"{100 * value:.2g} %"


def error(value: float | None) -> str:
    return "" if value is None else "0" if value == 0 else f"{value:.1e}"


def ratio(
    value: float, low: float | None = None, high: float | None = None, sign: str = "×"
) -> str:
    """Formats a ratio with its interval, rounded, or its lower bound, rounded down.

    All have the same number of decimals: two, and more below one, for three digits.

    >>> ratio(1.484, 1.46, 1.51), ratio(0.1032, 0.1, 0.1068), ratio(2.31, 2.0)
    ('1.48× (1.46–1.51)', '0.103× (0.100–0.107)', '2.31× (≥ 2.00)')
    """
    digits = max(2, 2 - floor(log10(value)))
    text = f"{value:.{digits}f}{sign}"
    if low is None:
        return text
    return (
        f"{text} (≥ {_rounded_down(low, digits)})"
        if high is None
        else f"{text} ({low:.{digits}f}–{high:.{digits}f})"
    )


def ratio_within(value: float, low: float, high: float) -> str:
    """Formats a ratio of a range with the decimals that the range leaves, two at most.

    >>> ratio_within(32.1, 3.91, 37.6), ratio_within(3.21, 2.1, 3.9), ratio_within(1.618, 1.6, 1.7)
    ('32', '3.2', '1.62')
    """
    digits = 1 - floor(log10(max(high - low, 1e-2)))
    return f"{value:,.{min(max(digits, 0), 2)}f}"


def plain_ratio(value: float) -> str:
    """Formats a ratio without an interval in two digits.

    >>> plain_ratio(1.964), plain_ratio(24.3), plain_ratio(1023.0)
    ('2.0', '24', '1,023')
    """
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def least_ratio(value: float) -> str:
    """Formats the lower bound of a ratio in two digits, three below 1.1, rounded down.

    >>> least_ratio(1.68), least_ratio(1.0999), least_ratio(24.9)
    ('1.6', '1.09', '24')
    """
    return _rounded_down(value, 0 if value >= 10 else 1 if value >= 1.1 else 2)


def _rounded_down(value: float, digits: int) -> str:
    shift = 10**digits
    return f"{floor(value * shift * (1 + 1e-12)) / shift:,.{digits}f}"


def _scaled(value: float, units: dict[str, float], up: bool = False) -> str:
    """Formats `value` in the largest of `units` that it reaches; otherwise in the smallest.
    `up`: it is rounded up."""
    unit = next((name for name, factor in units.items() if value >= factor), [*units][-1])
    number = value / units[unit]
    digits = 0 if number >= 100 else 1 if number >= 10 else 2
    if up:
        number = ceil(number * 10**digits * (1 - 1e-12)) / 10**digits
    return f"{number:.{digits}f} {unit}"
