"""Whose frontier lies outside: what machines did at most, compared."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thinktime.analyses.saturation.section import axis
from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Section, Table
from thinktime.documents.wording import capital, refused, share
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.saturation.comparison import ComparedPair, FrontierComparison

TITLE = "Whose frontier lies outside?"
COLOURS = ("user", "disk", "memory", "queue", "net", "interrupt")
VERDICTS = {
    "outside": "lies outside that of",
    "inside": "lies inside that of",
    "crosses": "crosses that of",
    "no difference": "does not differ significantly from that of",
}


def section(result: FrontierComparison | NotApplicable) -> Section:
    """Section of the comparison of frontiers."""
    if isinstance(result, NotApplicable):
        return refused("saturation", TITLE, result)
    keys = tuple(
        Key(name, colour=COLOURS[at % len(COLOURS)], shape="line") for at, name in enumerate(result.names)
    )
    figures = tuple(_figure(result, at, keys) for at in range(len(result.frontiers[0])))
    counts = ", ".join(
        f"{name} {shown.count(n, 'observation')}" for name, n in zip(result.names, result.n, strict=True)
    )
    return Section(
        name="saturation",
        title=TITLE,
        summary=tuple(_sentence(item) for item in result.pairs),
        tables=(_table(result), _prices(result)),
        figures=figures,
        caveats=result.caveats,
        method=(
            f"Frontiers are compared at an equal number of observations ({counts}): a longer log reaches "
            "further out by chance alone. Distances are from the origin, over all directions; intervals and "
            f"tests are from resamples in blocks of {shown.count(result.block, 'interval')}."
        ),
    )


def _sentence(item: ComparedPair) -> str:
    text = (
        f"In {item.x.label} and {item.y.label} the frontier of {item.after} {VERDICTS[item.verdict]} "
        f"{item.before}"
    )
    further = share(item.further)
    assert further is not None
    return f"{text}: {shown.estimate(further)} further from the origin ({_probability(item.test.p)})."


def _probability(p: float) -> str:
    text = shown.probability(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def _table(result: FrontierComparison) -> Table:
    columns = (
        Column("frontier"),
        Column("of"),
        Column("beside"),
        Column("lies"),
        Column("further out", unit="share"),
        Column("at least", unit="share"),
        Column("at most", unit="share"),
        Column("more at equal amounts of the first"),
        Column("p", unit="p"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            f"{item.x.label} and {item.y.label}",
            item.after,
            item.before,
            item.verdict,
            share(item.further),
            share(item.least),
            share(item.most),
            item.gap,
            item.test.p,
        )
        for item in result.pairs
    ]
    notes = (
        "Intervals of the least and the most hold for all directions together; probabilities are adjusted "
        "over all rows (Holm).",
    )
    return Table(
        name="saturation-compared",
        caption="Frontiers at an equal number of observations",
        columns=columns,
        rows=tuple(rows),
        notes=notes,
    )


def _prices(result: FrontierComparison) -> Table:
    pairs = result.frontiers[0]
    columns = (Column("given up for one more"), *(Column(name) for name in result.names))
    rows: list[tuple[Cell, ...]] = []
    for at, pair in enumerate(pairs):
        prices = [own[at].overall for own in result.frontiers]
        rows.append(
            (f"{pair.x.label} for {pair.y.label}", *(price.rate if price else None for price in prices))
        )
    return Table(
        name="saturation-prices",
        caption="What one more costs, from end to end of each frontier",
        columns=columns,
        rows=tuple(rows),
    )


def _figure(result: FrontierComparison, at: int, keys: tuple[Key, ...]) -> Figure:
    pairs = [own[at] for own in result.frontiers]
    x, y = pairs[0].x, pairs[0].y
    named = list(zip(result.names, pairs, strict=True))
    curves = [{"x": a, "y": b, "series": name} for name, pair in named for a, b in pair.curve]
    bands = [
        {"x": a, "low": low, "high": high, "series": name}
        for name, pair in named
        for a, low, high in pair.band
    ]
    points = [
        {
            "x": a,
            "y": b,
            "series": name,
            "shown": f"{shown.quantity(a, x.unit)}, {shown.quantity(b, y.unit)}",
        }
        for name, pair in named
        for a, b in pair.points
    ]
    data = Table(
        name=f"saturation-{at + 1}-data",
        caption=f"Frontiers of {x.label} and {y.label}",
        columns=(Column("log"), Column(x.label, unit=x.unit), Column(y.label, unit=y.unit)),
        rows=tuple((name, a, b) for name, pair in named for a, b in pair.points),
    )
    ends = [(name, pair.curve[-1][0], pair.curve[0][1]) for name, pair in named]
    most = "; ".join(
        f"{name} at most {shown.quantity(a, x.unit)} and {shown.quantity(b, y.unit)}" for name, a, b in ends
    )
    chart = partial(charts.frontiers, curves, bands, points, keys, axis(x), axis(y))
    title = f"{capital(x.label)} against {y.label}"
    return Figure(
        name=f"saturation-{at + 1}",
        title=title,
        chart=chart,
        data=data,
        alt=f"{capital(most)}.",
        keys=keys,
        half=True,
    )
