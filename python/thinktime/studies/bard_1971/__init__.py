"""Bard 1971: measuring CP-67."""
