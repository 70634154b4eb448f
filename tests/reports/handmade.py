"""A document made by hand, with everything that a renderer must be able to show."""

from __future__ import annotations

from functools import partial

from thinktime.documents import charts
from thinktime.documents.document import Column, Document, Figure, Finding, Highlight, Key, Section, Table
from thinktime.stats.estimate import Estimate

HOSTILE = "<script>alert('x')</script>&\"\x1b[2J\u202edrow"


def estimate(value: float, half: float, unit: str) -> Estimate:
    return Estimate(value=value, unit=unit, n=42, method="regression", low=value - half, high=value + half)


def table(name: str) -> Table:
    return Table(
        name,
        f"Cost of a request by {HOSTILE}",
        (Column("request"), Column("cost", "s/request"), Column("count", "request"), Column("note")),
        (
            ("fork", estimate(377.2e-6, 12.4e-6, "s/request"), 1234, HOSTILE),
            ("page fault", estimate(4.1e-6, 0.2e-6, "s/request"), 10**18, None),
            ("nothing", None, None, ""),
            ("infinite", float("inf"), 0, "an infinite cost"),
        ),
        notes=(f"A note with {HOSTILE}.",),
    )


def figure(name: str) -> Figure:
    rows = [
        {
            "label": HOSTILE,
            "series": "regression",
            "value": 377e-6,
            "low": 365e-6,
            "high": 389e-6,
            "shown": HOSTILE,
        },
        {
            "label": "page fault",
            "series": "direct",
            "value": 4.1e-6,
            "low": 3.9e-6,
            "high": 4.3e-6,
            "shown": "4.1",
        },
    ]
    series = (Key("regression", "regression", "circle"), Key("direct", "direct", "diamond"))
    axis = charts.Axis.logarithmic("cost", [3.9e-6, 389e-6], "s")
    return Figure(
        name, f"Costs {HOSTILE}", partial(charts.dots, rows, series, axis), table(f"{name}-data"), HOSTILE
    )


def document() -> Document:
    return Document(
        title=HOSTILE,
        subtitle=f"A machine called {HOSTILE}",
        findings=(
            Finding("It is busy.", "costs"),
            Finding(f"Beware of {HOSTILE}", "", "warning"),
            Finding("Look at the disk.", "costs", "next"),
        ),
        sections=(
            Section(
                "costs",
                f"What does a request cost? {HOSTILE}",
                (f"A fork costs most {HOSTILE}.", "A page fault costs less."),
                tables=(table("costs-table"),),
                figures=(figure("costs-figure"), figure("costs-again")),
                caveats=(f"Beware {HOSTILE}",),
                method=f"After {HOSTILE}.",
            ),
            Section("users", "And the users?", (), not_applicable=f"there are none {HOSTILE}"),
        ),
        facts=((f"Machine {HOSTILE}", HOSTILE),),
        highlights=(
            Highlight("busy", "CPU busy", estimate(0.62, 0.02, "share"), "share", f"of 2 {HOSTILE}", "costs"),
            Highlight("limit", "Limited by", "user time", "", "most often", "costs"),
            Highlight("none", "Response", None, "s", "not measured"),
        ),
    )
