"""Recordings of events, and strategies that deliver them as batches of frames."""
