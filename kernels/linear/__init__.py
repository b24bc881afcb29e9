"""Products of a linear layer on CPUs: sparse products of spikes, and dense products."""
