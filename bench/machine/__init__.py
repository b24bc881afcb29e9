"""The machine: its hardware, its load, and its clocks while a worker measures."""
