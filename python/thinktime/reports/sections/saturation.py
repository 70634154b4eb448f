"""What the machine can do at most, and which resource stops it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thinktime.reports import charts
from thinktime.reports import format as shown
from thinktime.reports.document import Cell, Column, Figure, Key, Section, Table
from thinktime.reports.prose import bare, listed, percent, refused, share
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.saturation import Dimension, FrontierPair, Limit, Saturation
    from thinktime.log import Log

__all__ = ["LIMITS", "section"]

TITLE = "What limits this machine?"
LIMITS: dict[str, Key] = {
    "cpu": Key("limited by the CPU", "user", "circle"),
    "disk": Key("limited by a disk", "disk", "circle"),
    "memory": Key("limited by memory", "memory", "circle"),
    "none": Key("nothing used up", "plain", "circle"),
    "unknown": Key("limit not measured", "plain", "circle"),
}
NAMES: dict[str, str] = {
    "cpu": "the CPU",
    "disk": "a disk",
    "memory": "memory",
    "none": "nothing",
    "unknown": "not measured",
}


def section(log: Log, result: Saturation | NotApplicable) -> Section:
    """Section of the saturation analysis."""
    del log
    if isinstance(result, NotApplicable):
        return refused("saturation", TITLE, result)
    figures = tuple(_figure(pair, number) for number, pair in enumerate(result.pairs, start=1) if pair.points)
    tables = [_limits(result), _frontier(result)]
    trades = _trade_offs(result)
    if trades is not None:
        tables.insert(1, trades)
    return Section(
        "saturation",
        TITLE,
        tuple(_sentences(result)),
        tuple(tables),
        figures,
        result.caveats,
        "An interval is on the frontier when no other did at least as much of everything (Bard 1971). "
        "The CPU counts as "
        f"used up below {percent(result.idle_below)} idle, a disk above "
        f"{percent(result.disk_above)} busy, memory above "
        f"{percent(result.stall_above)} of "
        f"the time stalled, in intervals of {shown.quantity(result.interval_s, 's')}.",
    )


def _sentences(result: Saturation) -> list[str]:
    on_frontier = sorted(((count, limit) for limit, count in result.limits.items() if count), reverse=True)
    total = sum(count for count, _ in on_frontier)
    words = [f"{NAMES[limit]} in {count}" for count, limit in on_frontier]
    used_up = [
        (limit, part)
        for limit, part in result.saturated_share.items()
        if limit in {"cpu", "disk", "memory"} and part.value > 0
    ]
    sentences = [
        f"Of the {shown.count(total, 'interval')} in which the machine did most, the limit was "
        f"{listed(words)}."
        if total
        else "No interval is on the frontier."
    ]
    for limit, part in sorted(used_up, key=lambda item: -item[1].value):
        what = NAMES[limit]
        sentences.append(
            f"{what[:1].upper()}{what[1:]} was used up in {shown.estimate(share(part) or part)} of all "
            "intervals."
        )
    if not used_up:
        sentences.append("No resource was used up in any interval: this load does not saturate the machine.")
    settles = result.filling.settles
    if settles is False:
        sentences.append("The frontier still moves outwards: the machine can do more than was seen here.")
    elif settles:
        sentences.append(
            "More data fill the frontier in rather than move it outwards: it is near what the machine can do."
        )
    return sentences


def _axis(item: Dimension) -> charts.Axis:
    return charts.Axis(f"{item.label} [{shown.plural(item.unit)}]", format="~s", low=0.0)


def _figure(pair: FrontierPair, number: int) -> Figure:
    limits = list(dict.fromkeys(pair.limits))
    keys = tuple(LIMITS[limit] for limit in sorted(limits, key=list(LIMITS).index))
    points = [
        {"x": x, "y": y, "series": LIMITS[limit].name, "shown": _place(pair, x, y)}
        for (x, y), limit in zip(pair.points, pair.limits, strict=True)
    ]
    cloud = [{"x": x, "y": y, "shown": _place(pair, x, y)} for x, y in pair.cloud]
    band = [{"x": x, "low": low, "high": high} for x, low, high in pair.band]
    curve = [{"x": x, "y": y} for x, y in pair.curve]
    name = f"saturation-{number}"
    table = Table(
        f"{name}-data",
        f"Frontier of {pair.x.label} and {pair.y.label}",
        (Column(pair.x.label, pair.x.unit), Column(pair.y.label, pair.y.unit), Column("limit")),
        tuple((x, y, NAMES[limit]) for (x, y), limit in zip(pair.points, pair.limits, strict=True)),
    )
    most_x = max(pair.points)
    most_y = max(pair.points, key=lambda point: point[1])
    alt = (
        f"At most {shown.quantity(most_x[0], pair.x.unit)} of {pair.x.label}; at most "
        f"{shown.quantity(most_y[1], pair.y.unit)}. {shown.count(len(pair.points), 'interval')} on the "
        "frontier, its hull as a line."
    )
    if pair.overall is not None:
        price = shown.estimate(bare(pair.overall.rate))
        alt += f" From end to end, one {pair.y.unit.partition('/')[0]} costs {price}."
    chart = partial(charts.frontier, cloud, points, curve, band, keys, _axis(pair.x), _axis(pair.y))
    title = f"{pair.x.label[:1].upper()}{pair.x.label[1:]} against {pair.y.label}"
    return Figure(name, title, chart, table, alt, (Key("all intervals", "other", "circle"), *keys), half=True)


def _place(pair: FrontierPair, x: float, y: float) -> str:
    return f"{shown.quantity(x, pair.x.unit)}, {shown.quantity(y, pair.y.unit)}"


def _limits(result: Saturation) -> Table:
    order: list[Limit] = ["cpu", "disk", "memory", "none", "unknown"]
    rows: list[tuple[Cell, ...]] = [
        (NAMES[limit], result.limits.get(limit, 0), share(result.saturated_share.get(limit)))
        for limit in order
        if result.limits.get(limit) or (limit in result.saturated_share and limit != "unknown")
    ]
    columns = (Column("used up"), Column("intervals on the frontier"), Column("of all intervals", "share"))
    return Table(
        "saturation-limits",
        "What was used up",
        columns,
        tuple(rows),
        (f"{shown.count(result.n, 'observation')}.",),
    )


def _frontier(result: Saturation) -> Table:
    columns = (
        Column("point"),
        *(Column(item.label, item.unit) for item in result.dimensions),
        Column("limit"),
        Column("CPU idle", "share"),
        Column("disk busy", "share"),
        Column("memory stalled", "share"),
        Column("swapping", "page/s"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            number,
            *point.values,
            NAMES[point.limit],
            point.idle,
            point.disk_busy,
            point.memory_stall,
            point.swapping,
        )
        for number, point in enumerate(result.points, start=1)
    ]
    return Table(
        "saturation-frontier", "Intervals on the frontier", columns, tuple(rows), folded=len(rows) > 12
    )


def _trade_offs(result: Saturation) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for pair in result.pairs:
        trades = [*pair.trade_offs, *([pair.overall] if pair.overall else [])]
        for trade in trades:
            low, high = shown.quantity(trade.low, pair.x.unit), shown.quantity(trade.high, pair.x.unit)
            what = "from end to end" if trade is pair.overall else f"{low} to {high}"
            rows.append((f"{pair.x.label} for {pair.y.label}", what, trade.rate))
    if not rows:
        return None
    columns = (Column("given up for one more"), Column("where"), Column("price"))
    return Table(
        "saturation-trade-offs",
        "What one kind of work costs in another, on the frontier",
        columns,
        tuple(rows),
        folded=len(rows) > 8,
    )
