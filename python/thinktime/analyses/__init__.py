"""Analyses: one module a question, each ``analyse(log, ...) -> Result | NotApplicable``.

A result is a frozen dataclass of estimates, each with its interval, n and method, and of `caveats`,
sentences that a reader must know before relying on it. Results hold numbers in SI units only;
rendering lives in reports.
"""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = ["ANALYSES", "load"]

ANALYSES: dict[str, str] = {
    "rates": "thinktime.analyses.rates.analysis",
    "throughput": "thinktime.analyses.throughput.analysis",
    "response": "thinktime.analyses.response.analysis",
    "service": "thinktime.analyses.service.analysis",
    "arrivals": "thinktime.analyses.arrivals.analysis",
    "trace": "thinktime.analyses.waits.analysis",
    "overhead": "thinktime.analyses.overhead.analysis",
    "saturation": "thinktime.analyses.saturation.analysis",
    "iostat": "thinktime.analyses.disks.analysis",
    "capacity": "thinktime.analyses.capacity.analysis",
}
"""Name of each analysis and the module that does it, in the order in which a report shows them."""


def load(name: str) -> ModuleType:
    """Load the module of analysis `name`.

    Raises
    ------
    KeyError
        There is no such analysis.
    """
    return importlib.import_module(ANALYSES[name])
