"""How busy the machine was over time."""
