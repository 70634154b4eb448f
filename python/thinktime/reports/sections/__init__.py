"""One module an analysis: its result, turned into a section of the report."""
