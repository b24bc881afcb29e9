"""The process in a framework's environment: it imports only the standard library, NumPy, adapters
and the framework."""
