"""thinktime measures, explains and predicts interactive multi-user systems.

>>> import thinktime
>>> log = thinktime.Log.open("run")                      # what was recorded, played or simulated
>>> thinktime.analyse("response", log)                   # one question: a result with intervals
>>> thinktime.report([log])                              # all of them, as a document
>>> thinktime.simulate("apl360", {"users": 30}, seed=1)  # a time-sharing system of the past, or your own
>>> thinktime.mva([0.5, 0.1], think_s=20, users=35)      # a queueing network, exactly

`CONTENTS` lists the names offered here, which are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thinktime import (
        analyses,
        documents,
        log,
        models,
        predictions,
        questions,
        reports,
        sources,
        stats,
        studies,
    )
    from thinktime.analyses import QUESTIONS, analyse, question
    from thinktime.documents.render import render
    from thinktime.errors import InputError, WorkError
    from thinktime.log import Log, LogError, LogWarning, LogWriter, vocabulary
    from thinktime.log.runs import Runs
    from thinktime.models.queueing.networks import Station, mva
    from thinktime.reports import build as report
    from thinktime.sources.simulated import Simulated, simulate, systems
    from thinktime.stats.estimate import Estimate, NotApplicable

__version__ = "0.1.0"

CONTENTS: dict[str, tuple[str, str]] = {
    "Log": ("thinktime.log", "Log"),
    "LogWriter": ("thinktime.log", "LogWriter"),
    "LogError": ("thinktime.log", "LogError"),
    "LogWarning": ("thinktime.log", "LogWarning"),
    "vocabulary": ("thinktime.log", "vocabulary"),
    "Runs": ("thinktime.log.runs", "Runs"),
    "QUESTIONS": ("thinktime.analyses", "QUESTIONS"),
    "question": ("thinktime.analyses", "question"),
    "analyse": ("thinktime.analyses", "analyse"),
    "report": ("thinktime.reports", "build"),
    "render": ("thinktime.documents.render", "render"),
    "simulate": ("thinktime.sources.simulated", "simulate"),
    "systems": ("thinktime.sources.simulated", "systems"),
    "Simulated": ("thinktime.sources.simulated", "Simulated"),
    "mva": ("thinktime.models.queueing.networks", "mva"),
    "Station": ("thinktime.models.queueing.networks", "Station"),
    "Estimate": ("thinktime.stats.estimate", "Estimate"),
    "NotApplicable": ("thinktime.stats.estimate", "NotApplicable"),
    "InputError": ("thinktime.errors", "InputError"),
    "WorkError": ("thinktime.errors", "WorkError"),
}
"""Names offered at the top of the package, with their definition (module, name)."""

ROOMS = (
    "analyses",
    "documents",
    "log",
    "models",
    "predictions",
    "questions",
    "reports",
    "sources",
    "stats",
    "studies",
)
"""Subpackages in alphabetical order; ARCHITECTURE.md describes the flow of data through them."""

__all__ = [
    "QUESTIONS",
    "Estimate",
    "InputError",
    "Log",
    "LogError",
    "LogWarning",
    "LogWriter",
    "NotApplicable",
    "Runs",
    "Simulated",
    "Station",
    "WorkError",
    "__version__",
    "analyse",
    "analyses",
    "documents",
    "log",
    "models",
    "mva",
    "predictions",
    "question",
    "questions",
    "render",
    "report",
    "reports",
    "simulate",
    "sources",
    "stats",
    "studies",
    "systems",
    "vocabulary",
]


def __getattr__(name: str) -> Any:
    # Imported on first use: `import thinktime` must stay cheap, and polars alone takes 0.1 s.
    if name in CONTENTS:
        module, attribute = CONTENTS[name]
        value = getattr(importlib.import_module(module), attribute)
    elif name in ROOMS:
        value = importlib.import_module(f"thinktime.{name}")
    else:
        raise AttributeError(f"module 'thinktime' has no attribute {name!r}; it offers {', '.join(__all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
