"""Time on a CUDA device, between two points of torch's current stream."""


class CudaTimer:
    """`seconds` may be asked after a wait."""

    def __init__(self) -> None:
        import torch

        self.first, self.last = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def start(self) -> None:
        self.first.record()

    def stop(self) -> None:
        self.last.record()

    def seconds(self) -> float:
        return float(self.first.elapsed_time(self.last)) / 1e3
