"""The log, which every source writes and every question reads.

====================  ==============================================================================
`log`                 `Log` opens a folder; `vocabulary` lists shared columns
`writer`              `LogWriter` writes one
`runs`                `Runs`: many logs with the factor levels under which each was made
`observations`        the samples as arrays: one observation per interval
`interactions`        the interactions as arrays, in order of the time when each was due
`interaction_pieces`  the same in pieces, for a log of any length, or a uniform sample of them
`playing`             interactions beside the intervals: completed ones, and users who played
`periods`             stretches recorded without interruption
`loads`               users active in each interval, and ranges of load
`meters`              counters of events and CPU time that a system meters itself
`sums`                sums by group, the same bits on any number of threads
`facts`               facts of the sessions in the manifest, each with the type that it must have
`border`              errors of reading as `LogError`, and warnings of a log that was changed
====================  ==============================================================================

This module offers the contents of `log` and `writer`. The others read data from a log for the questions; none
of them computes a statistic, and none imports an analysis.
"""

from thinktime.log.log import (
    Column,
    Defect,
    Kind,
    Log,
    LogError,
    LogWarning,
    Mode,
    Role,
    Type,
    machine_schema,
    tables,
    vocabulary,
)
from thinktime.log.writer import LogWriter

__all__ = [
    "Column",
    "Defect",
    "Kind",
    "Log",
    "LogError",
    "LogWarning",
    "LogWriter",
    "Mode",
    "Role",
    "Type",
    "machine_schema",
    "tables",
    "vocabulary",
]
