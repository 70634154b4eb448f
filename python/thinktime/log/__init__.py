"""The log: what every source writes and every question reads, and the readers that make arrays of it.

`Log` opens a folder, `LogWriter` writes one, `Runs` holds many with their factor levels. The other modules
read what questions need from a log: `observations` (one an interval), `interactions`, `periods` (recorded
without interruption), `loads` (active users at an instant) and `meters` (where a system meters its overhead).
"""

from thinktime.log.log import Column, Finding, Kind, Log, LogError, LogWriter, Role, Type, tables, vocabulary

__all__ = [
    "Column",
    "Finding",
    "Kind",
    "Log",
    "LogError",
    "LogWriter",
    "Role",
    "Type",
    "tables",
    "vocabulary",
]
