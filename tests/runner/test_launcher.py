"""What the launcher holds of a run: the files of its problems, which workers can write to."""

import pytest
from support.workers import Planned

from snnbench.data.files import Shelf
from snnbench.executors.local import LocalExecutor
from snnbench.experiment.measure import Measure
from snnbench.runner import launcher as module
from snnbench.runner.launcher import Launcher


class Folder:
    """Writes plainly."""

    def __init__(self, path):
        self.problems = path

    def write(self, path, content):
        path.write_bytes(content)


@pytest.fixture
def launcher(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "problem_id", lambda case: case.id)
    return Launcher(
        Folder(tmp_path), tmp_path / "scratch", Measure(), LocalExecutor(), 1 << 30, Shelf(None)
    )


@pytest.mark.parametrize("harm", ["changed", "removed"])
def test_a_problem_that_a_worker_changed_is_as_it_was_for_the_judge_and_for_the_next_worker(
    launcher, harm
):
    path = launcher.folder.problems / "a.npz"
    path.write_bytes(b"the oracle's")

    def spoil():
        path.write_bytes(b"gains of zero") if harm == "changed" else path.unlink()

    assert launcher.material(Planned("a"))[0] == path
    for again in (lambda: launcher.material(Planned("a")), lambda: launcher.restore(path)):
        spoil()
        again()
        assert path.read_bytes() == b"the oracle's"
