"""Questions to NVIDIA's driver, each of which it may refuse: what is refused is unknown, and ends nothing."""

from collections.abc import Callable
from typing import Any

Question = Callable[[], Any]


def answer(ask: Question) -> Any:
    """What `ask` gives, or None where the driver or this version of it refuses."""
    import pynvml

    try:
        return ask()
    except (pynvml.NVMLError, AttributeError):
        return None


def handle_of(index: int) -> Any:
    """The device of that number, after the library was started; None where there is none."""
    import pynvml

    answer(pynvml.nvmlInit)  # without it the next question is refused
    return answer(lambda: pynvml.nvmlDeviceGetHandleByIndex(index))


def device_count() -> int:
    import pynvml

    answer(pynvml.nvmlInit)
    return answer(pynvml.nvmlDeviceGetCount) or 0
