"""The integrator as a module, and the sum over time of its softmax."""

import ctypes
import struct
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..build import cpp
from .autograd import suffices
from .cpu.launch import GRAIN
from .functional import integrate

MOST = 1024
"""MOST of integrator.cpp."""


class Integrator(torch.nn.Module):
    """A readout that never fires: x (T, B, …) → potentials v[t] = decay · v[t-1] + gain · x[t] of
    that shape, from 0. With `softmax_sum` it returns Σ_t softmax(v[t]) over the last dim,
    (1, B, …), and keeps no potentials. `backend` is that of `lif`; plain eager calls in float32
    on CPUs are one pass in C++ unless it names another.

    Example:

        >>> readout = torch.nn.Sequential(torch.nn.Linear(128, 20), Integrator(0.9, gain=0.1))
        >>> readout(torch.randn(100, 16, 128)).shape
        torch.Size([100, 16, 20])
    """

    def __init__(
        self,
        decay: float,
        gain: float = 1.0,
        *,
        softmax_sum: bool = False,
        backend: str | None = None,
    ):
        super().__init__()
        self.decay, self.gain, self.softmax_sum, self.backend = decay, gain, softmax_sum, backend

    def forward(self, x: Tensor) -> Tensor:
        if self._compiles(x):
            return Integration.apply(x, self.decay, self.gain, self.softmax_sum)
        scaled = x if self.gain == 1 else self.gain * x
        v, _ = integrate(scaled, self.decay, backend=self.backend)
        return v.softmax(-1).sum(0, keepdim=True) if self.softmax_sum else v

    def _compiles(self, x: Tensor) -> bool:
        return (
            self.backend in (None, "cpp")
            and suffices((x,))
            and x.dtype == torch.float32
            and x.device.type == "cpu"
            and x.dim() > 1
            and x.numel() > 0
            and not (self.softmax_sum and x.shape[-1] > MOST)
            and cpp.unusable() is None
        )

    def extra_repr(self) -> str:
        ending = ", softmax_sum=True" if self.softmax_sum else ""
        return f"decay={self.decay:g}, gain={self.gain:g}{ending}"


class Integration(torch.autograd.Function):
    """x (T, B, …), float32, not empty → what `Integrator` returns. Keeps the softmax alone."""

    @staticmethod
    def forward(ctx, x: Tensor, decay: float, gain: float, softmax_sum: bool) -> Tensor:
        x, values = x.contiguous(), x.new_empty(x.shape)
        ctx.plan = x.shape, decay, gain, softmax_sum
        total = x.new_empty((1, *x.shape[1:])) if softmax_sum else None
        _run("integrator_forward", *ctx.plan, x, values, total)
        if total is None:
            return values
        ctx.save_for_backward(values)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx, gradient):
        gradient, by_x = gradient.contiguous(), gradient.new_empty(ctx.plan[0])
        if ctx.plan[-1]:
            _run("integrator_backward", *ctx.plan, *ctx.saved_tensors, by_x, gradient)
        else:
            _run("integrator_backward", *ctx.plan, gradient, by_x, None)
        return by_x, None, None, None


def _run(
    name: str,
    shape: torch.Size,
    decay: float,
    gain: float,
    softmax_sum: bool,
    *arrays: Tensor | None,
) -> None:
    function, numbers = _plan(name, shape, decay, gain, softmax_sum, torch.get_num_threads())
    function(numbers, _ADDRESSES.pack(*[0 if t is None else t.data_ptr() for t in arrays]))


_ADDRESSES = struct.Struct("=3q")


@lru_cache(maxsize=1024)
def _plan(name, shape, decay, gain, softmax_sum, threads):
    """Returns the compiled function and its packed numbers."""
    numbers = shape[1:].numel()
    width = shape[-1] if softmax_sum else min(MOST, numbers)
    threads = min(threads, -(-numbers // width), 1 + shape[0] * numbers // GRAIN)
    path = Path(__file__).with_name("cpu") / "integrator.cpp"
    function = getattr(cpp.kernel(path, {"INTEGRATOR_SOFTMAX": int(softmax_sum)}), name)
    function.argtypes, function.restype = [ctypes.c_char_p, ctypes.c_char_p], None
    return function, struct.pack("=4q2f", threads, shape[0], numbers, width, decay, gain)
