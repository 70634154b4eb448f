"""What the machine can do at most, and which resource stops it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Section, Table
from thinktime.documents.wording import bare, capital, listed, percent, refused, share
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.saturation.analysis import Saturation
    from thinktime.analyses.saturation.frontier_pair import Dimension, FrontierPair

TITLE = "What limits this machine?"
KEYS: dict[str, Key] = {
    "cpu": Key("limited by the CPU", colour="user", shape="circle"),
    "disk": Key("limited by a disk", colour="disk", shape="circle"),
    "memory": Key("limited by memory", colour="memory", shape="circle"),
    "none": Key("nothing used up", colour="plain", shape="circle"),
    "unknown": Key("limit not measured", colour="plain", shape="circle"),
}
CEILING_COLOURS = ("queue", "net", "interrupt", "steal")
NAMES: dict[str, str] = {
    "cpu": "the CPU",
    "disk": "a disk",
    "memory": "memory",
    "none": "nothing",
    "unknown": "not measured",
}


def named(limit: str) -> str:
    """Name a limit: one of the resources that are always looked at, or that of a ceiling."""
    return NAMES.get(limit, f"the {limit}")


def _keys(result: Saturation) -> dict[str, Key]:
    """Give each limit its colour."""
    own = {
        ceiling.resource: Key(
            f"limited by the {ceiling.resource}",
            colour=CEILING_COLOURS[at % len(CEILING_COLOURS)],
            shape="circle",
        )
        for at, ceiling in enumerate(result.ceilings)
    }
    return {**KEYS, **own}


def section(result: Saturation | NotApplicable) -> Section:
    """Section of the saturation analysis."""
    if isinstance(result, NotApplicable):
        return refused("saturation", TITLE, result)
    keys = _keys(result)
    numbered = enumerate(result.pairs, start=1)
    figures = tuple(_figure(pair, number, keys) for number, pair in numbered if pair.points)
    tables = [_limits(result), _regions(result), _trade_offs(result), _ceilings(result), _frontier(result)]
    return Section(
        name="saturation",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table is not None),
        figures=figures,
        caveats=result.caveats,
        method=_method(result),
    )


def _method(result: Saturation) -> str:
    at = result.thresholds
    text = (
        "An interval is on the frontier when no other did at least as much of everything (Bard 1971). "
        f"The CPU counts as used up below {percent(at.idle_below)} idle, a disk above "
        f"{percent(at.disk_above)} busy, memory above {percent(at.stall_above)} of the time stalled"
    )
    if result.ceilings:
        text += f", what has a ceiling above {percent(at.ceiling_above)} of it"
    return text + (
        f", in intervals of {shown.quantity(result.interval_s, 's')}. The broken line is the least concave "
        "curve above the points, the fine one what was done itself; slopes are the broken line's. Bands and "
        f"intervals are from resamples of {shown.count(result.blocks, 'block')} of "
        f"{shown.count(result.block, 'interval')}."
    )


def _sentences(result: Saturation) -> list[str]:
    on_frontier = sorted(((count, limit) for limit, count in result.limits.items() if count), reverse=True)
    total = sum(count for count, _ in on_frontier)
    words = [f"{named(limit)} in {count}" for count, limit in on_frontier]
    used_up = [
        (limit, part)
        for limit, part in result.saturated_share.items()
        if limit not in {"none", "unknown"} and part.value > 0
    ]
    sentences = [
        f"Of the {shown.count(total, 'interval')} in which the machine did most, the limit was "
        f"{listed(words)}."
        if total
        else "No interval is on the frontier."
    ]
    sentences += [
        f"{capital(named(limit))} was used up in {shown.estimate(share(part) or part)} of all intervals."
        for limit, part in sorted(used_up, key=lambda item: -item[1].value)
    ]
    # A border that resamples often lack stands in the table only.
    sentences += [_along(pair) for pair in result.pairs if len(pair.regions) > 1 and _sure(pair)]
    if not used_up:
        sentences.append("No resource was used up in any interval: this load does not saturate the machine.")
    settled = result.growth.settled
    if settled is False:
        sentences.append("The frontier still moves outwards: the machine can do more than was seen here.")
    elif settled:
        sentences.append(
            "More data fill the frontier in rather than move it outwards: it is near what the machine can do."
        )
    return sentences


def _sure(pair: FrontierPair) -> bool:
    return all(region.border is None or region.border.low is not None for region in pair.regions)


def _along(pair: FrontierPair) -> str:
    """Say where along a frontier which resource limits."""
    parts = []
    for region in pair.regions:
        if region.border is None:
            parts.append(f"beyond that {named(region.limit)}")
        else:
            parts.append(f"{named(region.limit)} up to {shown.estimate(region.border)}")
    return (
        f"On the frontier of {pair.x.label} and {pair.y.label}, going by {pair.x.label}, the limit is "
        f"{listed(parts)}."
    )


def axis(item: Dimension) -> charts.Axis:
    """Axis of one kind of work."""
    return charts.Axis(f"{item.label} [{shown.plural(item.unit)}]", format="~s", low=0.0)


def _figure(pair: FrontierPair, number: int, known: dict[str, Key]) -> Figure:
    keys = tuple(known[limit] for limit in known if limit in pair.limits)
    points = [
        {"x": x, "y": y, "series": known[limit].name, "shown": _place(pair, x, y)}
        for (x, y), limit in zip(pair.points, pair.limits, strict=True)
    ]
    cloud = [{"x": x, "y": y, "shown": _place(pair, x, y)} for x, y in pair.cloud]
    band = [{"x": x, "low": low, "high": high} for x, low, high in pair.band]
    curve, corners = ([{"x": x, "y": y} for x, y in line] for line in (pair.curve, pair.staircase))
    name = f"saturation-{number}"
    table = Table(
        name=f"{name}-data",
        caption=f"Frontier of {pair.x.label} and {pair.y.label}",
        columns=(
            Column(pair.x.label, unit=pair.x.unit),
            Column(pair.y.label, unit=pair.y.unit),
            Column("limit"),
        ),
        rows=tuple((x, y, named(limit)) for (x, y), limit in zip(pair.points, pair.limits, strict=True)),
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
    chart = partial(charts.frontier, cloud, points, curve, band, keys, axis(pair.x), axis(pair.y), corners)
    title = f"{capital(pair.x.label)} against {pair.y.label}"
    return Figure(
        name=name,
        title=title,
        chart=chart,
        data=table,
        alt=alt,
        keys=(Key("all intervals", colour="other", shape="circle"), *keys),
        half=True,
    )


def _place(pair: FrontierPair, x: float, y: float) -> str:
    return f"{shown.quantity(x, pair.x.unit)}, {shown.quantity(y, pair.y.unit)}"


def _limits(result: Saturation) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (named(limit), count, share(result.saturated_share.get(limit)))
        for limit, count in result.limits.items()
        if count or limit != "unknown"
    ]
    columns = (
        Column("used up"),
        Column("intervals on the frontier"),
        Column("of all intervals", unit="share"),
    )
    return Table(
        name="saturation-limits",
        caption="What was used up",
        columns=columns,
        rows=tuple(rows),
        notes=(f"{shown.count(result.n, 'observation')}.",),
    )


def _regions(result: Saturation) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for pair in result.pairs:
        for region in pair.regions if len(pair.regions) > 1 else ():
            low, high = (shown.quantity(end, pair.x.unit) for end in (region.low, region.high))
            what = f"{pair.x.label} and {pair.y.label}"
            where = f"{pair.x.label} {low} to {high}"
            rows.append((what, where, named(region.limit), region.border, region.n, region.agreeing))
    if not rows:
        return None
    columns = (
        Column("frontier"),
        Column("where"),
        Column("limit"),
        Column("ends at"),
        Column("intervals near the curve"),
        Column("of them with this limit", unit="share"),
    )
    return Table(
        name="saturation-regions",
        caption="What limits where on the frontier",
        columns=columns,
        rows=tuple(rows),
    )


def _ceilings(result: Saturation) -> Table | None:
    if not result.ceilings:
        return None
    rows: list[tuple[Cell, ...]] = []
    for at, ceiling in enumerate(result.ceilings):
        reached = [part for point in result.points if (part := point.ceilings[at]) is not None]
        of = " + ".join(ceiling.columns)
        rows.append((ceiling.resource, of, ceiling.per_s, max(reached, default=None), ceiling.description))
    columns = (
        Column("resource"),
        Column("counted by"),
        Column("greatest rate per second"),
        Column("most that was reached", unit="share"),
        Column("known from"),
    )
    return Table(
        name="saturation-ceilings",
        caption="Greatest rates that are known, not measured",
        columns=columns,
        rows=tuple(rows),
    )


def _frontier(result: Saturation) -> Table:
    columns = (
        Column("point"),
        *(Column(item.label, unit=item.unit) for item in result.dimensions),
        Column("limit"),
        Column("CPU idle", unit="share"),
        Column("disk busy", unit="share"),
        Column("memory stalled", unit="share"),
        Column("swapping", unit="page/s"),
        *(Column(f"of the {ceiling.resource}'s ceiling", unit="share") for ceiling in result.ceilings),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            number,
            *point.values,
            named(point.limit),
            point.idle,
            point.disk_busy,
            point.memory_stall,
            point.swapping,
            *point.ceilings,
        )
        for number, point in enumerate(result.points, start=1)
    ]
    return Table(
        name="saturation-frontier",
        caption="Intervals on the frontier",
        columns=columns,
        rows=tuple(rows),
        folded=len(rows) > 12,
    )


def _trade_offs(result: Saturation) -> Table | None:
    rows: list[tuple[Cell, ...]] = []
    for pair in result.pairs:
        trades = [*pair.trade_offs, *([pair.overall] if pair.overall else [])]
        for trade in trades:
            low, high = shown.quantity(trade.low, pair.x.unit), shown.quantity(trade.high, pair.x.unit)
            what = "from end to end" if trade is pair.overall else f"{low} to {high}"
            limit = named(trade.limit) if trade.limit else ""
            rows.append((f"{pair.x.label} for {pair.y.label}", what, limit, trade.rate, trade.slope))
    if not rows:
        return None
    columns = (
        Column("given up for one more"),
        Column("where"),
        Column("limit"),
        Column("price"),
        Column("the other way"),
    )
    return Table(
        name="saturation-trade-offs",
        caption="What one kind of work costs in another, on the frontier",
        columns=columns,
        rows=tuple(rows),
        folded=len(rows) > 8,
    )
