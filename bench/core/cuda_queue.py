"""The work that torch has asked a CUDA device for: it is done in order, and may be done later."""

from typing import Any


class CudaQueue:
    """Torch's current stream of `device`, a torch.device; None: of the current one. `cache_bytes` is the size of its L2."""

    def __init__(self, device: Any = None) -> None:
        import torch

        self.torch, self.device = torch.cuda, device
        self.cache_bytes = int(torch.cuda.get_device_properties(device).L2_cache_size)
        self.scratch = torch.empty(0, device=device or "cuda", dtype=torch.uint8)

    def hold(self, cycles: int) -> None:
        """Let the device do nothing for so many of its cycles. What is asked for meanwhile waits."""
        with self.torch.device(self.device):
            self.torch._sleep(cycles)

    def flush(self, size: int) -> None:
        """Let the device copy so many bytes that have nothing to do with anything: they leave nothing else in its cache, and half
        of what it then holds has still to be written, as behind any call that writes as much as it reads."""
        if len(self.scratch) < size:
            self.scratch = self.scratch.new_empty(size)
        half = size // 2
        self.scratch[:half].copy_(self.scratch[half : 2 * half])

    def mark(self) -> Any:
        """A point in the queue, behind all that was asked for so far."""
        mark = self.torch.Event(enable_timing=True)
        mark.record(self.torch.current_stream(self.device))
        return mark

    def reached(self, mark: Any) -> bool:
        return bool(mark.query())

    def seconds(self, first: Any, last: Any) -> float:
        """On the device, between two marks that it has reached."""
        return float(first.elapsed_time(last)) / 1e3

    def wait(self) -> None:
        """Return once the device has done everything."""
        self.torch.synchronize(self.device)
