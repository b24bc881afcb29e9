"""The neuron in C++, for CPUs."""
