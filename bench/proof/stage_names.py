"""Names that the stages of a proof begin or end with."""

OWN_SIZE, TIME_AXIS = "own size", "time axis"
