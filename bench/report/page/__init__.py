"""The HTML report: one page with everything in it."""
