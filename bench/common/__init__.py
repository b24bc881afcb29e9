"""Texts, files, messages about mistakes, units and trends: nothing here knows about SNNs."""
