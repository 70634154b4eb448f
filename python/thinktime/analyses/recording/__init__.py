"""What was recorded, on which machine, at what cost."""
