"""What the launcher holds of a run: the files of its problems, which workers can write to."""

from types import SimpleNamespace

import pytest
from support.workers import Planned

from snnbench.data.files import Shelf
from snnbench.executors.launch import HARNESS_S, Outcome
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


def test_a_small_timeout_is_none_of_the_harness(launcher, monkeypatch):
    """A case has at most the timeout and what a budget has; oracle, judge and canary have more."""
    timeouts, case = {}, Planned("a")
    case.task = lambda *_, **__: SimpleNamespace(as_dict=dict)
    case.environment, case.device = SimpleNamespace(executor=LocalExecutor()), "cpu"
    case.dataset = case.samples = None

    def start(verb, job, surroundings, name=""):
        timeouts.setdefault(verb, []).append(surroundings.timeout)
        return Outcome(timed_out=True, events=[{"part": "start"}])

    for name in ("launch", "Launched"):
        monkeypatch.setattr(module, name, start)
    launcher.measure = Measure(timeout="3s")
    launcher.judge()
    launcher.canary()
    launcher.material(case)
    launcher.start(case, 0, launcher.scratch)
    launcher.start(case, 1, launcher.scratch, 2.0)
    assert timeouts == {
        **{verb: [HARNESS_S] for verb in ("judge", "canary", "free", "null")},
        "run": [3.0, 2.0],
    }
