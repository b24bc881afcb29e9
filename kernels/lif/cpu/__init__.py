"""The backend "cpp": the neuron in C++, for CPUs."""
