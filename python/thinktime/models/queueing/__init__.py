"""Queueing models: operational laws and bounds, single stations, closed networks."""
