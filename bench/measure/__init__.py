"""Times, memory and floors of the phases of a case. Standard library and NumPy only."""
