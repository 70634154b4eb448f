"""Responses of the replications of a simulation."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch

from thinktime.documents import format as shown
from thinktime.documents.document import Col, Section, Table
from thinktime.documents.wording import worded
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """System, seed, length and warm-up of the replications, and the laws that were checked."""

    system: str
    seed: int
    replications: int
    length_s: float
    warm_up_s: float
    warm_up_settled: bool | None
    """True if MSER-5 found the end of the warm-up; None if the warm-up was given."""
    caveats: Sequence[Caveat] = ()
    """About the warm-up."""
    laws: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Laws that were checked in every replication, with the places where they were checked."""


WORDS: Mapping[str, Callable[..., str]] = {
    "warm_up_not_settled": lambda: (
        "MSER-5 puts the end of the warm-up into the second half of a run: the run is too short to tell "
        "start-up from steady state. Make it longer (-p length=...)."
    ),
    "warm_up_long": lambda share: (
        f"MSER-5 cuts {share:.0%} of each run: the cut then follows the figures themselves, which become "
        "too low, with intervals that hold less often than stated. Make the run longer (-p length=...) or "
        "give a warm-up in seconds (-p warm_up=...)."
    ),
}


MAIN = (
    "mean_response_s",
    "response_mean_s",
    "sd_response_s",
    "elapsed_s",
    "p90_response_s",
    "response_light_mean_s",
    "response_heavy_mean_s",
    "mean_reaction_s",
    "throughput_per_s",
    "interactions_per_s",
    "inputs_serviced",
    "*_utilisation",
    "useful_share",
    "problem_share",
    "processor_share",
    "idle_share",
    "wait_share",
)
"""Responses that come first, by pattern: how long users waited, how much was done, how busy it was."""
NUMBERED = re.compile(r"(.*)_\d+(_s)?")
"""Name of a response that is one of many alike: ``response_07_s``."""


def _order(name: str) -> int:
    """Place of a response: its pattern in `MAIN`, or after all of these."""
    return next((place for place, wanted in enumerate(MAIN) if fnmatch(name, wanted)), len(MAIN))


def section(
    run: RunSummary, figures: Mapping[str, Estimate | NotApplicable], descriptions: Mapping[str, str]
) -> Section:
    """Section of the responses, with one row for each, those that most readers ask for first."""
    numbered = [name for name in figures if NUMBERED.fullmatch(name)]
    others = sorted((name for name in figures if name not in numbered), key=_order)

    def table(names: Sequence[str], name: str, caption: str) -> Table:
        return Table.of(
            names,
            Col("response", str),
            Col("mean", lambda item: _value(figures[item])),
            Col("description", lambda item: descriptions.get(item, "")),
            name=name,
            caption=caption,
            folded=names is numbered,
        )

    tables = [table(others, "responses", "Responses")]
    if numbered:
        tables.append(table(numbered, "responses-numbered", "Responses of a kind, by number"))
    spread = (
        "over the replications, Student's t; quantiles of all of them together"
        if run.replications > 1
        else "none: one replication"
    )
    return Section(
        name="replications",
        title=f"How did {run.system} behave?",
        summary=(
            f"{shown.count(run.replications, 'replication')} of {shown.duration(run.length_s)}, "
            f"seed {run.seed}, {_warm_up(run)}.",
        ),
        tables=tuple(tables),
        caveats=worded(run.caveats, WORDS),
        method=f"Intervals: {spread}."
        + (f" Checked in every replication: {_laws(run.laws)}." if run.laws else ""),
    )


def _value(figure: Estimate | NotApplicable) -> Estimate | str:
    return figure if isinstance(figure, Estimate) else figure.reason


PLACES = 8
"""Largest number of places named for a law."""


def _laws(laws: Mapping[str, Sequence[str]]) -> str:
    def places(names: Sequence[str]) -> str:
        more = f" and {len(names) - PLACES} more" if len(names) > PLACES else ""
        return ", ".join(names[:PLACES]) + more

    return "; ".join(f"{law} ({places(names)})" for law, names in laws.items())


def _warm_up(run: RunSummary) -> str:
    if run.warm_up_settled is not None:
        return f"warm-up of {shown.duration(run.warm_up_s)} found by MSER-5"
    if run.warm_up_s == 0.0:
        return "no warm-up cut: statistics begin with the empty system"
    return f"warm-up of {shown.duration(run.warm_up_s)} as given"
