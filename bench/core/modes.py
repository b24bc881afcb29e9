"""How a construction is run."""

COMPILE_MODES = {
    "compile": "default",
    "compile-reduce-overhead": "reduce-overhead",
    "compile-max-autotune": "max-autotune",
}
"""Our modes that compile, and what torch.compile calls them."""
