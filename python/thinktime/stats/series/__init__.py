"""Observations in the order of time: batch means, ratios, rates at equal load, arrivals, stability."""
