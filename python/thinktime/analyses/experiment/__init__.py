"""Effect of each factor of a designed experiment."""
