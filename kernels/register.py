"""Registers torch operators with shapes, gradients and no second derivative."""

import torch

_LIBRARY = torch.library.Library("snnbench", "DEF")


def register(name: str, schema: str, functions):
    """The operator `snnbench::name` of (kernel, fake, backward, setup_context); it alters nothing that it is given.

    `torch.library.custom_op` would do the same, at 15 µs more a call.
    """
    kernel, fake, backward, setup_context = functions
    _LIBRARY.define(name + schema)
    _LIBRARY.impl(name, kernel, "CompositeExplicitAutograd")
    torch.library.register_fake(f"snnbench::{name}", fake, lib=_LIBRARY)
    torch.library.register_autograd(f"snnbench::{name}", backward, setup_context=setup_context, lib=_LIBRARY)
    return getattr(torch.ops.snnbench, name).default


def no_second_derivative(ctx, *gradients):
    raise RuntimeError("a spike's surrogate has no second derivative: lif cannot be differentiated twice (create_graph=True)")
