"""Compiles kernels at their first use and keeps the results in a cache folder."""
