"""The neuron in Triton."""
