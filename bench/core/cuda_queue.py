"""Times and delays the work that torch has queued on a CUDA device."""

from typing import Any


class CudaQueue:
    """Torch's current stream of the torch.device `device` (None: the current one). `cache_bytes` is
    the size of its L2."""

    def __init__(self, device: Any = None) -> None:
        import torch

        self.torch, self.device = torch.cuda, device
        self.cache_bytes = int(torch.cuda.get_device_properties(device).L2_cache_size)
        self.scratch = torch.empty(0, device=device or "cuda", dtype=torch.uint8)

    def hold(self, cycles: int) -> None:
        """Keeps the device busy with nothing for so many cycles; work queued meanwhile waits."""
        with self.torch.device(self.device):
            self.torch._sleep(cycles)

    def flush(self, size: int) -> None:
        """Copies so many unrelated bytes on the device. They evict its cache and leave half of it
        still to be written, as any call does that writes as much as it reads."""
        if len(self.scratch) < size:
            self.scratch = self.scratch.new_empty(size)
        half = size // 2
        self.scratch[:half].copy_(self.scratch[half : 2 * half])

    def mark(self) -> Any:
        """Returns a point in the queue, behind all work so far."""
        mark = self.torch.Event(enable_timing=True)
        mark.record(self.torch.current_stream(self.device))
        return mark

    def reached(self, mark: Any) -> bool:
        return bool(mark.query())

    def seconds(self, first: Any, last: Any) -> float:
        """Seconds on the device between two marks that it has reached."""
        return float(first.elapsed_time(last)) / 1e3

    def wait(self) -> None:
        """Returns once the device is idle."""
        self.torch.synchronize(self.device)
