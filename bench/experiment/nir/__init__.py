"""Converts NIR files to networks of a config."""
