"""What the users of a script requested, and what they got."""
