"""Terms that all packages share: cases, networks, adapters, results, statuses, workers' jobs."""
