"""The columns of results.csv, each defined once."""
