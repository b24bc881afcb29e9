"""Questions to NVIDIA's driver, each of which it may refuse: what is refused is unknown, and ends nothing.

The driver counts all GPUs of a machine; frameworks count those that CUDA_VISIBLE_DEVICES names, in its order. Here they have the
numbers of frameworks: 0 is `cuda:0`.
"""

import os
from collections.abc import Callable
from functools import partial
from typing import Any

Question = Callable[[], Any]


def answer(ask: Question) -> Any:
    """What `ask` gives, or None where the driver or this version of it refuses."""
    import pynvml

    try:
        return ask()
    except (pynvml.NVMLError, AttributeError):
        return None


def visible_devices() -> list[str] | None:
    """The GPUs that frameworks may use, as CUDA_VISIBLE_DEVICES names them: by index, or by `GPU-…` or `MIG-…`. None: all of
    them. As for CUDA, what comes behind a name that is none does not count."""
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
    """The device `cuda:index`, after the library was started; None where there is none. Of a part of a GPU (MIG) it is that part,
    which tells its memory, and neither clocks nor power."""
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
    """The whole GPU of which `cuda:index` is a part: it tells clocks and power. Mostly that is the same."""
    import pynvml

    handle = handle_of(index)
    if any(name.startswith("MIG-") for name in (visible_devices() or [])[index : index + 1]):
        return answer(lambda: pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)) or handle
    return handle


def device_count() -> int:
    """Of those that frameworks may use."""
    names = visible_devices()
    return (
        len(_all())
        if names is None
        else sum(handle_of(index) is not None for index in range(len(names)))
    )


def _all() -> list[Any]:
    """The handles of all GPUs of the machine, in the driver's order."""
    import pynvml

    answer(pynvml.nvmlInit)
    count = answer(pynvml.nvmlDeviceGetCount) or 0
    handles = (
        answer(partial(pynvml.nvmlDeviceGetHandleByIndex, number)) for number in range(count)
    )
    return [handle for handle in handles if handle is not None]
