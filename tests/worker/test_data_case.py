"""Batches that the judge reads."""

from types import SimpleNamespace

import torch

from snnbench.worker.data_case import Delivery


def test_a_batch_that_is_written_over_while_it_is_read_shows():
    frames, labels = torch.zeros(3, 5, 7), torch.zeros(3, dtype=torch.int64)
    strategy = SimpleNamespace(epoch=lambda epoch: iter([(frames, labels)] * 2))
    delivery = Delivery(strategy, "cpu", None)
    delivery.start([0, 1, 2], None)
    given, _ = delivery.next_batch()
    assert delivery.is_unchanged()
    frames[2, 4, 6] = 1
    assert not delivery.is_unchanged() and not given.any()
    delivery.next_batch()
    assert delivery.is_unchanged()
    labels[0] = 1
    assert not delivery.is_unchanged()
    assert delivery.next_batch() is None and delivery.is_unchanged()
