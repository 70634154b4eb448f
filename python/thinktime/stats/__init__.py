"""Statistics: estimates, regression, intervals, frontiers. Imports NumPy and SciPy alone.

Everything that meets many rows takes them in chunks and merges (`LeastSquares`, `LongRunCovariance`,
`ParetoSet`); everything random takes a seed.
"""
