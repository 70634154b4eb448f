"""Sekino 1971: overheads of Multics System 14."""
