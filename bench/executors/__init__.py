"""Where workers run: processes of this machine, or containers."""
