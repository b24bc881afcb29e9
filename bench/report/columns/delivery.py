"""Columns of cases that deliver data: their step is an epoch, their build makes the caches."""

from ...records.rows import Row
from .metric import Metric, fact_of


def _batches_per_s(row: Row) -> float | None:
    batches, step = fact_of("batches")(row), row.estimates.get("step")
    return batches / step.seconds if batches and step else None


def _waiting_share(row: Row) -> float | None:
    """Returns the share of waiting in an epoch that waits for each batch and then trains on it."""
    waits, trains = fact_of("epoch_wait_s")(row), fact_of("epoch_train_s")(row)
    return waits / (waits + trains) if waits is not None and trains else None


RATE = "delivered, and trained on if there is a network behind"
WAITS = "seconds of an epoch that the device waits for batches"
TRAINS = "seconds of the same epoch that the network trains"
SHARE = "share of an epoch in which the device waits"
DISK = "of the files that an epoch reads"
KEPT = "bytes that are kept from epoch to epoch, without batches on their way"
CPU, CPU_S = "of all processes of the case", fact_of("cpu_s_per_sample")
DELIVERY = (
    Metric("batches", fact_of("batches"), "count", "batches", "of an epoch", "", 290),
    Metric("batches_per_s", _batches_per_s, "per_s", "batches/s", RATE, "times", 292),
    Metric("cpu_per_sample_s", CPU_S, "s", "CPU a sample", CPU, "times", 293),
    Metric("epoch_wait_s", fact_of("epoch_wait_s"), "s", "waits", WAITS, "start", 430),
    Metric("epoch_train_s", fact_of("epoch_train_s"), "s", "trains", TRAINS, "start", 431),
    Metric("waiting_share", _waiting_share, "share", "waiting", SHARE, "times", 292),
    Metric("data_disk_bytes", fact_of("disk_bytes"), "bytes", "on disk", DISK, "memory", 330),
    Metric("data_host_bytes", fact_of("host_bytes"), "bytes", "host", KEPT, "memory", 331),
    Metric("data_device_bytes", fact_of("device_bytes"), "bytes", "device", KEPT, "memory", 332),
)
