"""Proves that a framework computes the network of a case. Standard library and NumPy only."""
