"""A static site from bundles: what is fastest on which machine, page by page, without a server."""
