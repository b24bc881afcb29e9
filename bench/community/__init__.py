"""What leaves the machine: bundles are scrubbed, verified and shown as a site, and badges are
made."""
