"""The ways in which recordings become batches of frames, one file each, and the adapters that offer
them."""
