"""Sections of the models' predictions."""
