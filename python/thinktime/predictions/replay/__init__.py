"""What another scheduler, or another number of CPUs, would have done for the users of a log."""
