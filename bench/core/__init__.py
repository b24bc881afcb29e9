"""The words of the whole house: cases, networks, the contract of adapters, results, statuses and jobs of workers."""
