"""Where the CPU capacity goes."""
