"""Models: numbers in, a frozen prediction out, with the assumptions that it rests on. No model sees a log.

- `queueing`: operational laws and bounds (`operational_laws`), exact solutions of one station
  (`open_stations`, `scheduling`, `finite_source`), closed networks (`networks`);
- `swapping`: two systems that swap whole processes, compared (`disk_bound`, `swap_overhead`), and one,
  predicted (`response_time`);
- `paging`: throughput of a system with demand paging (`throughput`) and the number of processes that
  should be eligible (`eligible_limit`).
"""
