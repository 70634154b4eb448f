"""How much service an input needs, and its distribution."""
