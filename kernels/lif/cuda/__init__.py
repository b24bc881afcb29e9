"""The neuron in CUDA C++."""
