"""Numbers as people read them."""


def seconds(value: float | None) -> str:
    """Three significant digits with a fitting unit: `1.23 ms`."""
    if value is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{_three(value / size)} {unit}"
    return f"{_three(value / 1e-9)} ns"


def size(value: float | None) -> str:
    """Bytes with a binary unit: `12.3 MiB`."""
    if value is None:
        return ""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= factor:
            return f"{_three(value / factor)} {unit}"
    return f"{value:.0f} B"


def duration(value: float) -> str:
    """A span as a person would say it: `40 s`, `3 min`, `2 h 5 min`."""
    if value < 90:
        return f"{value:.0f} s"
    minutes = round(value / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def small_share(value: float | None) -> str:
    """One in a million must not read as none."""
    return "" if value is None else f"{100 * value:.2g} %"


def error(value: float | None) -> str:
    return "" if value is None else "0" if value == 0 else f"{value:.1e}"


def _three(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
