"""The backend "triton"."""
