"""Whether a change helped."""
