"""Environments of frameworks: what they are made of, how they are made, and what is installed in them."""
