"""How much work gets done as the load grows."""
