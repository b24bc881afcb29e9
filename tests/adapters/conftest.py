"""As in a worker: no samna; and one thread, for these problems are too small for more."""

import os
import sys

import pytest


@pytest.fixture(autouse=True, scope="module")
def surroundings():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "samna", None)
        patch.setenv("JAX_PLATFORMS", "cpu")
        patch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
        yield
