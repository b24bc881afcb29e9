"""Recordings of events as frames, stored in few bytes and delivered in batches."""

from .packed import PackedFrames

__all__ = ["PackedFrames"]
