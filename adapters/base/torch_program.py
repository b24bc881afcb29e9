"""Drives a torch network for the worker: precision, gradients, waiting and memory, the same for every framework."""

from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from .contract import Gradients, Program
from .torch_state import STEPS, state_dtype

DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "amp-bf16": torch.float32}


class LinearNeuron(torch.nn.Module):
    """A Linear over all T·B rows at once, then a neuron: (T, B, inputs) → (T, B, outputs)."""

    def __init__(self, inputs, outputs, bias, neuron):
        super().__init__()
        self.linear = torch.nn.Linear(inputs, outputs, bias=bias)
        self.neuron = neuron

    def forward(self, x):
        return self.neuron(self.linear(x))


@dataclass
class Result:
    """Borders are the spikes of every layer that was kept; x is the leaf whose gradient is asked for."""

    x: torch.Tensor
    borders: list[torch.Tensor]


class TorchProgram(Program):
    def __init__(self, adapter, case):
        self.adapter, self.case = adapter, case
        self.device = torch.device(case.device)
        self.dtype = DTYPES[case.precision]
        self.scale = adapter.scale_of(case)
        self.layers = torch.nn.ModuleList(self._layers()).to(self.device, self.dtype)
        self.calls = list(self.layers)
        pairs = [] if case.workload == "lif" else [self._parameters(layer) for layer in self.layers]
        self.weights = [weight for weight, _ in pairs]
        self.biases = [bias for _, bias in pairs]
        self.parameters = [p for p in self.weights + self.biases if p is not None]
        self.autocast = torch.autocast(self.device.type, torch.bfloat16) if case.precision == "amp-bf16" else nullcontext()

    def _layers(self):
        adapter, case, features = self.adapter, self.case, (self.case.neurons,)
        if case.workload == "lif":
            return [adapter.native(features) if case.native else adapter.lif(case.neuron, features, case.construction)]
        if case.native:
            return [adapter.native_layer(case.neurons, case.neurons, case.bias) for _ in range(case.layers)]
        return adapter.stack(case)

    def _parameters(self, layer):
        """Of a layer of the adapter's own where it says they are; `native` stands behind a Linear of ours unless it has one."""
        return (layer.linear.weight, layer.linear.bias) if isinstance(layer, LinearNeuron) else self.adapter.parameters(layer)

    @property
    def device_clock(self):
        return "events" if self.device.type == "cuda" else "process"

    # -- data ------------------------------------------------------------------------------------------------

    def _put(self, array, dtype):
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device, dtype)

    @torch.no_grad()
    def load(self, weights, biases):
        for parameter, values in zip(self.weights + self.biases, list(weights) + list(biases), strict=True):
            if parameter is not None:
                parameter.copy_(self._put(values * np.float32(self.scale), parameter.dtype).reshape(parameter.shape))

    def put_input(self, array):
        return self._put(array * np.float32(self.scale) if self.case.workload == "lif" else array, self.dtype)

    def put_upstream(self, array, result):
        return self._put(array, result.borders[-1].dtype)

    # -- calls -----------------------------------------------------------------------------------------------

    def forward(self, x):
        x = x.detach().requires_grad_(self.case.input_grad)
        borders = []
        with self.autocast:
            spikes = x
            for call in self.calls:
                spikes = call(self._given(spikes))
                borders = [*borders, spikes] if self.holds_borders else [spikes]
        if not isinstance(spikes, torch.Tensor):
            raise TypeError(f"a neuron must return its spikes alone, not a {type(spikes).__name__}")
        return Result(x, borders)

    def _given(self, spikes):
        return spikes if self.case.precision == "amp-bf16" else self.adapter.handed_on(spikes, self.dtype)

    def backward(self, result, upstream):
        result.borders[-1].backward(upstream)
        return result

    @torch.no_grad()
    def inference(self, x):
        with self.autocast:
            for call in self.calls:
                x = call(self._given(x))
        return Result(x, [x])

    @cached_property
    def optimizer(self):
        """Made at the first step: importing torch.optim takes a second that no framework should answer for."""
        return torch.optim.SGD(self.parameters, lr=0.0)

    def step(self, x, upstream):
        if not self.parameters:
            return self.backward(self.forward(x), upstream)
        self.optimizer.zero_grad(set_to_none=True)
        result = self.backward(self.forward(x), upstream)
        self.optimizer.step()
        return result

    def wait(self, result):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def release(self):
        for parameter in self.layers.parameters():
            parameter.grad = None

    # -- what came out ---------------------------------------------------------------------------------------

    def spikes(self, result):
        return [_numpy(border) for border in result.borders]

    def gradients(self, result):
        scale = np.float32(self.scale)
        weights = [_numpy(p.grad) if p.grad is None else _numpy(p.grad) * scale for p in self.weights]
        biases = [None if p is None or p.grad is None else _numpy(p.grad).reshape(-1) * scale for p in self.biases]
        weights = [None if w is None else w.reshape(w.shape[0], -1) for w in weights]
        given = None if result.x.grad is None else _numpy(result.x.grad)
        if given is not None and self.case.workload == "lif":
            given = given * scale
        return Gradients(weights, biases, given)

    def argument_bytes(self):
        return sum(_bytes(p) for p in self.parameters)

    def result_bytes(self, result):
        gradients = [p.grad for p in self.parameters] + [result.x.grad]
        return _bytes(result.borders[-1]) + sum(_bytes(g) for g in gradients if g is not None)

    def facts(self, result):
        extra = [
            name
            for name, p in self.layers.named_parameters()
            if p.requires_grad and not any(p is known for known in self.parameters)
        ]
        warnings = [f"also trains {', '.join(extra)}: their gradient is timed too"] if extra else []
        dtype = str(result.borders[-1].dtype).removeprefix("torch.")
        seen = {"output_dtype": dtype, "state_dtype": self._state_dtype(result.x)}
        return {**seen, "warnings": warnings, **self.adapter.facts(self.case)}

    @torch.no_grad()
    def _state_dtype(self, x):
        """Of the first layer, run step by step: what a compiler keeps between steps can not be seen."""
        if self.case.mode == "compile":
            return None
        with self.autocast:
            return state_dtype(self.layers[0], x[:STEPS])

    def compile_facts(self):
        seconds = self.adapter.compile_seconds()
        return {} if seconds is None else {"compile_s": seconds}

    # -- ceilings, clocks, memory ----------------------------------------------------------------------------

    def matmul(self, rows, inner, columns, dtype):
        left = torch.ones(rows, inner, device=self.device, dtype=DTYPES[dtype])
        right = torch.ones(inner, columns, device=self.device, dtype=DTYPES[dtype])
        out = torch.empty(rows, columns, device=self.device, dtype=DTYPES[dtype])

        def once():
            torch.mm(left, right, out=out)
            self.wait(None)

        return once

    def copy(self, count):
        source = torch.zeros(count, device=self.device)
        target = torch.empty_like(source)

        def once():
            target.copy_(source)
            self.wait(None)

        return once

    def device_timer(self):
        return CudaTimer() if self.device.type == "cuda" else None

    def memory_probe(self):
        return CudaMemory(self.device) if self.device.type == "cuda" else None


class CudaTimer:
    """Time between two points of the current stream. Untested: no CUDA device has run this yet."""

    def __init__(self):
        self.first, self.last = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def start(self):
        self.first.record()

    def stop(self):
        self.last.record()

    def seconds(self):
        return self.first.elapsed_time(self.last) / 1e3


class CudaMemory:
    """Torch's allocator counters. Untested: no CUDA device has run this yet."""

    meaning = "torch allocated"

    def __init__(self, device):
        self.device = device

    def reset(self):
        torch.cuda.synchronize(self.device)
        torch.cuda.reset_peak_memory_stats(self.device)
        self.before = torch.cuda.memory_allocated(self.device)

    def peak(self):
        """(bytes in use at reset, most bytes in use since, most bytes held by the allocator since)."""
        torch.cuda.synchronize(self.device)
        return self.before, torch.cuda.max_memory_allocated(self.device), torch.cuda.max_memory_reserved(self.device)


def _numpy(tensor):
    if tensor is None:
        return None
    return tensor.detach().to("cpu", torch.float32, copy=True).numpy()


def _bytes(tensor):
    return tensor.numel() * tensor.element_size()
