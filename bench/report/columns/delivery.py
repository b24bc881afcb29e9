"""Columns of cases that deliver data: their step is an epoch, their build makes the caches."""

from collections.abc import Callable

from ...records.rows import Row
from .metric import Metric


def _fact(row: Row, name: str) -> float | None:
    known: float | None = row.first.facts.get(name)
    return known


def _batches_per_s(row: Row) -> float | None:
    batches, step = _fact(row, "batches"), row.estimates.get("step")
    return batches / step.seconds if batches and step else None


def _waiting_share(row: Row) -> float | None:
    """Returns the share of waiting in an epoch that waits for each batch and then trains on it."""
    waits, trains = _fact(row, "epoch_wait_s"), _fact(row, "epoch_train_s")
    return waits / (waits + trains) if waits is not None and trains else None


def _reported(
    name: str, column: str, unit: str, head: str, hint: str, views: str, place: int
) -> Metric:
    """Returns the metric of a fact that the worker reported."""
    return Metric(column, lambda row: _fact(row, name), unit, head, hint, views, place)


def _computed(
    name: str, value: Callable[[Row], float | None], unit: str, head: str, hint: str, views: str
) -> Metric:
    return Metric(name, value, unit, head, hint, views, 292)


KEPT = "bytes that are kept from epoch to epoch, without batches on their way"
DELIVERY = (
    _reported("batches", "batches", "count", "batches", "of an epoch", "", 290),
    _computed(
        "batches_per_s",
        _batches_per_s,
        "per_s",
        "batches/s",
        "delivered, and trained on if there is a network behind",
        "times",
    ),
    _reported(
        "cpu_s_per_sample",
        "cpu_per_sample_s",
        "s",
        "CPU a sample",
        "of all processes of the case",
        "times",
        293,
    ),
    _reported(
        "epoch_wait_s",
        "epoch_wait_s",
        "s",
        "waits",
        "seconds of an epoch that the device waits for batches",
        "start",
        430,
    ),
    _reported(
        "epoch_train_s",
        "epoch_train_s",
        "s",
        "trains",
        "seconds of the same epoch that the network trains",
        "start",
        431,
    ),
    _computed(
        "waiting_share",
        _waiting_share,
        "share",
        "waiting",
        "share of an epoch in which the device waits",
        "times",
    ),
    _reported(
        "disk_bytes",
        "data_disk_bytes",
        "bytes",
        "on disk",
        "of the files that an epoch reads",
        "memory",
        330,
    ),
    _reported("host_bytes", "data_host_bytes", "bytes", "host", KEPT, "memory", 331),
    _reported("device_bytes", "data_device_bytes", "bytes", "device", KEPT, "memory", 332),
)
