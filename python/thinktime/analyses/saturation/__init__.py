"""Which resource limits the machine, and the most it can do."""
