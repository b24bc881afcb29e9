"""Waiting for what a running command does."""

import select
import time


def until(condition, process, what):
    """Poll, as a user would look into the folder."""
    end = time.monotonic() + 60
    while not (value := condition()):
        assert time.monotonic() < end, f"waited in vain for {what}"
        assert process.poll() is None, f"the run ended before {what}: {process.communicate()[1]}"
        select.select([], [], [], 0.005)
    return value
