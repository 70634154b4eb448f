"""Analysis of designed experiments: factorial layouts, analysis of variance, contrasts, residual checks."""
