"""The neuron's definition (`spec`) and, later, the project's own kernels. Usable without the harness."""
