"""How many users of several classes fit: measured, solved and shown class by class."""
