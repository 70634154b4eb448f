"""Section of the saturation: limits, frontiers of pairs of kinds of work, and trade-offs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from thinktime.documents import format as shown
from thinktime.documents import palette
from thinktime.documents.charts import scatters
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Cell, Col, Cols, Figure, Key, Section, Table
from thinktime.documents.wording import bare, capital, listed, loads_chosen, percent, refused, share, worded
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.saturation.analysis import FrontierPoint, Saturation
    from thinktime.analyses.saturation.frontier_pair import Dimension, FrontierPair, Region, TradeOff
    from thinktime.analyses.saturation.resources import Ceiling

TITLE = "What limits this machine?"
KEYS: dict[str, Key] = {
    "cpu": palette.state("limited by the CPU", "circle"),
    "disk": palette.state("limited by a disk", "circle"),
    "memory": palette.state("limited by memory", "circle"),
    "none": palette.state("nothing exhausted", "circle"),
    "unknown": palette.state("limit not measured", "circle"),
}
CEILING_COLOURS = ("queue", "net", "interrupt", "steal")
NAMES: dict[str, str] = {
    "cpu": "the CPU",
    "disk": "a disk",
    "memory": "memory",
    "none": "nothing",
    "unknown": "not measured",
}
WORDS: Mapping[str, Callable[..., str]] = {
    "loads_chosen": loads_chosen,
    "mostly_unlimited": lambda free, points: (
        f"At {free} of {points} frontier points no resource was exhausted: there the frontier shows the load "
        "that was offered, not the most that the machine can do."
    ),
    "low_priority": lambda free, points, seen: (
        f"At {free} of {points} frontier points the CPU was full only because of work at low priority "
        "(nice). It counts as free there, "
        + (
            "as at nice 10 or more it leaves at least nine tenths of a CPU to work at nice 0, if both are of "
            "one session or control group."
            if seen
            else "which is right at nice 19 and too favourable near nice 1."
        )
    ),
    "still_growing": lambda: (
        "The frontier still moved outwards in the second half: more than this is possible."
    ),
    "too_few_to_settle": lambda least: (
        f"Fewer than {least} intervals: too few to say whether the frontier has settled."
    ),
    "not_measured": lambda resources: (
        f"Not measured: {', '.join(resources)}; points limited by these are labelled otherwise."
    ),
    "hollow": lambda x, y, share: (
        f"Of the area below the curve of {x} and {y}, {share:.0%} is a mixture of work that was done and was "
        "not done itself: the curve assumes a concave frontier."
    ),
    "resolution": lambda interval_s: (
        f"Saturation shorter than an interval ({interval_s:.3g} s) cannot be seen. The band of a frontier "
        "shows how much it depends on single blocks of the log, and says nothing about loads that never "
        "occurred. The curve follows the greatest readings, so that their errors raise it."
    ),
}


MOSTLY = 0.5
"""Share of the intervals near a frontier without an exhausted resource above which it is the load's."""


def named(limit: str) -> str:
    """Name of a limit: a resource that is always examined, or the resource of a ceiling."""
    return NAMES.get(limit, f"the {limit}")


def _keys(result: Saturation) -> dict[str, Key]:
    """Key of each limit."""
    resources = [ceiling.resource for ceiling in result.ceilings]
    keys = Key.each([f"limited by the {resource}" for resource in resources], CEILING_COLOURS, "circle")
    return {**KEYS, **dict(zip(resources, keys, strict=True))}


def section(result: Saturation | NotApplicable) -> Section:
    """Section of the saturation analysis."""
    if isinstance(result, NotApplicable):
        return refused("saturation", TITLE, result)
    keys = _keys(result)
    numbered = enumerate(result.pairs, start=1)
    figures = tuple(_figure(pair, number, keys) for number, pair in numbered if pair.points)
    optional = (_regions(result), _robust(result), _trade_offs(result), _ceilings(result))
    return Section(
        name="saturation",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=(_limits(result), *(table for table in optional if table.rows), _frontier(result)),
        figures=figures,
        caveats=worded(result.caveats, WORDS),
        method=_method(result),
    )


