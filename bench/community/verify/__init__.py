"""What can be recomputed of a bundle is recomputed, and every fault gets a sentence."""
