"""Synthetic interactive users on this machine, and a play of them with the recording beside it."""

from __future__ import annotations

from thinktime.sources.terminals.playing import play_into
from thinktime.sources.terminals.users import (
    Interruption,
    OnProgress,
    Plan,
    Progress,
    Terminals,
    builtin_workload,
    compute_loop,
    read_workload,
)

__all__ = [
    "Interruption",
    "OnProgress",
    "Plan",
    "Progress",
    "Terminals",
    "builtin_workload",
    "compute_loop",
    "play_into",
    "read_workload",
]