def _method(result: Saturation) -> str:
    limits = result.thresholds
    text = (
        "An interval is on the frontier when no other did at least as much of everything (Bard 1971). "
        f"The CPU counts as exhausted below {percent(limits.idle_below)} idle, a disk above "
        f"{percent(limits.disk_above)} busy, memory above {percent(limits.stall_above)} of the time stalled "
        f"while at most {percent(limits.memory_below)} of it is available"
    )
    if result.ceilings:
        text += f", a resource with a ceiling above {percent(limits.ceiling_above)} of it"
    return text + (
        f", in intervals of {shown.quantity(result.interval_s, 's')}. The broken line is the least concave "
        "curve above the points, the fine one the work actually done; slopes are the broken line's. Bands "
        f"and intervals are from resamples of {shown.count(result.blocks, 'block')} of "
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
        f"Of the {shown.count(total, 'interval')} in which the machine did the most, the limit was "
        f"{listed(words)}."
        if total
        else "No interval is on the frontier."
    ]
    sentences += [
        f"{capital(named(limit))} was exhausted in {shown.estimate(share(part) or part)} of all intervals."
        for limit, part in sorted(used_up, key=lambda item: -item[1].value)
    ]
    # A border that many resamples lack is in the table only.
    sentences += [_along(pair) for pair in result.pairs if len(pair.regions) > 1 and _sure(pair)]
    if not used_up:
        sentences.append(
            "No resource was exhausted in any interval: this load does not saturate the machine."
            if result.is_cpu_measured
            else "Whether this load saturates the machine is not known: use of the CPUs was not measured."
        )
    sentences += [
        f"Most of the frontier of {pair.x.label} and {pair.y.label} is that of this load and not of the "
        f"machine: in {shown.quantity(pair.unlimited, 'share')} of the intervals near it, no resource was "
        "exhausted."
        for pair in result.pairs
        if pair.unlimited is not None and pair.unlimited > MOSTLY
    ]
    settled = result.growth.settled
    if settled is False:
        sentences.append("The frontier still moves outwards: the machine can do more than was observed.")
    elif settled and used_up:
        sentences.append(
            "More data fill the frontier in rather than move it outwards: it is near the machine's limit."
        )
    return sentences


def _sure(pair: FrontierPair) -> bool:
    return all(region.border is None or region.border.low is not None for region in pair.regions)


def _along(pair: FrontierPair) -> str:
    """Limits along a frontier, in the order of x."""
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


def axis(item: Dimension) -> Axis:
    """Axis of one kind of work."""
    return Axis(f"{item.label} [{shown.plural(item.unit)}]", format="~s", low=0.0)


def place(pair: FrontierPair, x: float, y: float) -> str:
    """Coordinates of a point in words."""
    return f"{shown.quantity(x, pair.x.unit)}, {shown.quantity(y, pair.y.unit)}"


def _figure(pair: FrontierPair, number: int, keys: Mapping[str, Key]) -> Figure:
    """Frontier of two kinds of work among all intervals."""
    limited = list(zip(pair.points, pair.limits, strict=True))
    present = tuple(key for limit, key in keys.items() if limit in pair.limits)
    name = f"saturation-{number}"
    table = Table.of(
        limited,
        Col(pair.x.label, lambda item: item[0][0], unit=pair.x.unit),
        Col(pair.y.label, lambda item: item[0][1], unit=pair.y.unit),
        Col("limit", lambda item: named(item[1])),
        name=f"{name}-data",
        caption=f"Frontier of {pair.x.label} and {pair.y.label}",
    )
    chart = partial(
        scatters.frontier,
        cloud=[{"x": x, "y": y, "shown": place(pair, x, y)} for x, y in pair.cloud],
        points=[
            {"x": x, "y": y, "series": keys[limit].name, "shown": place(pair, x, y)}
            for (x, y), limit in limited
        ],
        curve=[{"x": x, "y": y} for x, y in pair.curve],
        band=[{"x": x, "low": low, "high": high} for x, low, high in pair.band],
        series=present,
        x=axis(pair.x),
        y=axis(pair.y),
        corners=[{"x": x, "y": y} for x, y in pair.staircase],
    )
    return Figure(
        name=name,
        title=f"{capital(pair.x.label)} against {pair.y.label}",
        chart=chart,
        data=table,
        alt=_alt(pair),
        keys=(Key("all intervals", colour="other", shape="circle"), *present),
        half=True,
    )


def _alt(pair: FrontierPair) -> str:
    most_x, most_y = max(x for x, _ in pair.points), max(y for _, y in pair.points)
    alt = (
        f"At most {shown.quantity(most_x, pair.x.unit)} of {pair.x.label}; at most "
        f"{shown.quantity(most_y, pair.y.unit)}. {shown.count(len(pair.points), 'interval')} on the "
        "frontier, its hull as a line."
    )
    if pair.overall is not None and not (pair.unlimited or 0.0) > MOSTLY:
        price = shown.estimate(bare(pair.overall.rate))
        alt += f" From end to end, one {pair.y.unit.partition('/')[0]} costs {price}."
    return alt


def _limits(result: Saturation) -> Table:
    return Table.of(
        [limit for limit, count in result.limits.items() if count or limit != "unknown"],
        Col("used up", named),
        Col("intervals on the frontier", lambda limit: result.limits[limit]),
        Col("of all intervals", lambda limit: share(result.saturated_share.get(limit)), unit="share"),
        name="saturation-limits",
        caption="Exhausted resources",
        notes=(f"{shown.count(result.n, 'observation')}.",),
    )


