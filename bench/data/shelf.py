"""Where recordings lie: real ones in the user's folder, ours in the cache, made once."""

from collections.abc import Callable
from pathlib import Path

from ..common.files import cache_folder
from ..core.case import Case
from ..core.datasets import SYNTHETIC, form_of
from .files import GENERATOR, make


class Shelf:
    """The recordings of a run's cases. `real` is the folder of those that are not ours, `tell` is
    told in words what is made.

    shelf = Shelf(None)
    folder = shelf.of(case)
    """

    def __init__(self, real: Path | None, tell: Callable[[str], None] = lambda words: None) -> None:
        self.real, self.tell, self.folders = real, tell, [real] if real else []
        """`folders` are those that workers read."""

    def of(self, case: Case) -> Path:
        """The folder with the recordings of a case, what tonic calls save_to. Ours are made if they
        are not there, all or nothing: an interrupted run leaves no half. Raises ConfigError and
        OSError."""
        if not case.dataset.startswith(SYNTHETIC):
            assert self.real is not None, "load_config wants a folder for real recordings"
            return self.real
        data = form_of(case.dataset)
        folder = (
            cache_folder()
            / "recordings"
            / f"{data.name}-{case.samples}-seed-{case.seed}-generator-{GENERATOR}"
        )
        for _, done, count in make(data, {"train": case.samples}, case.seed, folder):
            if done % 100 == 0 or done == count:
                self.tell(f"{folder.name}: {done} of {count} recordings made")
        if folder not in self.folders:
            self.folders.append(folder)
        return folder
