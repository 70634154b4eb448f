"""Randomised comparisons of two treatments: possible assignments, exact tests, power."""
