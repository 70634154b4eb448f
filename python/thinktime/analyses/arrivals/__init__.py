"""Whether inputs arrive at random."""
