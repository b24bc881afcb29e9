"""What runs inside a framework's environment: standard library, NumPy, adapters and the framework, nothing else."""
