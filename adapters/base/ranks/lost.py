"""What ends a case of several ranks, and which exceptions stay what they are between processes."""

from ..contract import BuildFailed, OtherNetwork, Unsupported


class RankDied(Exception):
    """One of the processes that compute a case together has ended before its time; the text says which, and how."""


class RankAbsent(Exception):
    """One of the processes that compute a case together is alive, and does not come; the text says which."""


ACROSS = (Unsupported, BuildFailed, OtherNetwork, RankDied, RankAbsent)
"""Exceptions that stay what they are on their way from one process to another."""
