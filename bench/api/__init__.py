"""What `import snnbench` offers: results, runs and proofs in Python, by the functions that the command line calls."""
