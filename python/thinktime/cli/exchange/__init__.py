"""Commands that exchange recordings with other tools."""
