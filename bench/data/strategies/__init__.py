"""Strategies that deliver recordings as batches of frames, and the adapters that offer them."""
