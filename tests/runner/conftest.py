"""A clock that workers move, and a machine on which nothing else computes."""

import pytest
from support.workers import Clock


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    Clock.now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: Clock.now)
    monkeypatch.setattr("snnbench.machine.monitor.busy_seconds", lambda: 0.0)
