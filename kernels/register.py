"""Registers torch operators with their shapes and gradients."""

from collections.abc import Callable

import torch

_LIBRARY = torch.library.Library("snnbench", "DEF")


def register(
    name: str,
    arguments: str,
    results: int,
    kernel: Callable,
    fake: Callable,
    backward: Callable,
    setup_context: Callable,
):
    """Registers the operator `snnbench::name`, which must not write to its arguments.

    `arguments` are those of torch's schema, and `results` is the number of returned tensors. `fake`
    returns unwritten results of the right shapes and strides. `backward` and `setup_context` are
    those of `torch.library.register_autograd`. `torch.library.custom_op` does the same but takes 15
    µs longer for each call.
    """
    _LIBRARY.define(f"{name}({arguments}) -> ({', '.join(['Tensor'] * results)})")
    _LIBRARY.impl(name, kernel, "CompositeExplicitAutograd")
    torch.library.register_fake(f"snnbench::{name}", fake, lib=_LIBRARY)
    torch.library.register_autograd(
        f"snnbench::{name}", backward, setup_context=setup_context, lib=_LIBRARY
    )
    return getattr(torch.ops.snnbench, name).default


def register_backward(
    name: str, arguments: str, results: int, kernel: Callable, fake: Callable, forward_name: str
):
    """Registers the backward operator of the public `forward_name`; its derivative raises
    RuntimeError."""

    def refuse(ctx, *gradients):
        raise no_second_derivative(forward_name)

    return register(
        name, arguments, results, kernel, fake, refuse, lambda ctx, inputs, output: None
    )


def no_second_derivative(name: str) -> RuntimeError:
    """Returns the error for a second derivative of the public `name`."""
    return RuntimeError(
        f"a spike's surrogate has no second derivative: {name} cannot be differentiated twice"
        " (create_graph=True)"
    )
