"""A static site from bundles: the fastest framework by machine, without a server."""
