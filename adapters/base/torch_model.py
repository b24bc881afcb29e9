"""A user's torch module behind arrays: what its modules hand out in a call, each neuron alone, and
gradients by parameter.

Calls begin from the state that the module had when it was loaded: `restore` puts back every
attribute and buffer that is no parameter, whatever framework keeps its state there.
"""

import copy
import functools
import importlib.util
import inspect
import itertools
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

AXES = {
    "tbf": "(T, B, features)",
    "btf": "(B, T, features)",
    "bf": "(B, features), one step a call",
}
FRAMEWORKS = {
    "snntorch._neurons": "snnTorch",
    "norse.torch.module": "Norse",
    "sinabs.layers": "Sinabs",
    "spikingjelly.activation_based.neuron": "SpikingJelly",
    "rockpool.nn.modules.torch": "Rockpool",
    "snnbench.kernels": "snnbench",
}
"""Frameworks by the modules that hold their neurons."""
RESETS = {
    "snnTorch": "snntorch.utils.reset(net)",
    "SpikingJelly": "functional.reset_net(net)",
    "Sinabs": "sinabs.reset_states(net)",
    "Rockpool": "net.reset_state()",
}
"""The call with which a framework's users reset a network of neurons that keep their state."""
RECURRENT = ("recurrent", "rec_connect")
"""Names under which neurons of snnTorch and Sinabs hold the layer that feeds their spikes back."""
FED_BACK = ("recurrent_weights", "w_rec")
"""Names under which neurons of Norse and Rockpool hold the weights that feed their spikes back."""
LOSSES = ("cross-entropy", "mse")
THRESHOLDS = ("threshold", "v_threshold", "v_th", "spike_threshold", "thresh", "vth")
"""Names under which neurons hold their threshold."""
MOST_SPIKES = 1 << 16
RUNNING = {"_parameters", "_modules", "_backward_hooks", "_forward_hooks", "_forward_pre_hooks"}
RUNNING |= {"_forward_hooks_with_kwargs", "_forward_hooks_always_called", "training"}
RUNNING |= {"_forward_pre_hooks_with_kwargs"}
RUNNING |= {"_initialize_hook", "_load_hook"}  # of lazy modules, gone after the first call
"""Attributes of a module that are no state of a call."""


class NoGradient(Exception):
    """Nothing that forward returns can be differentiated; the text says so."""


class NoLoss(Exception):
    """No output of forward has the classes of the loss; the text says so."""


class NoModel(Exception):
    """The file has no model; the text says why, without the file's name."""


def load(file: str, name: str) -> nn.Module:
    """Returns the module that a file has under `name`, or that its function or class `name`
    returns. Raises NoModel."""
    return as_module(made(file, name), name)


def made(file: str, name: str) -> Any:
    """Returns what a file has under `name`, or what its function or class `name` returns. Raises
    NoModel."""
    value = _named(file, name)
    is_maker = isinstance(value, type | functools.partial) or inspect.isroutine(value)
    return value() if is_maker else value


def as_module(value: Any, name: str) -> nn.Module:
    """Raises NoModel for anything else."""
    if not isinstance(value, nn.Module):
        raise NoModel(f"gives {type(value).__name__} as {name}, not a torch.nn.Module")
    devices = (one.device.type for one in itertools.chain(value.parameters(), value.buffers()))
    if other := next((device for device in devices if device != "cpu"), None):
        raise NoModel(f"gives {name} on the device {other}; build it on the CPU, where this runs")
    return value


def load_function(file: str, name: str) -> Callable[..., Any]:
    """Returns the function that a file has under `name`; a file that was loaded last is not loaded
    again. Raises NoModel."""
    function = _named(file, name)
    if not callable(function) or isinstance(function, nn.Module):
        raise NoModel(f"gives {type(function).__name__} as {name}, not a function")
    made: Callable[..., Any] = function
    return made


def _named(file: str, name: str) -> Any:
    loaded = sys.modules.get("examined_model")
    module = loaded if getattr(loaded, "__file__", None) == file else _loaded(file)
    if not hasattr(module, name):
        made = [key for key, value in vars(module).items() if isinstance(value, nn.Module)]
        hint = f"; it has {', '.join(made)}" if made else ""
        raise NoModel(f"has no {name!r}{hint}")
    return getattr(module, name)


