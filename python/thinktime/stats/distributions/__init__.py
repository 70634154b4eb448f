"""Distributions of lifetimes (service, think and waiting times): fits, tests, mean residual life."""
