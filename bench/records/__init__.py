"""Records and the folders that hold them: one JSON file a case and block."""
