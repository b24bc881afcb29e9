"""The process that runs in a framework's environment. It imports the standard library, NumPy, adapters and the framework only."""