def _loaded(file: str) -> Any:
    sys.path.append(str(Path(file).parent))  # last: its files must not hide a framework
    spec = importlib.util.spec_from_file_location("examined_model", file)
    if spec is None or spec.loader is None:
        raise NoModel("is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules["examined_model"] = module
    spec.loader.exec_module(module)
    return module


def forget(file: str) -> None:
    """Forgets the folder of a loaded file and the modules in it, so that another file's are not
    taken for them."""
    folder = str(Path(file).parent)
    sys.path.remove(folder)
    sys.modules.pop("examined_model", None)
    for name, module in [*sys.modules.items()]:
        path = getattr(module, "__file__", None) or ""
        installed = name.startswith("snnbench") or "site-packages" in path
        if path.startswith(f"{folder}{os.sep}") and not installed:
            del sys.modules[name]


def copy_of(module: nn.Module) -> nn.Module:
    """Returns a copy that resets reach too: snnTorch lists the neurons that it constructs."""
    try:
        copied = copy.deepcopy(module)
    except AttributeError:  # Sinabs' own copies of LIFRecurrent
        with _without_own_copies(module):
            copied = copy.deepcopy(module)
    for one in copied.modules():
        if isinstance(listed := getattr(type(one), "instances", None), list):
            listed.append(one)
    return copied


@contextmanager
def _without_own_copies(module: nn.Module) -> Iterator[None]:
    """Takes `__deepcopy__` out of the classes of modules for a while."""
    classes: set[Any] = {base for one in module.modules() for base in type(one).__mro__}
    methods = {one: vars(one)["__deepcopy__"] for one in classes if "__deepcopy__" in vars(one)}
    for one in methods:
        del one.__deepcopy__
    try:
        yield
    finally:
        for one, method in methods.items():
            one.__deepcopy__ = method


def share_parameters(first: nn.Module, second: nn.Module) -> list[tuple[str, str]]:
    """Gives the second module the parameters of the first: those of the same name and shape, then
    the next of the same shape. Returns the pairs of their names."""
    old, new = dict(first.named_parameters()), dict(second.named_parameters())
    pairs = [(name, name) for name in old if name in new and old[name].shape == new[name].shape]
    free = [name for name in new if (name, name) not in pairs]
    for name in old:
        if (name, name) not in pairs:
            other = next((each for each in free if new[each].shape == old[name].shape), None)
            if other is not None:
                free.remove(other)
                pairs.append((name, other))
    with torch.no_grad():
        for name, other in pairs:
            new[other].copy_(old[name])
    return pairs


def line_of(error: BaseException, file: str) -> str:
    """Returns ` (line N)`, the last line of `file` that an error came through, or nothing."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == file:
            return f" (line {frame.lineno})"
    return ""


def tensors(value: Any) -> list[Tensor]:
    """Returns the tensors in nested tuples, lists, dicts and dataclasses, in their order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    elif hasattr(value, "__dataclass_fields__"):
        value = list(vars(value).values())
    return (
        [one for part in value for one in tensors(part)] if isinstance(value, list | tuple) else []
    )


def detached(value: Any) -> Any:
    """Returns the same structure with copies of its tensors."""
    if isinstance(value, nn.Parameter):
        return value
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(detached, value))
    if isinstance(value, list | tuple):
        return type(value)(map(detached, value))
    return {key: detached(one) for key, one in value.items()} if type(value) is dict else value


