"""Plans an experiment and runs it: cases become records."""
