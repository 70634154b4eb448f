"""Sekino 1969: the 3.1.1 Multics system and CTSS."""
