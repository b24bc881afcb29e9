"""The contract between the harness and adapters, and the base classes that keep it."""
