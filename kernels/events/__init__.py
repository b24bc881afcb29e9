"""Recordings of events as frames, kept in few bytes and delivered in batches."""

from .packed import PackedFrames

__all__ = ["PackedFrames"]
