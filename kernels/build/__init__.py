"""Compiles kernels at first use and keeps what it compiled."""
