"""Texts, files, messages about mistakes, units and trends: nothing here knows about SNNs."""

__version__ = "0.1.0"