def _regions(result: Saturation) -> Table:
    """Regions of frontiers that have more than one."""

    def where(item: tuple[FrontierPair, Region]) -> str:
        pair, region = item
        low, high = (shown.quantity(end, pair.x.unit) for end in (region.low, region.high))
        return f"{pair.x.label} {low} to {high}"

    return Table.of(
        [(pair, region) for pair in result.pairs if len(pair.regions) > 1 for region in pair.regions],
        Col("frontier", lambda item: f"{item[0].x.label} and {item[0].y.label}"),
        Col("where", where),
        Col("limit", lambda item: named(item[1].limit)),
        Col("ends at", lambda item: item[1].border),
        Col("intervals near the curve", lambda item: item[1].n),
        Col("of them with this limit", lambda item: item[1].agreeing, unit="share"),
        name="saturation-regions",
        caption="Limits along the frontier",
    )


def _robust(result: Saturation) -> Table:
    return Table.of(
        [(pair, x, height) for pair in result.pairs for x, height in pair.robust],
        Col("frontier", lambda item: f"{item[0].x.label} and {item[0].y.label}"),
        Col("with at least", lambda item: shown.quantity(item[1], item[0].x.unit)),
        Col("exceeded in a tenth", lambda item: item[2]),
        Col("curve", lambda item: _height(item[0], item[1])),
        name="saturation-robust",
        caption="Work that the machine did more of in one interval of ten",
        notes=(
            "Of the intervals with at least so much of the first kind of work, a tenth did more of the "
            "second than this. Errors of readings hardly move it, nor does the length of the log: the curve, "
            "which follows the greatest readings, is 15 to 21 % too high where readings are off by 3 %. Each "
            "interval holds by itself (measured: 93 to 98 of 100, with errors of 0, 1 and 3 %).",
        ),
        folded=True,
    )


def _height(pair: FrontierPair, x: float) -> str:
    """Height of the curve at x."""
    below, above = zip(*pair.curve, strict=True)
    return shown.quantity(float(np.interp(x, below, above)), pair.y.unit)


def _trade_offs(result: Saturation) -> Table:
    def where(item: tuple[FrontierPair, TradeOff]) -> str:
        pair, trade = item
        if trade is pair.overall:
            return "from end to end"
        return f"{shown.quantity(trade.low, pair.x.unit)} to {shown.quantity(trade.high, pair.x.unit)}"

    rows = [
        (pair, trade)
        for pair in result.pairs
        for trade in (*pair.trade_offs, *((pair.overall,) if pair.overall else ()))
    ]
    return Table.of(
        rows,
        Col("given up for one more", lambda item: f"{item[0].x.label} for {item[0].y.label}"),
        Col("where", where),
        Col("limit", _limit_of),
        Col("price", lambda item: item[1].rate),
        Col("the other way", lambda item: item[1].slope),
        name="saturation-trade-offs",
        caption="Cost of one kind of work in another, on the frontier",
        folded=len(rows) > 8,
    )


def _limit_of(item: tuple[FrontierPair, TradeOff]) -> str:
    """Limit of a trade-off; of a whole frontier, whether it is the machine's."""
    pair, trade = item
    if trade.limit:
        return named(trade.limit)
    return "nothing: the load's, not the machine's" if (pair.unlimited or 0.0) > MOSTLY else ""


def _ceilings(result: Saturation) -> Table:
    def reached(item: tuple[int, Ceiling]) -> Cell:
        parts = [point.ceilings[item[0]] for point in result.points]
        return max((part for part in parts if part is not None), default=None)

    return Table.of(
        list(enumerate(result.ceilings)),
        Col("resource", lambda item: item[1].resource),
        Col("counted by", lambda item: " + ".join(item[1].columns)),
        Col("greatest rate per second", lambda item: item[1].per_s),
        Col("largest share reached", reached, unit="share"),
        Col("known from", lambda item: item[1].description),
        name="saturation-ceilings",
        caption="Known maximum rates",
    )


def _frontier(result: Saturation) -> Table:
    return Table.of(
        list(enumerate(result.points, start=1)),
        Col("point", lambda item: item[0]),
        *(
            Col(dimension.label, partial(_value, index=index), unit=dimension.unit)
            for index, dimension in enumerate(result.dimensions)
        ),
        Col("limit", lambda item: named(item[1].limit)),
        Col("CPU idle", lambda item: item[1].idle, unit="share"),
        Col("disk busy", lambda item: item[1].disk_busy, unit="share"),
        Col("memory stalled", lambda item: item[1].memory_stall, unit="share"),
        Col("swapping", lambda item: item[1].swapping, unit="page/s"),
        Cols(
            [f"of the {ceiling.resource}'s ceiling" for ceiling in result.ceilings],
            lambda item: item[1].ceilings,
            unit="share",
        ),
        name="saturation-frontier",
        caption="Intervals on the frontier",
        folded=len(result.points) > 12,
    )


def _value(item: tuple[int, FrontierPoint], index: int) -> Cell:
    return item[1].values[index]
