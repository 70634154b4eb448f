"""How often intervals hold the truth: trials by kind, and the table of docs/background/coverage.md."""
