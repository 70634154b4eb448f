"""Models: numbers in, a frozen prediction out, with the assumptions that it needed."""
