"""Products of a linear layer on CPUs: of spikes, which skip zeros, and dense ones."""
