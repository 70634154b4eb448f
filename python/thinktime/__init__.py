"""thinktime measures, explains and predicts interactive multi-user systems.

>>> import thinktime
>>> thinktime.record("run", thinktime.RecordOptions(duration_s=60))  # record this machine for a minute
>>> log = thinktime.Log.open("run")                      # what was recorded, played or simulated
>>> thinktime.analyse("response", log)                   # one question: a result with intervals
>>> thinktime.report(log)                                # all of them, as a document
>>> thinktime.fleet("logs")                              # many machines, compared
>>> thinktime.simulate("apl360", {"users": 30}, seed=1)  # a time-sharing system of the past, or your own
>>> thinktime.size("run")                                 # how many users fit, and what limits them
>>> thinktime.mva([0.5, 0.1], think_s=20, users=35)      # a queueing network, exactly

`CONTENTS` lists the names offered here, which are imported on first use. The commands of the same names
call these functions. Every result has ``to_dict()``, ``to_frame()`` (polars) and a short text.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thinktime import (
        analyses,
        documents,
        fleets,
        log,
        models,
        predictions,
        questions,
        reports,
        sources,
        stats,
        studies,
        tasks,
    )
    from thinktime.analyses import QUESTIONS, analyse, question
    from thinktime.documents.render import render
    from thinktime.errors import InputError, WorkError
    from thinktime.fleets.answer import fleet
    from thinktime.log import Log, LogError, LogWarning, LogWriter, vocabulary
    from thinktime.log.runs import Runs
    from thinktime.models.prediction import Prediction
    from thinktime.models.queueing.networks import Station, mva
    from thinktime.predictions.size.answer import Plan as SizePlan
    from thinktime.predictions.size.record import Sized, size
    from thinktime.reports import report
    from thinktime.results import Result
    from thinktime.sources.linux import RecordOptions, record
    from thinktime.sources.plans import Plan, workload
    from thinktime.sources.simulated import Simulated, simulate, systems
    from thinktime.sources.terminals import Played, play
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
    "report": ("thinktime.reports", "report"),
    "fleet": ("thinktime.fleets.answer", "fleet"),
    "render": ("thinktime.documents.render", "render"),
    "record": ("thinktime.sources.linux", "record"),
    "RecordOptions": ("thinktime.sources.linux", "RecordOptions"),
    "play": ("thinktime.sources.terminals", "play"),
    "Plan": ("thinktime.sources.plans", "Plan"),
    "Played": ("thinktime.sources.terminals", "Played"),
    "workload": ("thinktime.sources.plans", "workload"),
    "simulate": ("thinktime.sources.simulated", "simulate"),
    "size": ("thinktime.predictions.size.record", "size"),
    "SizePlan": ("thinktime.predictions.size.answer", "Plan"),
    "Sized": ("thinktime.predictions.size.record", "Sized"),
    "systems": ("thinktime.sources.simulated", "systems"),
    "Simulated": ("thinktime.sources.simulated", "Simulated"),
    "mva": ("thinktime.models.queueing.networks", "mva"),
    "Station": ("thinktime.models.queueing.networks", "Station"),
    "Prediction": ("thinktime.models.prediction", "Prediction"),
    "Result": ("thinktime.results", "Result"),
    "Estimate": ("thinktime.stats.estimate", "Estimate"),
    "NotApplicable": ("thinktime.stats.estimate", "NotApplicable"),
    "InputError": ("thinktime.errors", "InputError"),
    "WorkError": ("thinktime.errors", "WorkError"),
}
"""Names offered at the top of the package, with their definition (module, name)."""

ROOMS = (
    "analyses",
    "documents",
    "fleets",
    "log",
    "models",
    "predictions",
    "questions",
    "reports",
    "sources",
    "stats",
    "studies",
    "tasks",
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
    "Plan",
    "Played",
    "Prediction",
    "RecordOptions",
    "Result",
    "Runs",
    "Simulated",
    "SizePlan",
    "Sized",
    "Station",
    "WorkError",
    "__version__",
    "analyse",
    "analyses",
    "documents",
    "fleet",
    "fleets",
    "log",
    "models",
    "mva",
    "play",
    "predictions",
    "question",
    "questions",
    "record",
    "render",
    "report",
    "reports",
    "simulate",
    "size",
    "sources",
    "stats",
    "studies",
    "systems",
    "tasks",
    "vocabulary",
    "workload",
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
