"""Where workers run: processes of this machine, or containers; and where whole parts of an experiment do: jobs of SLURM."""
