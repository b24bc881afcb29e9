"""`python -m snnbench` is the command `snnbench`."""

from .cli import main

main()
