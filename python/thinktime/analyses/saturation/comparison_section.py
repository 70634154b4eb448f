"""Section of several logs' frontiers: which lies outside, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

from thinktime.analyses.saturation.section import axis, place
from thinktime.documents import format as shown
from thinktime.documents.charts import scatters
from thinktime.documents.document import Cell, Col, Cols, Figure, Key, Section, Table
from thinktime.documents.wording import capital, p_value, refused, share, worded
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
WORDS: Mapping[str, Callable[..., str]] = {
    "unequal_intervals": lambda: (
        "The logs' intervals differ in length: shorter ones show shorter bursts, so their frontier lies "
        "further out for that reason alone."
    ),
    "not_settled": lambda names: (
        f"The frontier of {', '.join(names)} still moved outwards, or the log is too short to tell: more is "
        f"possible than was observed."
    ),
    "idle": lambda name, work: (
        f"In {name} too few intervals have {work}: a resample of its blocks may have none, and its frontier "
        "is then not compared in that kind of work."
    ),
    "never_limited": lambda name: (
        f"In {name} no resource was ever exhausted: its frontier shows the load that was offered."
    ),
    "exchangeable_blocks": lambda: (
        "The test assumes that blocks are exchangeable between the logs: days of different load count as a "
        "difference too."
    ),
}


def section(result: FrontierComparison | NotApplicable) -> Section:
    """Section of the comparison of frontiers."""
    if isinstance(result, NotApplicable):
        return refused("saturation", TITLE, result)
    keys = Key.each(result.names, COLOURS, "line")
    counts = ", ".join(
        f"{name} {shown.count(n, 'observation')}" for name, n in zip(result.names, result.n, strict=True)
    )
    return Section(
        name="saturation",
        title=TITLE,
        summary=tuple(map(_sentence, result.pairs)),
        tables=(_table(result), _prices(result)),
        figures=tuple(_figure(result, index, keys) for index in range(len(result.frontiers[0]))),
        caveats=worded(result.caveats, WORDS),
        method=(
            f"Frontiers are compared at an equal number of observations ({counts}): a longer log reaches "
            "further out by chance alone. Distances are from the origin, over all directions; intervals and "
            f"tests are from resamples in blocks of {shown.count(result.block, 'interval')}."
        ),
    )


def _sentence(item: ComparedPair) -> str:
    further = shown.estimate(share(item.further) or item.further)
    return (
        f"In {item.x.label} and {item.y.label} the frontier of {item.after} {VERDICTS[item.verdict]} "
        f"{item.before}: {further} further from the origin ({p_value(item.test.p)})."
    )


def _table(result: FrontierComparison) -> Table:
    return Table.of(
        result.pairs,
        Col("frontier", lambda item: f"{item.x.label} and {item.y.label}"),
        Col("of", lambda item: item.after),
        Col("compared with", lambda item: item.before),
        Col("lies", lambda item: item.verdict),
        Col("further out", lambda item: share(item.further), unit="share"),
        Col("at least", lambda item: share(item.least), unit="share"),
        Col("at most", lambda item: share(item.most), unit="share"),
        Col("more at equal amounts of the first", lambda item: item.gap),
        Col("p", lambda item: item.test.p, unit="p"),
        name="saturation-compared",
        caption="Frontiers at an equal number of observations",
        notes=(
            "Intervals of the least and the most hold for all directions together; probabilities are "
            "adjusted over all rows (Holm).",
        ),
    )


def _prices(result: FrontierComparison) -> Table:
    def prices(index: int) -> list[Cell]:
        trades = [pairs[index].overall for pairs in result.frontiers]
        return [trade.rate if trade else None for trade in trades]

    pairs = result.frontiers[0]
    return Table.of(
        range(len(pairs)),
        Col("given up for one more", lambda index: f"{pairs[index].x.label} for {pairs[index].y.label}"),
        Cols(result.names, prices),
        name="saturation-prices",
        caption="Cost of one more, from end to end of each frontier",
    )


def _figure(result: FrontierComparison, index: int, keys: tuple[Key, ...]) -> Figure:
    """Frontiers of all logs in one pair of kinds of work."""
    pairs = [(name, pairs[index]) for name, pairs in zip(result.names, result.frontiers, strict=True)]
    first = pairs[0][1]
    points = [(name, x, y) for name, pair in pairs for x, y in pair.points]
    chart = partial(
        scatters.frontiers,
        curves=[{"x": x, "y": y, "series": name} for name, pair in pairs for x, y in pair.curve],
        bands=[
            {"x": x, "low": low, "high": high, "series": name}
            for name, pair in pairs
            for x, low, high in pair.band
        ],
        points=[{"x": x, "y": y, "series": name, "shown": place(first, x, y)} for name, x, y in points],
        series=keys,
        x=axis(first.x),
        y=axis(first.y),
    )
    most = "; ".join(
        f"{name} at most {shown.quantity(pair.curve[-1][0], first.x.unit)} and "
        f"{shown.quantity(pair.curve[0][1], first.y.unit)}"
        for name, pair in pairs
    )
    return Figure(
        name=f"saturation-{index + 1}",
        title=f"{capital(first.x.label)} against {first.y.label}",
        chart=chart,
        data=Table.of(
            points,
            Col("log", lambda point: point[0]),
            Col(first.x.label, lambda point: point[1], unit=first.x.unit),
            Col(first.y.label, lambda point: point[2], unit=first.y.unit),
            name=f"saturation-{index + 1}-data",
            caption=f"Frontiers of {first.x.label} and {first.y.label}",
        ),
        alt=f"{capital(most)}.",
        keys=keys,
        half=True,
    )
