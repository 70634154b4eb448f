"""Components of the CPU time of an interaction."""
