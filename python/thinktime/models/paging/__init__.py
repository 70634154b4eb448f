"""Models of time-sharing systems with demand paging."""
