"""Synthetic interactive users on this machine, played while the machine is recorded."""

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
