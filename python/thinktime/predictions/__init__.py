"""Predictions of each model: inputs as people give them, sections, tables and charts of the answer.

- `disk_bound`: two machines whose swap disk is the bottleneck, compared;
- `swap_overhead`: the cost of swapping where the CPU is the bottleneck;
- `swapping`: response times of a machine that swaps, saturated or not;
- `paging`: throughput of a machine with demand paging, `simulated_multics` for a simulated one;
- `network`: response time and queues of a closed network, by number of users.
"""
