"""TOML text becomes cases: pure, nothing is run or written."""
