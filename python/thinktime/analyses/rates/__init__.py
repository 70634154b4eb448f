"""Mean rate of every counter, with confidence intervals."""
