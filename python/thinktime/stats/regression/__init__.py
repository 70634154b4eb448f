"""Least squares on streams of rows: fits, covariance under autocorrelation, selection, comparison."""
