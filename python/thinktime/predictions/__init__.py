"""Predictions of each model: inputs as users write them, and sections, tables and charts of the result.

- `disk_bound`: two machines whose swap disk is the bottleneck, compared;
- `swap_overhead`: the cost of swapping where the CPU is the bottleneck;
- `swapping`: response times of a machine that swaps, saturated or not;
- `paging`: throughput of a machine with demand paging; `simulated_multics` describes a simulated one;
- `network`: response time and queues of a closed network, by number of users;
- `size`: how many users a machine holds; `replay`: what other CPUs or another scheduler would have done for
  the users of a log;
- `inputs` and `prediction`: how inputs are read, and how a prediction of any model is shown.
"""
