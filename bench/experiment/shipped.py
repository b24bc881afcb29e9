"""Configs that come with snnbench, by their names: `--config quickstart`."""

from pathlib import Path

from ..common.mistakes import ConfigError, nearest

PACKAGE = Path(__file__).resolve().parents[1]


def folder() -> Path:
    """Returns the folder of configs: inside an installed package, beside `bench/` in the
    repository."""
    inside = PACKAGE / "configs"
    return inside if inside.is_dir() else PACKAGE.parent / "configs"


def names() -> list[str]:
    """Returns the names of all configs that come with snnbench."""
    return sorted(path.stem for path in folder().glob("*.toml"))


def located(path: Path) -> Path:
    """Returns `path`, or the config of that name for a bare word that is no file. Raises
    ConfigError if there is neither."""
    if path.exists() or path.suffix or path.name != str(path):
        return path
    if path.name in names():
        return folder() / f"{path.name}.toml"
    known = names()
    there = f"{nearest(path.name, known)} (there are {', '.join(known)})"
    raise ConfigError(f"{path}: there is no such file, nor such a config{there}")
