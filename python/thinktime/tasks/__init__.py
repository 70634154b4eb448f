"""Many independent tasks, in threads or processes of this machine or on a Dask cluster: one way for all.

=========  ===================================================================================
`pool`     `Pool`: runs tasks and keeps each result as it ends; `Threads`, `Processes`
`cluster`  `Cluster`: the same on a cluster of Dask, whose workers, scheduler and network may fail
`files`    a folder as names and contents, to be sent; checked before it is written anywhere
=========  ===================================================================================

What a task returns depends on its argument alone: neither on the pool, nor on the order in which tasks end.
"""

from thinktime.tasks.pool import Pool, PoolError, Processes, Threads

__all__ = ["Pool", "PoolError", "Processes", "Threads"]
