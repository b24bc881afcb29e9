"""Variants, as users write and read them: `framework[@version][:construction[+mode]]`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

DEFAULT_CONSTRUCTION, DEFAULT_MODE = "default", "eager"
COMPILE_MODES = {
    "compile": "default",
    "compile-reduce-overhead": "reduce-overhead",
    "compile-max-autotune": "max-autotune",
}
"""Modes that compile, each with torch.compile's name for it."""

VARIANT_FIELDS = ("framework", "construction", "mode")
"""Fields of a case that name its variant."""

ALL = "all"
"""Names all frameworks that can run here."""


@dataclass(frozen=True)
class Variant:
    """One construction of one framework, or of one version of it, in one mode. Its text leaves out
    defaults."""

    framework: str
    version: str | None = None
    construction: str = DEFAULT_CONSTRUCTION
    mode: str = DEFAULT_MODE

    @property
    def adapter(self) -> str:
        """`framework[@version]`: the adapter's name in an inventory and in a case's `framework`."""
        return self.framework if self.version is None else f"{self.framework}@{self.version}"

    @property
    def words(self) -> str:
        """`construction+mode`, defaults left out."""
        construction = self.construction if self.construction != DEFAULT_CONSTRUCTION else ""
        return "+".join(
            filter(None, (construction, self.mode if self.mode != DEFAULT_MODE else ""))
        )

    def __str__(self) -> str:
        return ":".join(filter(None, (self.adapter, self.words)))


@dataclass(frozen=True)
class VariantPattern:
    """The variants that a user names with one text. `words` are constructions and modes; only the
    adapter can tell which is which:

        norse                        the default construction in eager mode
        snntorch@0.9.4:lif+compile   a construction of a version, compiled
        norse:*                      all constructions in eager mode
        all, all:*                   likewise, of every framework that can run here
    """

    framework: str
    version: str | None = None
    words: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> "VariantPattern":
        adapter, _, words = text.partition(":")
        framework, at, version = adapter.partition("@")
        return cls(framework, version if at else None, tuple(filter(None, words.split("+"))))

    @property
    def adapter(self) -> str:
        """`framework[@version]`."""
        return Variant(self.framework, self.version).adapter

    @property
    def is_all(self) -> bool:
        """True for `all` and `all:*`, unless an adapter has that name."""
        return self.adapter == ALL

    def __str__(self) -> str:
        return ":".join(filter(None, (self.adapter, "+".join(self.words))))

    def select(self, constructions: Collection[str], modes: Sequence[str]) -> list[Variant]:
        """Returns the variants of an adapter with these constructions and modes. The first
        construction and eager mode are the defaults. Raises KeyError with a word that is
        neither, and ValueError with two of a kind."""
        if self.words == ("*",):
            return [Variant(self.framework, self.version, each) for each in constructions]
        for word in self.words:
            if word not in modes and word not in constructions:
                raise KeyError(word)
        of_modes = [word for word in self.words if word in modes]
        others = [word for word in self.words if word not in modes]
        for words in (of_modes, others):
            if len(words) > 1:
                raise ValueError(*words)
        construction = others[0] if others else next(iter(constructions))
        mode = of_modes[0] if of_modes else DEFAULT_MODE
        return [Variant(self.framework, self.version, construction, mode)]


def parse_variants(texts: Sequence[str]) -> list[VariantPattern]:
    return [VariantPattern.parse(text) for text in texts]
