"""The figures of Sekino 1969 for the machine on which this runs: nothing published, everything measured here.

`design` says who plays, in which order and for how long, and is kept beside the logs; `plays` plays it;
`analysis` reads the logs; `page`, `prediction` and `charts` make the page.
"""
