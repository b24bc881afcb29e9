"""Several processes that compute one torch case together. Each rank has its part of the batch or of
the time steps.

The worker drives a program like any other. That program has no arrays of its own: it sends inputs
to the ranks in parts, and reads results part by part when the harness reads them.
"""
