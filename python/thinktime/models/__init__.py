"""Models: numbers in, a frozen prediction out, with the assumptions that it needed.

`laws` and `bounds` hold for any system that is in balance; `open_stations`, `scheduling` and
`finite_source` are exact for one station; `networks` is exact for product-form networks and `approximate`
close for those that are too large. `ratio` and `cpu_bound` compare two machines that swap whole processes;
`swapping` and `paging` predict one that swaps, and one with demand paging. No model sees a log.
"""
