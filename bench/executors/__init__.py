"""Executors start workers as processes or containers, and parts of a run as jobs of SLURM."""
