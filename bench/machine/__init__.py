"""What machine this is and what it did while a worker measured."""
