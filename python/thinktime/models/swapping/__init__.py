"""Models of systems that swap whole processes between memory and disk."""
