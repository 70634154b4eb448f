"""Everything that writes a log: importers, the Linux recorder, synthetic users, simulations, experiments."""
