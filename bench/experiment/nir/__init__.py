"""NIR files become networks of a config."""
