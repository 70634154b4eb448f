"""Anderson and Sargent 1974: scheduling of APL/360, measured, simulated and improved."""
