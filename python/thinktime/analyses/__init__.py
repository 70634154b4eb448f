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
    "rates": "thinktime.analyses.rates",
    "throughput": "thinktime.analyses.throughput",
    "response": "thinktime.analyses.response",
    "service": "thinktime.analyses.service",
    "arrivals": "thinktime.analyses.arrivals",
    "trace": "thinktime.analyses.trace",
    "overhead": "thinktime.analyses.overhead",
    "saturation": "thinktime.analyses.saturation",
    "iostat": "thinktime.analyses.iostat",
    "capacity": "thinktime.analyses.capacity",
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
