"""How many users a machine holds: measured levels, their fit, goals, and the answer."""
