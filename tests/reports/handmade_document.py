"""A document made by hand, with everything that a renderer must be able to show."""

from __future__ import annotations

from functools import partial

from thinktime.documents.charts import estimated
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Column, Document, Figure, Finding, Highlight, Key, Section, Table
from thinktime.stats.estimate import Estimate

HOSTILE = "<script>alert('x')</script>&\"\x1b[2J\u202edrow"


def estimate(value: float, half: float, unit: str) -> Estimate:
    return Estimate(value=value, unit=unit, n=42, method="regression", low=value - half, high=value + half)


def table(name: str) -> Table:
    return Table(
        name=name,
        caption=f"Cost of a request by {HOSTILE}",
        columns=(
            Column("request"),
            Column("cost", unit="s/request"),
            Column("count", unit="request"),
            Column("note"),
        ),
        rows=(
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
    series = (
        Key("regression", colour="regression", shape="circle"),
        Key("direct", colour="direct", shape="diamond"),
    )
    axis = Axis.logarithmic("cost", [3.9e-6, 389e-6], "s")
    return Figure(
        name=name,
        title=f"Costs {HOSTILE}",
        chart=partial(estimated.dots, rows, series, axis),
        data=table(f"{name}-data"),
        alt=HOSTILE,
    )


def document() -> Document:
    return Document(
        title=HOSTILE,
        subtitle=f"A machine called {HOSTILE}",
        findings=(
            Finding("It is busy.", section="costs"),
            Finding(f"Beware of {HOSTILE}", section="", tone="warning"),
            Finding("Look at the disk.", section="costs", tone="next"),
        ),
        sections=(
            Section(
                name="costs",
                title=f"What does a request cost? {HOSTILE}",
                summary=(f"A fork costs most {HOSTILE}.", "A page fault costs less."),
                tables=(table("costs-table"),),
                figures=(figure("costs-figure"), figure("costs-again")),
                caveats=(f"Beware {HOSTILE}",),
                method=f"After {HOSTILE}.",
            ),
            Section(
                name="users", title="And the users?", summary=(), not_applicable=f"there are none {HOSTILE}"
            ),
        ),
        facts=((f"Machine {HOSTILE}", HOSTILE),),
        highlights=(
            Highlight(
                name="busy",
                label="CPU busy",
                value=estimate(0.62, 0.02, "share"),
                unit="share",
                note=f"of 2 {HOSTILE}",
                section="costs",
            ),
            Highlight(
                name="limit",
                label="Limited by",
                value="user time",
                unit="",
                note="most often",
                section="costs",
            ),
            Highlight(name="none", label="Response", value=None, unit="s", note="not measured"),
        ),
    )
