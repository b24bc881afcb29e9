"""The machine: hardware, cores, memory, load, and clocks during measurements."""
