"""Modes in which a construction runs."""

COMPILE_MODES = {
    "compile": "default",
    "compile-reduce-overhead": "reduce-overhead",
    "compile-max-autotune": "max-autotune",
}
"""Our modes that compile, and their names in torch.compile."""
