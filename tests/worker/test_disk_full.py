"""A full disk where the harness writes is told as that, and never as a fault of the adapter."""

import errno
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from snnbench.adapters.registry import FRAMEWORKS
from snnbench.worker import handover
from snnbench.worker.handover import encode
from snnbench.worker.sandbox import HarnessDiskFull
from snnbench.worker.serving import Serving


@pytest.fixture
def full(tmp_path, monkeypatch):
    """A folder in which no array has room."""
    monkeypatch.setattr(handover, "uuid4", lambda: SimpleNamespace(hex="a"))
    (tmp_path / "a.npy").symlink_to("/dev/full")
    return tmp_path


class OwnDiskIsFull:
    """An adapter's value that is written to a full disk of its own when it is read."""

    def __array__(self, dtype=None, copy=None):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("count", [1, 97, 99_991])
def test_an_array_without_room_is_no_error_that_others_catch(full, count):
    with pytest.raises(HarnessDiskFull):
        encode({"spikes": np.ones(count)}, full)
    assert not issubclass(HarnessDiskFull, Exception)


def carried_out(value, folder):
    serving = Serving(None, folder, FRAMEWORKS["torch"])
    order = {"call": ["program", "spikes", "1"], "arguments": []}
    return serving._carried_out(order, {"program": SimpleNamespace(spikes=lambda: value)})


def test_a_full_disk_while_serving_is_no_error_of_the_adapter_and_its_own_full_disk_is(
    full, monkeypatch
):
    monkeypatch.setattr("snnbench.worker.serving.BY_HARNESS", ())
    with pytest.raises(HarnessDiskFull):
        carried_out(np.ones(97), full)
    kind, text = carried_out(OwnDiskIsFull(), full)["raised"]
    assert kind == "OSError" and "No space left" in text


def test_events_without_room_are_answered_for(tmp_path):
    answers, job = tmp_path / "answers", tmp_path / "job.json"
    answers.touch()
    given = {
        "parent": os.getpid(),
        "memory_bytes": 1 << 34,
        "events": "/dev/full",
        "answers": str(answers),
    }
    job.write_text(json.dumps(given))
    done = subprocess.run(
        [sys.executable, "-m", "snnbench.worker", "null", str(job)], capture_output=True, timeout=60
    )
    assert done.returncode == 1 and json.loads(answers.read_text()) == {"no_room": True}
