"""A user's JAX function behind arrays, as a `TorchModel` without modules."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from torch import nn

from .torch_model import NoGradient, NoModel, TorchModel


def model_of(value: Any, axes: str) -> "JaxModel | None":
    """Returns the model of a pair (function, parameters), called as function(parameters, x), of a
    transform of Haiku, alone or in a pair with what its `init` returned, or of a module of Flax
    nnx, in eval mode; None for anything else. Raises NoModel for what must be such a pair."""
    if isinstance(value, nn.Module):
        return None
    if _is_transform(value):
        return HaikuModel(value, None, axes)
    if isinstance(value, tuple) and len(value) == 2 and _is_transform(value[0]):
        return HaikuModel(*value, axes)
    if {"init", "apply"} <= {*dir(value)} and not _is_nnx(value):
        raise NoModel(
            f"gives {type(value).__name__} without its parameters: give a pair (function, "
            "parameters) with a function of (parameters, x), such as one that calls apply"
        )
    if isinstance(value, tuple) and len(value) == 2 and callable(value[0]):
        function, parameters = value
        return JaxModel(lambda p, _, x: (function(p, x), None), parameters, lambda _: None, axes)
    if not _is_nnx(value):
        return None
    from flax import nnx

    value = nnx.clone(value)
    value.eval()
    split: Any = nnx.split
    graph, parameters, rest = split(value, nnx.Param, ...)

    def called(parameters: Any, rest: Any, x: Any) -> Any:
        module = nnx.merge(graph, parameters, rest)
        y = module(x)
        return y, split(module, nnx.Param, ...)[2]

    return JaxModel(called, parameters, lambda _: rest, axes)


def _is_transform(value: Any) -> bool:
    """Tells if a value is what Haiku's `transform` or `transform_with_state` returns."""
    return getattr(type(value), "_fields", None) == ("init", "apply")


def _is_nnx(value: Any) -> bool:
    return any(
        base.__module__.startswith("flax.nnx") and base.__name__ == "Module"
        for base in type(value).__mro__
    )


class JaxModel(TorchModel):
    """`function(parameters, state, x)` returns outputs and the next state, `first(seed)` the
    state that a first call gets."""

    def __init__(self, function: Any, parameters: Any, first: Callable[[int], Any], axes: str):
        import jax

        super().__init__(nn.Module(), axes)
        self.function, self.parameters, self.first = jax.jit(function), parameters, first
        self._gradients: dict[str, np.ndarray | None] | None = None
        self.restore()

    def restore(self, but: str | None = None, seed: int = 1) -> None:
        self.state = self.first(seed)

    def put(self, x: np.ndarray) -> Any:
        import jax.numpy as jnp

        return jnp.asarray(x, jnp.float32)

    def __call__(self, x: Any) -> list[Any]:
        import jax
        import jax.numpy as jnp

        if self.axes != "bf":
            x = x.swapaxes(0, 1) if self.axes == "btf" else x
            y, self.state = self.function(self.parameters, self.state, x)
            return list(jax.tree.leaves(y))
        steps = []
        for step in x:
            y, self.state = self.function(self.parameters, self.state, step)
            steps.append(jax.tree.leaves(y))
        return [jnp.stack(parts) for parts in zip(*steps, strict=True)]

    def inference(self, x: np.ndarray) -> list[np.ndarray]:
        return [np.array(y, np.float32) for y in self(self.put(x))]

    def gradients(self) -> dict[str, np.ndarray | None]:
        """Returns the gradients of the last backward by parameter of floating point. One of zeros
        is None if a small change of that parameter changes the outputs: something cuts it."""
        return dict.fromkeys(self._named()) if self._gradients is None else self._gradients

    def backward(self, x: np.ndarray) -> None:
        """Differentiates Σ outputs·normal numbers. Raises NoGradient."""
        import jax

        names, given, state = self._named(), self.put(x), self.state
        leaves, tree = jax.tree.flatten(self.parameters)
        outputs = self(given)
        random = np.random.default_rng(5)
        weights = [random.standard_normal(y.shape).astype(np.float32) for y in outputs]

        def loss(values: dict[int, Any]) -> Any:
            self.parameters = jax.tree.unflatten(
                tree, [*map(values.get, range(len(leaves)), leaves)]
            )
            self.state = state
            return sum((y * w).sum() for y, w in zip(self(given), weights, strict=True))

        kept = self.parameters
        try:
            gradients = jax.grad(loss)({place: leaves[place] for place in names.values()})
            found: dict[str, np.ndarray | None] = {}
            for name, place in names.items():
                gradient = np.array(gradients[place], np.float32)
                near = 1.05 * leaves[place] + 0.01 * abs(leaves[place]).mean()
                if not gradient.any() and loss({place: near}) != loss({}):
                    found[name] = None
                else:
                    found[name] = gradient
        finally:
            self.parameters, self.state = kept, state
        if found and all(each is None for each in found.values()):
            raise NoGradient("no output depends on a parameter by a gradient")
        self._gradients = found

    def gradient_of(self, x: np.ndarray, place: int, axis: int, part: slice) -> np.ndarray | None:
        """See `TorchModel`."""
        import jax

        state = self.state

        def total(given: Any) -> Any:
            self.state = state
            return self(given)[place].swapaxes(axis, 0)[part].sum()

        try:
            return np.array(jax.grad(total)(self.put(x)), np.float32)
        finally:
            self.state = state

    def _named(self) -> dict[str, int]:
        """Returns the places of the parameters of floating point among all, by name."""
        import jax
        import jax.numpy as jnp

        paths = jax.tree_util.tree_leaves_with_path(self.parameters)
        return {
            jax.tree_util.keystr(path, simple=True, separator="/"): place
            for place, (path, leaf) in enumerate(paths)
            if jnp.issubdtype(jnp.asarray(leaf).dtype, jnp.floating)
        }


class HaikuModel(JaxModel):
    """A transform of Haiku with what its `init` `made`; for None it is called with the first
    input. A random key is part of the state, and the same in each call."""

    def __init__(self, transform: Any, made: Any, axes: str):
        takes = inspect.signature(transform.apply).parameters

        def called(parameters: Any, state: Any, x: Any) -> Any:
            kept, key = state
            more = [value for name, value in (("state", kept), ("rng", key)) if name in takes]
            y = transform.apply(parameters, *more, x)
            y, kept = y if "state" in takes else (y, None)
            return y, (kept, key)

        self.transform, self.has_state = transform, "state" in takes
        super().__init__(called, None, lambda _: None, axes)
        if made is not None:
            self._take(made)

    def __call__(self, x: Any) -> list[Any]:
        import jax

        if self.parameters is None:
            given = x[0] if self.axes == "bf" else x
            given = given.swapaxes(0, 1) if self.axes == "btf" else given
            self._take(self.transform.init(jax.random.PRNGKey(0), given))
        return super().__call__(x)

    def _take(self, made: Any) -> None:
        import jax

        self.parameters, kept = made if self.has_state else (made, None)
        self.first = lambda seed: (kept, jax.random.PRNGKey(seed))
        self.restore()
