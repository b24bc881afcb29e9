"""Records → table, CSV and one HTML file."""
