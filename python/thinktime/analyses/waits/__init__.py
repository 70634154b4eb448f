"""Where interactions wait, from the trace of events."""
