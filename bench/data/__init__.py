"""Recordings of events, and the ways in which they become batches of frames."""
