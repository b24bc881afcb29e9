"""Compiles kernels at their first use and caches the results in a folder."""
