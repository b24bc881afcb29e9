"""Turns records into tables, CSV and one HTML file."""
