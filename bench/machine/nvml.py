"""Queries of NVIDIA's driver; a refused query gives None and is no error.

The driver numbers all GPUs of a machine; frameworks number those in CUDA_VISIBLE_DEVICES, in its
order. This module uses the numbers of frameworks: 0 is `cuda:0`.
"""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

Question = Callable[[], Any]


def answer(ask: Question) -> Any:
    """Returns the result of `ask`, or None if the driver or its version refuses."""
    import pynvml

    try:
        return ask()
    except (pynvml.NVMLError, AttributeError):
        return None


def visible_devices() -> list[str] | None:
    """Returns the entries of CUDA_VISIBLE_DEVICES: indices, `GPU-…` or `MIG-…`. None means all.

    As in CUDA, an invalid entry ends the list.
    """
    text = os.environ.get("CUDA_VISIBLE_DEVICES")
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    wrong = (
        place
        for place, name in enumerate(names)
        if not (name.isdecimal() or name.startswith(("GPU-", "MIG-")))
    )
    return names[: next(wrong, None)]


def handle_of(index: int) -> Any:
    """Initialises the library and returns the handle of `cuda:index`, or None.

    A part of a GPU (MIG) reports its memory, and neither clocks nor power: see `board_of`.
    """
    import pynvml

    answer(pynvml.nvmlInit)  # without it the next question is refused
    names = visible_devices()
    if names is None:
        return answer(lambda: pynvml.nvmlDeviceGetHandleByIndex(index))
    if index >= len(names):
        return None
    name = names[index]
    if name.isdecimal():
        return answer(lambda: pynvml.nvmlDeviceGetHandleByIndex(int(name)))
    if name.startswith("MIG-"):
        return answer(lambda: pynvml.nvmlDeviceGetHandleByUUID(name))
    named = (
        handle
        for handle in _all()
        if str(answer(partial(pynvml.nvmlDeviceGetUUID, handle))).startswith(name)
    )
    return next(named, None)


def board_of(index: int) -> Any:
    """Returns the whole GPU of `cuda:index`, which reports clocks and power."""
    import pynvml

    handle = handle_of(index)
    if any(name.startswith("MIG-") for name in (visible_devices() or [])[index : index + 1]):
        return answer(lambda: pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)) or handle
    return handle


def device_count() -> int:
    """Returns the number of GPUs that frameworks may use."""
    names = visible_devices()
    if names is None:
        return len(_all())
    return sum(handle_of(index) is not None for index in range(len(names)))


def _all() -> list[Any]:
    """Returns the handles of all GPUs of the machine, in the driver's order."""
    import pynvml

    answer(pynvml.nvmlInit)
    count = answer(pynvml.nvmlDeviceGetCount) or 0
    handles = (
        answer(partial(pynvml.nvmlDeviceGetHandleByIndex, number)) for number in range(count)
    )
    return [handle for handle in handles if handle is not None]
