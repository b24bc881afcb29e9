"""The machine: its hardware, the cores that may be used, its load, and its clocks while a worker measures."""
