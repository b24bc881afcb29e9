"""Tables of results, one file a format."""