def with_first(output: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Returns a module's output, a tensor or a tuple, with its first tensor changed; others as they
    are."""
    if isinstance(output, Tensor):
        return change(output)
    if isinstance(output, tuple) and output:
        values = (with_first(output[0], change), *output[1:])
        return type(output)(*values) if hasattr(output, "_fields") else values
    return output


def is_count(values: Tensor, signed: bool = False) -> bool:
    """Tells if values can be spikes: whole numbers from 0 on, not too many, or negative ones."""
    v = values.detach()
    if v.numel() == 0 or v.is_complex():
        return False
    v = v.float()
    least = -MOST_SPIKES if signed else 0
    return bool((v == v.round()).all() and v.min() >= least and v.max() <= MOST_SPIKES)


@dataclass
class Seen:
    """One module in one forward. `spikes`: its first output by call, None once one was no count;
    `first`: arguments of the first call; `passed_on`: see `_passed_on`; `sources`: modules of which
    every input was the first output; `last`: output of the last call; `gets_zeros`: every
    input was 0; `layout` and `batch`: see `_layout`."""

    name: str
    module: nn.Module
    calls: int = 0
    first: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
    spikes: list[Tensor] | None = field(default_factory=list)
    counts_in: bool = True
    gets_zeros: bool = True
    same_shape: bool = True
    passed_on: dict[int | str, int] = field(default_factory=dict)
    types: tuple[str, str] = ("", "")
    sources: set[str] = field(default_factory=set)
    last: Any = None
    layout: str = ""
    batch: int = 0

    @property
    def framework(self) -> str | None:
        kind = type(self.module).__module__
        return next((name for path, name in FRAMEWORKS.items() if kind.startswith(path)), None)

    @property
    def kind(self) -> str:
        """`snnTorch's Leaky`, or the class's name."""
        owner = f"{self.framework}'s " if self.framework else ""
        return owner + type(self.module).__name__

    @property
    def threshold(self) -> float | None:
        """The threshold that the module holds under one of the usual names; None if there is no
        such number."""
        for module in nn.Module.modules(self.module):  # Rockpool's own is another
            norse = getattr(module, "p", None)
            holders = (module, norse, *(norse if isinstance(norse, tuple) else ()))
            for holder, name in itertools.product(holders, THRESHOLDS):
                value = getattr(holder, name, None)
                if isinstance(value, Tensor) and value.numel():
                    value = float(value.detach().float().median())
                if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
                    return float(value)
        return None

    @property
    def recurrent(self) -> nn.Linear | None:
        """The layer through which the neuron's spikes become currents of the next step."""
        held = (getattr(self.module, name, None) for name in RECURRENT)
        return next((one for one in held if isinstance(one, nn.Linear)), None)

    @property
    def weights(self) -> dict[tuple[nn.Module, str], Tensor]:
        """Weights, by module and name, and what takes their place where the neuron is driven alone:
        spikes are not fed back, and inputs are its currents."""
        alone = {
            (holder, name): torch.zeros_like(holder._parameters[name], requires_grad=False)
            for holder, name in self._fed_back()
        }
        if self.inputs is not None:
            holder, name = self._given_by()
            alone[holder, name] = torch.eye(len(self.inputs))
            for bias, value in holder._parameters.items():
                if bias.startswith("bias") and value is not None:
                    alone[holder, bias] = torch.zeros(len(self.inputs))
        return alone

    def _fed_back(self) -> list[tuple[Any, str]]:
        layer, own = self.recurrent, dict(self.module.named_parameters(recurse=False))
        held = [(layer, name) for name, _ in layer.named_parameters()] if layer else []
        return [*held, *((self.module, name) for name in FED_BACK if name in own)]

    def _given_by(self) -> tuple[Any, str]:
        """Norse's recurrent neurons and snnTorch's LinearLeaky and LeakyParallel weigh their
        inputs."""
        if self.framework == "snnTorch" and hasattr(self.module, "rnn"):
            return self.module.rnn, "weight_ih_l0"
        if self.framework == "snnTorch":
            return getattr(self.module, "linear", None), "weight"
        return self.module, "input_weights"

    @property
    def inputs(self) -> Tensor | None:
        """Weights (N, features) of the inputs, where the neuron itself holds them."""
        holder, name = self._given_by()
        weights: Tensor | None = getattr(holder, "_parameters", {}).get(name)
        return weights

    @property
    def is_recurrent(self) -> bool:
        return bool(self._fed_back())

    @property
    def learned(self) -> list[str]:
        """The neuron's parameters, without those of `weights`."""
        weights = {id(holder._parameters[name]) for holder, name in self.weights}
        return [
            name
            for name, one in self.module.named_parameters()
            if one.requires_grad and id(one) not in weights
        ]

    @property
    def resets(self) -> str | None:
        """The call that resets it, in words; None if it has none. Sinabs' function passes over
        neurons that hold a layer (3.1.3)."""
        if self.framework == "Sinabs" and self.recurrent is not None:
            return f"{self.name}.reset_states(), which sinabs.reset_states(net) does not call,"
        if self.framework in RESETS:
            return RESETS[self.framework]
        names = ("reset", "reset_state", "reset_states", "reset_mem", "reset_hidden")
        found = next((name for name in names if callable(getattr(self.module, name, None))), None)
        return f"{self.name}.{found}()" if found else None


@dataclass
class Step:
    """A training step: the tensors of the output, spikes (T, B, N) by neuron in their order in
    forward, and the gradients of Σ outputs·normal numbers by parameter, None without one."""

    outputs: list[np.ndarray]
    spikes: dict[str, np.ndarray]
    gradients: dict[str, np.ndarray | None]


@dataclass(frozen=True)
class Training:
    """How a model is trained: by the function `step` of (module, x), or of (module, x, labels) if
    there are `classes`; else by the `loss` of random labels, or without `classes` of a sum of the
    outputs with random weights."""

    classes: int | None = None
    loss: str = LOSSES[0]
    step: Callable[..., Any] | None = None


class TorchModel:
    """A module, called on arrays (T, B, *features) in the layout `axes`."""

    def __init__(self, module: nn.Module, axes: str, training: Training = Training()):
        self.module, self.axes, self.training = module, axes, training
        floats = (p.dtype for p in module.parameters() if p.is_floating_point())
        self.dtype = next(floats, torch.float32)
        self._saved = {name: _state(one) for name, one in module.named_modules()}
        self._parameters: dict[str, Tensor] = {}

    def restore(self, but: str | None = None, seed: int = 1) -> None:
        """Puts all state back that is no parameter, except that of the module `but`; gradients are
        dropped and random numbers seeded."""
        torch.manual_seed(seed)
        for name, one in self.module.named_modules():
            if name != but:
                _put_back(one, self._saved[name])
        for parameter in self.module.parameters():
            parameter.grad = None

    def changed(self) -> list[str]:
        """Returns the names of modules that have other tensors than at the start."""
        return [
            name
            for name, one in self.module.named_modules()
            if any(
                not _equal(self._saved[name].get(key), value) for key, value in _state(one).items()
            )
        ]

    def held(self) -> dict[str, int]:
        """Returns the bytes of tensors that modules hold beside parameters, by attribute."""
        return {
            f"{name}.{key}".lstrip("."): sum(one.nbytes for one in tensors(value))
            for name, module in self.module.named_modules()
            for key, value in vars(module).items()
            if key not in RUNNING
        }

    def unregistered(self) -> dict[str, list[str]]:
        """Returns the classes of modules that attributes hold in lists, tuples and dicts, out of
        reach of `parameters` and `eval`."""
        known = {id(one) for _, one in self.module.named_modules()}
        found = {
            f"{name}.{key}".lstrip("."): [
                type(one).__name__ for one in _held_modules(value) if id(one) not in known
            ]
            for name, module in self.module.named_modules()
            for key, value in vars(module).items()
            if key not in RUNNING
        }
        return {name: kinds for name, kinds in found.items() if kinds}

    def put(self, x: np.ndarray) -> Tensor:
        return torch.tensor(x, dtype=self.dtype)

    def __call__(self, x: Tensor) -> list[Tensor]:
        """Returns the tensors of the output for x (T, B, *features); of a model that takes a step
        a call, stacked over time."""
        if self.axes == "bf":
            steps = [tensors(self.module(step)) for step in x.unbind(0)]
            return [torch.stack(parts) for parts in zip(*steps, strict=True)]
        return tensors(self.module(x.transpose(0, 1) if self.axes == "btf" else x))

    def inference(self, x: np.ndarray) -> list[np.ndarray]:
        """Returns the outputs for x without a graph."""
        with torch.no_grad():
            return [_array(y) for y in self(self.put(x))]

    def first_inference(self, x: np.ndarray) -> list[np.ndarray]:
        """Returns the outputs of an inference from the first state."""
        self.restore()
        return self.inference(x)

    def twice(self, x: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Returns the outputs of two calls in a row with the same random numbers, in eval mode."""
        self.module.eval()
        first = self.first_inference(x)
        torch.manual_seed(1)
        return first, self.inference(x)

    def backward(self, x: np.ndarray) -> None:
        """Calls and differentiates. Raises NoGradient, NoLoss, and what the model raises."""
        self.differentiate(self(self.put(x)))

    def train(self, x: np.ndarray) -> None:
        """Runs the user's training step; without one, calls and differentiates."""
        self.learn(self.put(x))

    def learn(self, x: Tensor) -> None:
        """See `train`."""
        if self.training.step is None:
            self.differentiate(self(x))
            return
        labels = [] if self.training.classes is None else [self._labels(x.shape[1])]
        self.training.step(self.module, x.transpose(0, 1) if self.axes == "btf" else x, *labels)

    def keep_parameters(self) -> None:
        """Copies the parameters, for `restore_parameters` and `untrained`."""
        self._parameters = {
            name: one.detach().clone() for name, one in self.module.named_parameters()
        }

    def restore_parameters(self) -> None:
        """Puts the parameters back; states stay."""
        with torch.no_grad():
            for name, one in self.module.named_parameters():
                one.copy_(self._parameters[name])

    def untrained(self) -> list[str]:
        """Returns the parameters that did not change."""
        return [
            name
            for name, one in self.module.named_parameters()
            if torch.equal(one, self._parameters[name])
        ]

    def _labels(self, batch: int) -> Tensor:
        assert self.training.classes
        return torch.arange(batch) % self.training.classes

    def loss_of_classes(self, outputs: list[Tensor]) -> Tensor:
        """Returns the loss of the first output (B, classes), or of the mean over time of (T, B,
        classes)."""
        classes, time = self.training.classes, int(self.axes == "btf")
        scores = next((y for y in outputs if y.ndim in (2, 3) and y.shape[-1] == classes), None)
        if scores is None:
            sizes = ", ".join(str(tuple(y.shape)) for y in outputs)
            raise NoLoss(f"no output has {classes} classes in its last axis, but {sizes}")
        scores = scores.mean(time) if scores.ndim == 3 else scores
        labels = self._labels(len(scores))
        if self.training.loss == "mse":
            wanted = nn.functional.one_hot(labels, classes).to(scores.dtype)
            return nn.functional.mse_loss(scores, wanted)
        return nn.functional.cross_entropy(scores, labels)

    def differentiate(self, outputs: list[Tensor]) -> None:
        """Differentiates the loss of outputs. Raises NoGradient, NoLoss."""
        outputs = [y for y in outputs if y.requires_grad]
        if not outputs:
            raise NoGradient("no output depends on a parameter by a gradient")
        if self.training.classes is not None:
            self.loss_of_classes(outputs).backward()
            return
        torch.manual_seed(5)
        loss = sum((y * torch.randn_like(y)).sum() for y in outputs)
        assert isinstance(loss, Tensor)
        loss.backward()

    def gradients(self) -> dict[str, np.ndarray | None]:
        """Returns the gradients by parameter that learns."""
        return {
            name: None if one.grad is None else _array(one.grad)
            for name, one in self.module.named_parameters()
            if one.requires_grad
        }

    def gradient_of(self, x: np.ndarray, place: int, axis: int, part: slice) -> np.ndarray | None:
        """Returns the gradient by x (T, B, …) of the sum of a part of the output at `place`, along
        one of its axes."""
        given = self.put(x).requires_grad_()
        output = self(given.clone())[place].movedim(axis, 0)[part]
        if output.requires_grad:
            torch.autograd.backward(output.sum())
        return None if given.grad is None else _array(given.grad)

    def is_used(self, seen: Seen, x: np.ndarray) -> bool:
        """Tells if other spikes of a neuron change an output, or what another module gives."""

        def changed(module: nn.Module, args: Any, output: Any) -> Any:
            return with_first(output, lambda spikes: 1 - spikes)

        def given() -> list[np.ndarray]:
            self.restore()
            with self.watched(*x.shape[:2]) as others:
                outputs = self.inference(x)
            apart = [
                one for name, one in others.items() if not f"{seen.name}.".startswith(f"{name}.")
            ]
            return outputs + [_array(y) for one in apart for y in tensors(one.last)]

        before = given()
        handle = seen.module.register_forward_hook(changed)
        try:
            return not all(map(np.array_equal, before, given()))
        finally:
            handle.remove()

    def step(self, x: np.ndarray) -> "Step":
        """Returns what a training step from the first state computes."""
        self.restore()
        self.module.train()
        with self.watched(*x.shape[:2]) as seen:
            outputs = self(self.put(x))
        neurons = {one.name: one for one in neurons_of(self, seen)}
        with suppress(NoGradient):
            self.differentiate(outputs)
        spikes = {name: over_time(neurons[name], *x.shape[:2]) for name in seen if name in neurons}
        return Step([_array(y) for y in outputs], spikes, self.gradients())

    def step_in_double(self, x: np.ndarray) -> "Step":
        """Returns a training step in float64, also where the model asks for float32; the module
        stays in float64."""
        self.restore()
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        try:
            with _Double():
                return TorchModel(self.module.double(), self.axes).step(x)
        finally:
            torch.set_default_dtype(before)

    @contextmanager
    def watched(self, steps: int, batch: int) -> Iterator[dict[str, Seen]]:
        """Yields, by name, what the modules do while the context lasts."""
        seen: dict[str, Seen] = {}
        handles = [
            one.register_forward_hook(_watching(seen, name), with_kwargs=True)
            for name, one in self.module.named_modules()
            if name
        ]
        try:
            yield seen
        finally:
            for handle in handles:
                handle.remove()
        for one in seen.values():
            one.layout, one.batch = _layout(one, steps, batch), batch

    def drive(
        self, seen: Seen, currents: np.ndarray, upstream: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Returns the spikes of one module alone, from rest and without its recurrent weights, for
        currents (T, B, *features), and the gradient of Σ spikes·upstream by them: None if it has
        none."""
        self.restore()
        seen.module.train()
        x = torch.from_numpy(np.ascontiguousarray(currents, np.float32)).requires_grad_()
        with _replaced(seen.weights):
            with torch.set_grad_enabled(upstream is not None):
                spikes = self._driven(seen, x.clone())
            result = spikes.detach().float().numpy()
            if upstream is None or not spikes.requires_grad:
                return result, None
            (spikes * torch.from_numpy(upstream.astype(np.float32))).sum().backward()
        return result, None if x.grad is None else x.grad.numpy()

    def _driven(self, seen: Seen, x: Tensor) -> Tensor:
        args, kwargs = copy.deepcopy(seen.first)
        if seen.layout == "step":
            spikes = []
            for step in x.unbind(0):
                output = seen.module(step, *args[1:], **kwargs)
                parts = output if isinstance(output, tuple) else (output,)
                spikes.append(tensors(output)[0])
                last = max((p for p in seen.passed_on if isinstance(p, int)), default=0)
                rest = [*args, *[None] * (last + 1 - len(args))]
                for place, source in seen.passed_on.items():
                    if isinstance(place, int):
                        rest[place] = parts[source]
                    else:
                        kwargs[place] = parts[source]
                args = tuple(rest)
            return torch.stack(spikes)
        if seen.layout == "tb":
            return tensors(seen.module(x, *args[1:], **kwargs))[0]
        batch_first = x.transpose(0, 1)
        if seen.layout == "bt":
            return tensors(seen.module(batch_first, *args[1:], **kwargs))[0].transpose(0, 1)
        if hasattr(seen.module, "num_timesteps"):  # Sinabs: one of them may be another
            seen.module.batch_size, seen.module.num_timesteps = batch_first.shape[0], -1
        rows = tensors(seen.module(batch_first.flatten(0, 1), *args[1:], **kwargs))[0]
        return rows.unflatten(0, batch_first.shape[:2]).transpose(0, 1)


@contextmanager
def _replaced(weights: dict[tuple[nn.Module, str], Tensor]) -> Iterator[None]:
    """Puts tensors in the place of parameters for a while."""
    before = {(holder, name): holder._parameters[name] for holder, name in weights}
    try:
        for (holder, name), value in weights.items():
            holder._parameters[name] = value
        yield
    finally:
        for (holder, name), parameter in before.items():
            holder._parameters[name] = parameter


class _Double(TorchFunctionMode):
    """Takes float32 for float64."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        def wide(value: Any) -> Any:
            return torch.float64 if value is torch.float32 else value

        func = torch.Tensor.double if func is torch.Tensor.float else func
        return func(*map(wide, args), **{key: wide(one) for key, one in (kwargs or {}).items()})


def currents_shape(seen: Seen) -> tuple[int, ...]:
    """Returns (B, *features) of a neuron's currents."""
    shape = tuple(tensors(seen.first[0])[0].shape)
    shape = shape if seen.inputs is None else (*shape[:-1], len(seen.inputs))
    if seen.layout == "tb":
        return shape[1:]
    if seen.layout == "rows":
        return (seen.batch, *shape[1:])
    return (shape[0], *shape[2:]) if seen.layout == "bt" else shape


def over_time(seen: Seen, steps: int, batch: int) -> np.ndarray:
    """Returns the spikes (T, B, N) of a neuron in the watched forward; of one that several layers
    share, those of all its calls in a step."""
    assert seen.spikes
    if seen.layout == "step":
        times = len(seen.spikes) // steps if len(seen.spikes) % steps == 0 else 1
        parts = [torch.stack(seen.spikes[start::times]) for start in range(times)]
        whole = torch.cat([one.reshape(*one.shape[:2], -1) for one in parts], dim=2)
    elif seen.layout == "tb":
        whole = seen.spikes[0]
    elif seen.layout == "bt":
        whole = seen.spikes[0].transpose(0, 1)
    else:
        whole = seen.spikes[0].unflatten(0, (batch, steps)).transpose(0, 1)
    if whole.shape[:2] == (batch, steps) != (steps, batch):  # its batch is scanned as time
        whole = whole.transpose(0, 1)
    return np.asarray(whole.float().reshape(*whole.shape[:2], -1))


def neurons_of(model: TorchModel, seen: dict[str, Seen]) -> list[Seen]:
    """Returns the spiking modules of a forward: those that turn values into counts of the same
    shape, outermost first, without layers that have weights."""
    found: list[Seen] = []
    for name in (name for name, _ in model.module.named_modules()):
        one = seen.get(name)
        if one is None or any(name.startswith(f"{outer.name}.") for outer in found):
            continue
        container = isinstance(one.module, nn.Sequential)
        alike = one.same_shape or one.inputs is not None
        spiking = one.spikes is not None and alike and one.layout and not container
        if spiking and (one.framework or not one.counts_in) and not _has_layers(one):
            found.append(one)
    return found


def units_of(seen: dict[str, Seen], neurons: list[Seen]) -> list[Seen]:
    """Returns the modules that a forward passes, in their order: neurons, and what holds no other
    module."""
    names = [one.name for one in neurons]
    return [
        one
        for name, one in seen.items()
        if name in names
        or (
            not any(name.startswith(f"{outer}.") for outer in names)
            and not any(True for _ in one.module.children())
        )
    ]


def _has_layers(seen: Seen) -> bool:
    """Tells if torch's own layers with parameters are inside; a framework's neuron may have one
    for its recurrence."""
    if seen.framework == "snnTorch":
        return False
    return any(
        one._parameters
        and any(
            base is not nn.Module and base.__module__.startswith("torch.nn")
            for base in type(one).__mro__
        )
        for one in seen.module.modules()
        if one is not seen.recurrent
    )


def _first(value: Any) -> Tensor | None:
    return next(iter(tensors(value)), None)


def _watching(seen: dict[str, Seen], name: str) -> Callable[..., None]:
    def hook(module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        one = seen.setdefault(name, Seen(name, module))
        given, handed_out = tensors((args, kwargs)), tensors(output)
        if not given or not handed_out:
            one.spikes = None
            return
        if one.calls == 0:
            one.first = detached(args), detached(kwargs)
            one.types = str(given[0].dtype)[6:], str(handed_out[0].dtype)[6:]
        elif not one.passed_on:
            before = one.last if isinstance(one.last, tuple) else (one.last,)
            places, first = (
                {**dict(enumerate(each[0])), **each[1]} for each in ((args, kwargs), one.first)
            )
            one.passed_on = _passed_on(places, before, first)
        sources = {key for key, other in seen.items() if _first(other.last) is given[0]}
        one.sources = one.sources & sources if one.calls else sources
        one.calls, one.last = one.calls + 1, output
        one.counts_in = one.counts_in and is_count(given[0])
        one.gets_zeros = one.gets_zeros and not given[0].any()
        one.same_shape = one.same_shape and given[0].shape == handed_out[0].shape
        if one.spikes is not None:
            is_spiking = is_count(handed_out[0], signed=one.framework is not None)
            one.spikes = [*one.spikes, handed_out[0].detach().clone()] if is_spiking else None

    return hook


def _passed_on(
    given: dict[int | str, Any], before: tuple[Any, ...], first: dict[int | str, Any]
) -> dict[int | str, int]:
    """Returns which arguments are outputs of the call before, by their places: these themselves or
    copies, such as detached ones; else those that forward changed: of the same sizes, in the same
    place, and not what the first call got."""
    states = {
        place: value
        for place, value in given.items()
        if place != 0 and any(one.any() for one in tensors(value))
    }
    same = {
        place: source
        for place, value in given.items()
        for source, earlier in enumerate(before)
        if value is earlier and value is not None
    }
    copies = {
        place: source
        for place, value in states.items()
        for source, earlier in enumerate(before)
        if _equal(earlier, value)
    }
    return {**copies, **same} or {
        place: place
        for place, value in states.items()
        if isinstance(place, int)
        and [one.shape for one in tensors(before[place : place + 1])]
        == [one.shape for one in tensors(value)]
        and not _equal(first.get(place), value)
    }


def _layout(seen: Seen, steps: int, batch: int) -> str:
    """Returns where time and batch are in a module's input: `tb`, `bt`, `rows` of both, or a
    `step` a call; nothing if its calls fit none."""
    given = tensors(seen.first[0])
    shape = tuple(given[0].shape) if given else ()
    if seen.calls == 1 and len(shape) > 1 and shape[:2] in ((steps, batch), (batch, steps)):
        return "tb" if shape[:2] == (steps, batch) else "bt"
    if seen.calls == 1 and shape[:1] == (steps * batch,):
        return "rows"
    return "step" if shape[:1] in ((batch,), (steps,)) else ""


def _held_modules(value: Any) -> list[nn.Module]:
    """Returns the modules in a list, tuple or dict."""
    values = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list | tuple):
        return []
    return [one for one in values if isinstance(one, nn.Module)]


def _array(values: Tensor) -> np.ndarray:
    """Returns a copy in float64, or in float32 of shorter formats."""
    values = values.detach()
    return np.array((values if values.dtype == torch.float64 else values.float()).numpy())


def _state(module: nn.Module) -> dict[str, Any]:
    """Returns copies of what a module holds beside parameters and modules."""
    return {key: _copied(value) for key, value in vars(module).items() if key not in RUNNING}


def _put_back(module: nn.Module, saved: dict[str, Any]) -> None:
    held = vars(module)
    for key in [key for key in held if key not in RUNNING and key not in saved]:
        del held[key]
    for key, value in saved.items():
        held[key] = _copied(value)


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor) or (isinstance(value, dict | list | tuple) and tensors(value)):
        return detached(value)
    return copy.copy(value) if isinstance(value, dict | list | set) else value


def _equal(before: Any, after: Any) -> bool:
    first, second = tensors(before), tensors(after)
    if len(first) != len(second):
        return False
    return all(
        (a.shape, a.dtype) == (b.shape, b.dtype) and bool(torch.equal(a, b))
        for a, b in zip(first, second, strict=True)
    )
