"""From 1 CPU with 256K to 2 CPUs with 384K: the contribution of each mechanism."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from thinktime.documents import document
from thinktime.documents import format as shown
from thinktime.documents.document import Col, Cols, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.stats.estimate import Estimate
from thinktime.studies import charts
from thinktime.studies.cells import Claim
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory, Parameters
from thinktime.studies.sekino_1971.configurations import (
    FULL,
    OVERHEAD,
    PAPER,
    SMALL,
    Configuration,
    compared,
    value_of,
    words,
)
from thinktime.studies.study import Chapter

NO_INTERFERENCE: dict[str, Any] = {"interference": 0.0}
NO_LOCKS: dict[str, Any] = {"locks": "none"}
NO_GROWTH: dict[str, Any] = {"path_growth": False}

STEPS: dict[str, dict[str, Any]] = {
    "more users and eligible processes": {"users": FULL.users, "max_eligible": FULL.eligible},
    "more core": {"core": FULL.core_kwords} | NO_GROWTH,
    "paths that grow with core": {"path_growth": None},
    "a second processor": {"cpus": FULL.cpus} | NO_INTERFERENCE | NO_LOCKS,
    "memory-cycle interference": {"interference": None},
    "lockout of data bases": {"locks": None},
}
"""From 1 CPU with 256K to 2 CPUs with 384K; None puts a parameter back to that of System 14."""

SWITCHES: dict[str, dict[str, Any]] = {
    "without interference": NO_INTERFERENCE,
    "without locks": NO_LOCKS,
    "without interference and locks": NO_INTERFERENCE | NO_LOCKS,
    "one lock for all data bases": {"locks": "global"},
    "page lock released before getwork": {"hold_through_getwork": False},
    "spinning that slows nobody": {"spin_interference": 0.0},
    "interrupts on any processor": {"interrupts": "any"},
    "paths that do not grow with core": NO_GROWTH,
    "segments without a limit": {"active_segments": 1_000_000},
    "no preemption": {"preempt": False},
    "first eligible, first served": {"priority": "first_eligible"},
    "a drum without queues by sector": {"drum_organisation": "first_come"},
    "eligibility by working sets": {"eligibility": "working_sets"},
}
"""Mechanisms changed alone on 2 CPUs with 384K."""

SHOWN = {
    "page_fault_overhead_s": ("page fault, ms", 1000.0),
    "drum_interrupt_overhead_s": ("drum interrupt, ms", 1000.0),
    "getwork_overhead_s": ("getwork, ms", 1000.0),
    "page_fault_between_s": ("between faults, ms", 1000.0),
    "useful_share": ("useful, points", 100.0),
    "idle_share": ("idle, points", 100.0),
}
"""Responses of the tables: heading, and the factor to its unit."""
RISING = {"page_fault": "user", "drum_interrupt": "system", "getwork": "memory"}
"""Events whose overhead rises, according to the memorandum, and their colours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two machines that are given the same work."""

    name: str
    """Difference between them, for a reader."""
    before: Parameters
    after: Parameters

    def change(self, laboratory: Laboratory, response: str, factor: float = 1.0) -> Estimate:
        r"""Mean change of a response, times `factor`.

        .. math:: \frac{1}{n} \sum_r (y_r - x_r)

        with Student's t over n replications of the same work on both (common random numbers).
        """
        before, after = (
            compared(laboratory, parameters, response) for parameters in (self.before, self.after)
        )
        return interval(after - before, factor=factor)


def path() -> tuple[tuple[str, dict[str, Any]], ...]:
    """Parameters after each step, from the first configuration to the last."""
    parameters = SMALL.parameters
    points = [(SMALL.words, parameters)]
    for name, changes in STEPS.items():
        merged = parameters | changes
        parameters = {key: value for key, value in merged.items() if value is not None}
        points.append((name, parameters))
    return tuple(points)


def steps() -> tuple[Comparison, ...]:
    """Every mechanism against the machine without it and without those that follow."""
    return tuple(
        Comparison(name=name, before=before, after=after) for (_, before), (name, after) in pairwise(path())
    )


def switches() -> tuple[Comparison, ...]:
    """Every mechanism changed alone on the whole machine."""
    full = FULL.parameters
    return tuple(
        Comparison(name=name, before=full, after=full | changes) for name, changes in SWITCHES.items()
    )


def whole() -> Comparison:
    """The last configuration against the first."""
    return Comparison(name="all together", before=SMALL.parameters, after=FULL.parameters)


def chapter(laboratory: Laboratory) -> Chapter:
    """Mechanisms switched on along a path, and off alone."""
    summary = (
        f"From {SMALL.words} to {FULL.words} one mechanism after another is switched on. Each line of the "
        "first table is the contribution of one to those before; the lines add up to the whole difference.",
        *_rises(laboratory),
        "The second table changes one mechanism alone on the whole machine. Where a line there is not the "
        "opposite of its line in the first table, mechanisms interact: processors that slow each other down "
        "hold locks for longer, and one that waits for a lock is active and interferes.",
    )
    return Chapter(
        claims=(
            _claim(laboratory, "overhead-interference", NO_INTERFERENCE),
            _claim(laboratory, "overhead-lockout", NO_LOCKS),
        ),
        summary=summary,
        charts=(_overheads(laboratory), _useful(laboratory)),
        tables=(
            _table(
                laboratory, "steps", f"From {SMALL.words} to {FULL.words}, step by step", (*steps(), whole())
            ),
            _table(laboratory, "switches", f"{FULL.words}, one mechanism changed alone", switches()),
        ),
        method="Differences of means over replications of the same work, with Student's t.",
    )


def _table(laboratory: Laboratory, name: str, caption: str, comparisons: Sequence[Comparison]) -> Table:
    return Table.of(
        comparisons,
        Col("change", lambda item: item.name),
        Cols(
            [heading for heading, _ in SHOWN.values()],
            lambda item: [
                item.change(laboratory, response, factor) for response, (_, factor) in SHOWN.items()
            ],
            scaled=False,
        ),
        name=name,
        caption=caption,
        notes=[
            "Changes of the overhead of a page fault, a drum interrupt and a getwork, and of the mean time "
            "between page faults, useful work and idle time of a processor, with 95 % intervals."
        ],
    )


def _rises(laboratory: Laboratory) -> Iterator[str]:
    """Rise of each overhead from the first configuration to the last, by steps."""
    for event in RISING:
        response = f"{event}_overhead_s"
        rise = whole().change(laboratory, response, 1000.0).value
        theirs = value_of(OVERHEAD, FULL, event) - value_of(OVERHEAD, SMALL, event)
        listed = ", ".join(
            f"{step.name} {step.change(laboratory, response, 1000.0).value:+.2f}" for step in steps()
        )
        yield (
            f"The overhead of a {words(event)} changes by {rise:+.2f} ms, {theirs:+.2f} published: {listed}."
        )


def _claim(laboratory: Laboratory, name: str, off: Parameters) -> Claim:
    """Claim that a mechanism raises the overhead of each rising event."""
    full = FULL.parameters
    comparison = Comparison(name=name, before={**full, **off}, after=full)
    changes = {words(event): comparison.change(laboratory, f"{event}_overhead_s", 1000.0) for event in RISING}
    of = {event.replace(" ", "_"): change for event, change in changes.items()}
    return PAPER.claim(name, {"changes": changes, "of": of})


def _overheads(laboratory: Laboratory) -> document.Figure:
    """Overhead of each rising event after every step, and as published at both ends."""
    along = path()
    keys = {event: Key(words(event), colour=colour, shape="circle") for event, colour in RISING.items()}
    simulated = {
        (number, event): interval(compared(laboratory, parameters, f"{event}_overhead_s"), factor=1000.0)
        for number, (_, parameters) in enumerate(along)
        for event in RISING
    }

    def printed(configuration: Configuration) -> Iterator[Point]:
        for event, key in keys.items():
            value = value_of(OVERHEAD, configuration, event)
            exact = Estimate(value=value, n=1, method="printed", low=value, high=value)
            yield Point(key=key, label=f"{configuration.words}, published", y=exact)

    points = [
        Point(key=keys[event], label=f"+ {along[number][0]}" if number else along[0][0], y=value)
        for (number, event), value in simulated.items()
    ]
    ends = [
        f"{words(event)} from {simulated[0, event].value:.2f} to "
        f"{simulated[len(along) - 1, event].value:.2f} ms"
        for event in RISING
    ]
    return charts.dots(
        "overhead-steps",
        "Overhead per event, one mechanism after another",
        Series([*printed(SMALL), *points, *printed(FULL)]),
        axis="overhead per event, ms",
        headings=("after", "event", "overhead, ms"),
        alt=f"{'; '.join(ends)}.",
    )


def _useful(laboratory: Laboratory) -> document.Figure:
    """Change of useful work by each step and each switch."""
    groups = {
        Key("added to those before", colour="system", shape="circle"): steps(),
        Key("changed alone on the whole machine", colour="user", shape="circle"): switches(),
    }
    points = [
        Point(key=key, label=item.name, y=item.change(laboratory, "useful_share", 100.0))
        for key, comparisons in groups.items()
        for item in comparisons
    ]
    listed = "; ".join(f"{point.label} {shown.cell(point.y, '')}" for point in points)
    return charts.dots(
        "useful-changes",
        "Changes of useful work",
        Series(points),
        axis="change of useful work, points of each processor",
        headings=("change", "how", "points"),
        alt=f"{listed} points.",
    )
