"""Who used how much."""
