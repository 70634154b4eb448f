"""The forms of a document: text, JSON, CSV and HTML."""
