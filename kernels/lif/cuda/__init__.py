"""The backend "cuda": the neuron in CUDA C++."""
