"""Whether a change helped: a designed experiment with two treatments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Section, Table
from thinktime.documents.wording import capital, ends, p_value, percent, refused
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.compare.result import Allowed, Comparison, CostChange, Effect, Unit

__all__ = ["AT", "TITLE", "about", "section"]

TITLE = "Did the change help?"
AT = {"": "", "load": " at equal load", "work": " at equal work"}
BINS = 25
FIGURES_MAX = 2
WHOLE_UP_TO = 5
"""Assignments of a box up to which every number is on the axis."""
SMALLEST_NAMED = 0.01
"""Least p of a design from which on it is worth a word."""
OBSERVED = Key("observed", colour="system", shape="diamond")


def section(result: Comparison | NotApplicable) -> Section:
    """Section of a comparison of two treatments."""
    if isinstance(result, NotApplicable):
        return refused("compare", TITLE, result)
    tables = [_effects(result), _power(result), _allowed(result), _costs(result), _units(result)]
    if result.left_out:
        columns = (Column("quantity"), Column("why"))
        tables.append(
            Table(
                name="compare-left-out",
                caption="Not compared",
                columns=columns,
                rows=result.left_out,
                folded=True,
            )
        )
    shown_most = _foremost(result)[:FIGURES_MAX]
    figures = [figure for item in shown_most for figure in (_days(result, item), _chance(item))]
    return Section(
        name="compare",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table.rows),
        figures=tuple(figures),
        caveats=result.caveats,
        method=_method(result),
    )


def _method(result: Comparison) -> str:
    out = f", effects of {' and '.join(result.blocks)} taken out" if result.blocks else ""
    return (
        f"Least squares on the means of {result.unit}s{out} (additive model). Randomisation test: p is the "
        "part of the possible assignments whose statistic is as far from zero or farther (Fisher); its "
        f"interval holds all differences that it keeps. At equal load or work: slopes within {result.unit}s "
        "take out what load or requests differ; they do not depend on the assignment, so that "
        "the test stays exact. Power: normal errors with the standard deviation that was seen."
    )


def _name(item: Effect) -> str:
    return f"{capital(item.label)}{AT[item.adjusted]}"


def _foremost(result: Comparison) -> list[Effect]:
    """Answer first: useful work at equal load, then overhead at equal work, as far as there are any."""
    order = {("useful", "load"): 0, ("overhead", "work"): 1, ("overhead", "load"): 2, ("useful", ""): 3}
    ranked = sorted(result.effects, key=lambda item: order.get((item.kind, item.adjusted), 4))
    return [item for item in ranked if (item.kind, item.adjusted) in order] or ranked[:1]


def _sentences(result: Comparison) -> list[str]:
    sentences = [_said(result, item) for item in _foremost(result)[:3]]
    made = next(item for item in result.allowed if item.chosen)
    few = made.smallest_p is not None and made.smallest_p > SMALLEST_NAMED
    least = f": no p below {shown.probability(made.smallest_p or 0.0)} can come out" if few else ""
    drawn = result.effects[0].test
    tried = "" if drawn.exact else f", of which {drawn.assignments:,} were tried"
    sentences.append(
        f"{shown.count(made.assignments, 'assignment')} were possible ({made.statement}){tried}{least}."
    )
    sentences += _chances(_foremost(result)[0])
    n = sum(unit.n for unit in result.units)
    follows = (
        ""
        if result.autocorrelation is None
        else f" (each is correlated with the next by {shown.number(result.autocorrelation, 2)})"
    )
    sentences.append(
        f"{shown.count(len(result.units), result.unit)} are compared, not their {n:,} observations, which "
        f"follow one another{follows} and share what was peculiar to their {result.unit}."
    )
    return sentences


def _said(result: Comparison, item: Effect) -> str:
    relative = f" ({item.relative:+.1%})".replace("-", "−") if item.relative is not None else ""
    student = f", {shown.probability(item.t_test.p)} by Student's t" if item.t_test is not None else ""
    return (
        f"{_name(item)}: {shown.estimate(item.difference)}{relative} with "
        f"{_treatment(result, result.treated)} instead of {_treatment(result, result.control)}; "
        f"{p_value(item.test.p)} by the possible assignments{student}."
    )


def _treatment(result: Comparison, name: str) -> str:
    """Name a treatment; a number alone does not say what it is of: `new = 1`."""
    return f"{result.factor} = {name}" if name.replace(".", "").replace("-", "").isdigit() else name


def _chances(item: Effect) -> list[str]:
    power = item.power
    if power is None:
        return []
    student = "" if power.by_t is None else f", Student's test with probability {shown.number(power.by_t, 2)}"
    first = (
        f"A true difference of {shown.quantity(abs(power.difference), item.unit)} in {item.label}"
        f"{AT[item.adjusted]} would be found by the randomisation test with probability "
        f"{shown.number(power.by_permutation, 2)}{student}"
    )
    least = power.detectable_by_t
    found = "" if least is None else f"; with 0.8 Student's finds {shown.quantity(least, item.unit)}"
    own = power.detectable_by_permutation
    exact = (
        ", the randomisation test no difference whatever"
        if own is None
        else f", the randomisation test {shown.quantity(own, item.unit)}"
    )
    return [f"{first}{found}{exact if found else ''}."]


def _effects(result: Comparison) -> Table:
    columns = (
        Column("quantity"),
        Column(_treatment(result, result.control)),
        Column(_treatment(result, result.treated)),
        Column("difference"),
        Column("change", unit="share"),
        Column("randomisation", unit="p"),
        Column("Student", unit="p"),
    )
    rows = tuple(
        (
            _name(item),
            item.control,
            item.treated,
            item.difference,
            item.relative,
            item.test.p,
            None if item.t_test is None else item.t_test.p,
        )
        for item in result.effects
    )
    notes = [f"Means are of {result.unit}s, each counted once. Intervals are Student's, {_level(result)}."]
    if not result.effects[0].test.exact:
        error = max(item.test.error for item in result.effects)
        notes.append(f"Assignments were drawn: p has a standard error of at most {shown.number(error, 1)}.")
    return Table(
        name="compare-effects",
        caption="What the treatment changed",
        columns=columns,
        rows=rows,
        notes=tuple(notes),
    )


def _level(result: Comparison) -> str:
    return percent(result.effects[0].difference.level)


def _power(result: Comparison) -> Table:
    columns = (
        Column("quantity"),
        Column("difference by randomisation"),
        Column(f"deviation of {result.unit}s"),
        Column("asked for"),
        Column("power, randomisation", unit="share"),
        Column("power, Student", unit="share"),
        Column("least, randomisation"),
        Column("least, Student"),
    )
    rows = [
        (
            _name(item),
            item.inverted,
            _figure_of(item, item.deviation),
            _figure_of(item, item.power.difference),
            item.power.by_permutation,
            item.power.by_t,
            _figure_of(item, item.power.detectable_by_permutation),
            _figure_of(item, item.power.detectable_by_t),
        )
        for item in result.effects
        if item.power is not None
    ]
    notes = (
        "Difference by randomisation: all differences that the test keeps; without an interval where there "
        "are too few assignments for one.",
        "Power: probability of finding the difference that was asked for at p = 0.05; least: the "
        "difference that is found with probability 80 %; – where none is.",
    )
    return Table(
        name="compare-power",
        caption="What the design can find",
        columns=columns,
        rows=tuple(rows),
        notes=notes,
        folded=True,
    )


def _figure_of(item: Effect, value: float | None) -> Estimate | None:
    """Put a figure in its own unit: quantities of one column differ in theirs."""
    return None if value is None else Estimate(value=value, unit=item.unit, n=len(item.values), method="")


def _allowed(result: Comparison) -> Table:
    foremost = _foremost(result)[0]
    columns = (
        Column("if"),
        Column("taken out"),
        Column("assignments"),
        Column("smallest", unit="p"),
        Column("df"),
        Column(_name(foremost), unit="p"),
    )

    def row(item: Allowed, p: float | None) -> tuple[Cell, ...]:
        out = ", ".join(item.blocks) or "nothing"
        number = item.assignments if item.smallest_p is not None else None
        mark = " *" if item.chosen else ""
        return (f"{item.statement}{mark}", out, number, item.smallest_p, item.degrees, p)

    rows = tuple(row(item, p) for item, p in zip(result.allowed, foremost.p_allowed, strict=True))
    notes = ("* the statement that all other tables stand on. One must be true of how the plan was made.",)
    return Table(
        name="compare-allowed",
        caption="Which assignments were possible",
        columns=columns,
        rows=rows,
        notes=notes,
    )


def _costs(result: Comparison) -> Table:
    whole = any(item.difference is not None for item in result.costs)
    columns = [Column("request")]
    if whole:
        columns += [
            Column(_treatment(result, result.control)),
            Column(_treatment(result, result.treated)),
            Column("difference"),
        ]
    columns += [
        Column(f"difference by {result.unit}s"),
        Column("randomisation", unit="p"),
        Column("Student", unit="p"),
    ]

    def row(item: CostChange) -> tuple[Cell, ...]:
        own = item.by_unit
        by_unit: tuple[Cell, ...] = (None, None, None)
        if own is not None:
            by_unit = (own.difference, own.test.p, None if own.t_test is None else own.t_test.p)
        middle = (item.control, item.treated, item.difference) if whole else ()
        return (capital(item.label), *middle, *by_unit)

    notes = [
        f"By {result.unit}s: the regression is fitted on each {result.unit} by itself, and its coefficients "
        "are compared as any other quantity is."
    ]
    if whole:
        notes.insert(
            0,
            "Regression of system time on all observations of a treatment; intervals hold under "
            "autocorrelation.",
        )
    rows = tuple(row(item) for item in result.costs)
    return Table(
        name="compare-costs",
        caption="What a request costs the system",
        columns=tuple(columns),
        rows=rows,
        notes=tuple(notes),
    )


def _units(result: Comparison) -> Table:
    foremost = _foremost(result)
    columns = (
        Column(result.unit),
        *(Column(name) for name in result.blocks),
        Column("treatment"),
        Column("n"),
        Column("time", unit="s"),
        *(Column(_name(item), unit=item.unit) for item in foremost),
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            unit.label,
            *unit.blocks,
            _treatment(result, unit.treatment),
            unit.n,
            unit.length_s,
            *(item.values[at] for item in foremost),
        )
        for at, unit in enumerate(result.units)
    )
    return Table(
        name="compare-units",
        caption=f"The {result.unit}s",
        columns=columns,
        rows=rows,
        folded=len(rows) > 2 * BINS,
    )


def _key(result: Comparison, treatment: str) -> Key:
    colour = "user" if treatment == result.treated else "other"
    return Key(_treatment(result, treatment), colour=colour, shape="circle")


def _label(unit: Unit) -> str:
    return ", ".join((*unit.blocks, unit.label))


def about(values: Sequence[float]) -> tuple[float, float]:
    """Return ends of an axis that shows how values differ, and not how far they are from zero."""
    low, high = min(values), max(values)
    room = 0.1 * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room


def _days(result: Comparison, item: Effect) -> Figure:
    """Draw the mean of each unit, coloured by its treatment, in the order of blocks."""
    keys = tuple(_key(result, name) for name in (result.control, result.treated))
    rows = [
        {
            "label": _label(unit),
            "series": _treatment(result, unit.treatment),
            "value": value,
            "low": value,
            "high": value,
            "shown": shown.quantity(value, item.unit),
        }
        for unit, value in zip(result.units, item.values, strict=True)
    ]
    columns = (Column(result.unit), Column("treatment"), Column(_name(item), unit=item.unit))
    cells = tuple(
        (_label(unit), _treatment(result, unit.treatment), value)
        for unit, value in zip(result.units, item.values, strict=True)
    )
    name = f"compare-{result.unit}s-{_slug(item)}"
    named = (result.unit, "treatment", item.label)
    low, high = about(item.values)
    axis = charts.Axis(f"{_name(item)} [{item.unit}]", low=low, high=high)
    chart = partial(charts.dots, rows, keys, axis, named)
    alt = (
        f"{_name(item)}: mean {shown.quantity(item.control.value, item.unit)} over the {result.unit}s with "
        f"{_treatment(result, result.control)}, {shown.quantity(item.treated.value, item.unit)} over those "
        f"with {_treatment(result, result.treated)}."
    )
    caption = f"{_name(item)}, {result.unit} by {result.unit}"
    return Figure(
        name=name,
        title=caption,
        chart=chart,
        data=Table(name=f"{name}-data", caption=caption, columns=columns, rows=cells),
        alt=alt,
        keys=keys,
        half=True,
    )


def _chance(item: Effect) -> Figure:
    """Draw the differences that the possible assignments would have shown, with the one that was seen."""
    boxes = _boxes(item)
    most = max(number for _, _, number in boxes)
    rows = [
        {
            "low": low,
            "high": high,
            "value": number,
            "shown": f"{shown.count(number, 'assignment')} from {shown.quantity(low, item.unit)}",
        }
        for low, high, number in boxes
    ]
    seen = item.difference.value
    point = [{"x": seen, "y": most / 2, "series": OBSERVED.name, "shown": shown.estimate(item.difference)}]
    x = charts.Axis(f"Difference in {item.label}{AT[item.adjusted]} [{item.unit}]")
    whole = tuple(map(float, range(most + 1))) if most <= WHOLE_UP_TO else ()
    y = charts.Axis("possible assignments", low=0.0, high=float(most) * 1.05, ticks=whole)

    def chart() -> charts.Spec:
        bars = charts.histogram(rows, x, y, "other", "assignments")
        return charts.laid_over(bars, point, (OBSERVED,))

    name = f"compare-chance-{_slug(item)}"
    columns = (Column("from", unit=item.unit), Column("to", unit=item.unit), Column("assignments"))
    caption = f"What chance alone would have shown: {item.label}{AT[item.adjusted]}"
    table = Table(name=f"{name}-data", caption=caption, columns=columns, rows=tuple(boxes))
    low, high = ends(replace(item.difference, low=item.by_chance[0], high=item.by_chance[-1]))
    alt = (
        f"If the treatment did nothing, the {item.test.assignments:,} assignments that are compared would "
        f"have shown differences from {shown.quantity(low, item.unit)} to {shown.quantity(high, item.unit)}; "
        f"{shown.quantity(seen, item.unit)} was seen. The part of them that is as far from zero: "
        f"{p_value(item.test.p)}."
    )
    return Figure(name=name, title=caption, chart=chart, data=table, alt=alt, keys=(OBSERVED,), half=True)


def _boxes(item: Effect) -> list[tuple[float, float, int]]:
    """Ranges of equal width, about zero, with the number of assignments in each."""
    reach = max(abs(item.by_chance[0]), abs(item.by_chance[-1]), abs(item.difference.value)) or 1.0
    width = 2.0 * reach * (1.0 + 1e-9) / BINS
    counts = [0] * BINS
    for value in item.by_chance:
        counts[min(BINS - 1, int((value + reach) / width))] += 1
    return [(at * width - reach, (at + 1) * width - reach, number) for at, number in enumerate(counts)]


def _slug(item: Effect) -> str:
    name = item.name.replace("_", "-").replace(":", "-")
    return f"{name}-{item.adjusted}" if item.adjusted else name
