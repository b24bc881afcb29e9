"""What a backward needs of a forward that another compiled function has computed."""

from dataclasses import dataclass
from typing import Any

import jax

Tree = Any
"""Arrays of JAX in a tree."""


@dataclass(frozen=True)
class Form:
    """What a pullback is made of: `sources` are the places of its leaves among values that are
    known, None of all others.

    XLA returns a copy of every residual that is an argument or an output. Such leaves are
    recognised by identity while tracing, left out of what is kept, and put back."""

    tree: Any
    sources: tuple[int | None, ...]

    @classmethod
    def of(cls, pullback: Tree, known: Tree) -> "tuple[Form, list[Any]]":
        """The form of a pullback, and its leaves that are not `known`."""
        leaves, tree = jax.tree_util.tree_flatten(pullback)
        values = jax.tree_util.tree_leaves(known)
        sources = tuple(
            next((i for i, other in enumerate(values) if other is leaf), None) for leaf in leaves
        )
        return cls(tree, sources), [
            leaf for leaf, source in zip(leaves, sources, strict=True) if source is None
        ]

    def pullback(self, kept: list[Any], known: Tree) -> Any:
        """The pullback again, of values as `known` was."""
        values, others = jax.tree_util.tree_leaves(known), iter(kept)
        leaves = [next(others) if source is None else values[source] for source in self.sources]
        return jax.tree_util.tree_unflatten(self.tree, leaves)
