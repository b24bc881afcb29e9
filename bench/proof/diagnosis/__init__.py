"""Names what is wrong with a network that failed its proof."""
