"""Results, runs and proofs in Python: the names of `import snnbench`."""
