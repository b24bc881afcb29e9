"""Environments of frameworks: recipes, creation by uv, and the inventory of what is installed."""
