"""Studies: one a paper, its published tables beside ours."""
