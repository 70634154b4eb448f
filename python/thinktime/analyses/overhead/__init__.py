"""What each kind of request costs the system."""
