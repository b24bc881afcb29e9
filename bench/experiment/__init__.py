"""Turns a config into cases; runs and writes nothing."""
