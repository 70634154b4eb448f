"""Least squares on streams of rows: fits, errors under autocorrelation, selection, comparison."""
