"""Files of other tools, and one day live systems: everything that writes a log."""
