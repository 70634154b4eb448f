"""Brachman 1983: UNIX under disk saturation."""
