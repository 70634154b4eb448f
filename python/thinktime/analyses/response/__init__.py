"""How long users waited, by their number and by class."""
