"""Section of a designed experiment with two treatments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from thinktime.documents import format as shown
from thinktime.documents.charts import distributions, scatters
from thinktime.documents.charts.axis import Axis, Spec
from thinktime.documents.document import Cell, Col, Cols, Column, Figure, Key, Section, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import capital, ends, few_attributed, p_value, percent, refused, worded
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.hypothesis import ALPHA

if TYPE_CHECKING:
    from thinktime.analyses.compare.result import Comparison, Contrast, Effect, Unit

_Contrast = TypeVar("_Contrast", bound="Contrast")

TITLE = "Did the change help?"
AT = {"": "", "load": " at equal load", "work": " at equal work"}
ORDER = {("useful", "load"): 0, ("overhead", "work"): 1, ("overhead", "load"): 2, ("useful", ""): 3}
"""Contrasts that answer the question, the most important first."""
BINS = 25
FIGURES_MAX = 2
SENTENCES_MAX = 3
WHOLE_UP_TO = 5
"""Assignments in a box up to which the axis has every whole number."""
SMALLEST_NAMED = 0.01
"""Smallest p of a design from which on it is worth a sentence."""
OBSERVED = Key("observed", colour="system", shape="diamond")

REASONS: Mapping[str, Callable[..., str]] = {
    "not_measured": lambda: "not measured in this log",
    "rarely_measured": lambda: "measured in only some of the observations",
    "never_happened": lambda: "never happened in this log",
    "no_load": lambda: "no load was measured, or it never varied",
    "no_requests": lambda: "no requests were measured",
    "no_variation": lambda: "the covariates do not vary within a unit",
    "few_observations": lambda n, slopes: f"{n} observations are too few for {slopes} slopes",
}
"""Words for the reasons why a quantity is not compared."""


def _left_out(dropped: int, incomplete: int, unit: str) -> str:
    parts = []
    if dropped:
        parts.append(f"{dropped} do not belong to any {unit} of the comparison")
    if incomplete:
        parts.append(f"{incomplete} lack a quantity that is compared")
    return f"Omitted observations: {'; '.join(parts)}."


WORDS: Mapping[str, Callable[..., str]] = {
    "few_attributed": few_attributed,
    "few_assignments": lambda assignments, smallest_p: (
        f"The design allows only {assignments} assignments: no data could give the randomisation test a p "
        f"value below {smallest_p:.2g}, so it cannot detect any effect at {ALPHA:g}, however large. "
        "Student's test can, if the units are normal and independent."
    ),
    "trend": lambda share: (
        f"Treatment and time are confounded ({share:.0%} of the treatment's variation is a linear trend "
        f"over time): anything else that changed steadily in the meantime looks like an effect."
    ),
    "drawn_by_lot": lambda assignments: (
        f"The p values are exact if the plan was drawn at random from the {assignments:,} possible ones; "
        f"for a plan chosen in any other way, they are valid only if it is independent of everything else "
        f"that differed."
    ),
    "load_not_assigned": lambda changed: (
        "Load and requests were not assigned: if the treatment itself changed them, comparing at equal load "
        f"or work removes that part of its effect{f', and {changed} did differ' if changed else ''}."
    ),
    "many_tests": lambda tests: (
        f"{tests} comparisons are made, each with a false-alarm rate of {ALPHA:g}: decide beforehand which "
        "one answers the question."
    ),
    "short_units": lambda labels, unit: (
        f"{', '.join(labels)}: observed for less than half of the time of the others, yet counted as one "
        f"{unit}."
    ),
    "observations_left_out": _left_out,
    "carried_over": lambda unit: (
        f"After-effects of a treatment (deferred work, warm caches) are attributed to the next {unit}."
    ),
}


def section(result: Comparison | NotApplicable) -> Section:
    """Section of a comparison of two treatments."""
    if isinstance(result, NotApplicable):
        return refused("compare", TITLE, result)
    tables = [_effects(result), _power(result), _allowed(result), _costs(result), _units(result)]
    if result.left_out:
        tables.append(
            Table.of(
                result.left_out,
                Col("quantity", lambda item: item.name),
                Col("why", lambda item: reason(item.reason)),
                name="compare-left-out",
                caption="Not compared",
                folded=True,
            )
        )
    drawn = foremost(result.effects)[:FIGURES_MAX]
    return Section(
        name="compare",
        title=TITLE,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in tables if table.rows),
        figures=tuple(figure for item in drawn for figure in (_unit_means(result, item), _chance(item))),
        caveats=worded(result.caveats, WORDS),
        method=_method(result),
    )


def _method(result: Comparison) -> str:
    removed = f", effects of {' and '.join(result.blocks)} removed" if result.blocks else ""
    return (
        f"Least squares on the means of {result.unit}s{removed} (additive model). Randomisation test: p is "
        "the share of the possible assignments whose statistic is at least as far from zero (Fisher); its "
        "interval contains all differences that it does not reject. At equal load or work: slopes within "
        f"{result.unit}s remove the effects of load or requests; they do not depend on the assignment, so "
        "the test stays exact. Power: normal errors with the observed standard deviation."
    )


# Shared with the comparison of two logs


def name_of(item: Contrast) -> str:
    """Name of a quantity with its adjustment."""
    return f"{capital(item.label)}{AT[item.adjusted]}"


def relative(item: Contrast) -> str:
    """Relative difference in brackets; empty where there is none."""
    return "" if item.relative is None else f" ({item.relative:+.1%})".replace("-", "−")


def foremost(effects: Sequence[_Contrast]) -> list[_Contrast]:
    """Contrasts that answer the question: useful work at equal load, then overhead at equal work."""
    ranked = sorted(effects, key=lambda item: ORDER.get((item.kind, item.adjusted), len(ORDER)))
    return [item for item in ranked if (item.kind, item.adjusted) in ORDER] or ranked[:1]


def reason(caveat: Caveat) -> str:
    """Words for the reason why a quantity is not compared."""
    return REASONS[caveat.kind](**caveat.values)


def correlated(autocorrelation: float | None) -> str:
    """Clause on the correlation of successive observations; empty where it is not known."""
    if autocorrelation is None:
        return ""
    return f"each is correlated with the next by {shown.number(autocorrelation, 2)}"


def near(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis that shows how values differ, not how far they are from zero."""
    low, high = min(values), max(values)
    room = 0.1 * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room


# Sentences


def _sentences(result: Comparison) -> Iterator[str]:
    order = foremost(result.effects)
    for item in order[:SENTENCES_MAX]:
        yield _difference(result, item)
    made = next(item for item in result.allowed if item.chosen)
    few = made.smallest_p is not None and made.smallest_p > SMALLEST_NAMED
    least = f": no p below {shown.probability(made.smallest_p or 0.0)} is possible" if few else ""
    drawn = result.effects[0].test
    tried = "" if drawn.exact else f", of which {drawn.assignments:,} were tried"
    yield f"{shown.count(made.assignments, 'assignment')} were possible ({made.statement}){tried}{least}."
    if order[0].power is not None:
        yield _power_of(order[0])
    n, follows = sum(unit.n for unit in result.units), correlated(result.autocorrelation)
    yield (
        f"{shown.count(len(result.units), result.unit)} are compared, not their {n:,} observations, which "
        f"follow one another{f' ({follows})' if follows else ''} and share the peculiarities of their "
        f"{result.unit}."
    )


def _difference(result: Comparison, item: Effect) -> str:
    student = f", {shown.probability(item.t_test.p)} by Student's t" if item.t_test is not None else ""
    return (
        f"{name_of(item)}: {shown.estimate(item.difference)}{relative(item)} with "
        f"{_treatment(result, result.treated)} instead of {_treatment(result, result.control)}; "
        f"{p_value(item.test.p)} by the possible assignments{student}."
    )


def _treatment(result: Comparison, name: str) -> str:
    """Name of a treatment; a number is preceded by its factor: `new = 1`."""
    return f"{result.factor} = {name}" if name.replace(".", "").replace("-", "").isdigit() else name


def _power_of(item: Effect) -> str:
    power = item.power
    assert power is not None
    student = "" if power.by_t is None else f", Student's test with probability {shown.number(power.by_t, 2)}"
    text = (
        f"A true difference of {shown.quantity(abs(power.difference), item.unit)} in {item.label}"
        f"{AT[item.adjusted]} would be detected by the randomisation test with probability "
        f"{shown.number(power.by_permutation, 2)}{student}"
    )
    if power.detectable_by_t is None:
        return f"{text}."
    detectable = power.detectable_by_permutation
    exact = "no difference at all" if detectable is None else shown.quantity(detectable, item.unit)
    return (
        f"{text}; with probability 0.8, Student's test detects "
        f"{shown.quantity(power.detectable_by_t, item.unit)}, the randomisation test {exact}."
    )


# Tables


def _effects(result: Comparison) -> Table:
    level = percent(result.effects[0].difference.level)
    notes = [f"Means are of {result.unit}s, each counted once. Intervals are Student's, {level}."]
    if not result.effects[0].test.exact:
        error = max(item.test.error for item in result.effects)
        notes.append(f"Assignments were drawn: p has a standard error of at most {shown.number(error, 1)}.")
    return Table.of(
        result.effects,
        Col("quantity", lambda item: name_of(item)),
        Col(_treatment(result, result.control), lambda item: item.control),
        Col(_treatment(result, result.treated), lambda item: item.treated),
        Col("difference", lambda item: item.difference),
        Col("change", lambda item: item.relative, unit="share"),
        Col("randomisation", lambda item: item.test.p, unit="p"),
        Col("Student", lambda item: _student_p(item), unit="p"),
        name="compare-effects",
        caption="Effects of the treatment",
        notes=notes,
    )


def _student_p(item: Effect) -> float | None:
    return None if item.t_test is None else item.t_test.p


def _power(result: Comparison) -> Table:
    return Table.of(
        [(item, item.power) for item in result.effects if item.power is not None],
        Col("quantity", lambda row: name_of(row[0])),
        Col("difference by randomisation", lambda row: row[0].inverted),
        Col(f"deviation of {result.unit}s", lambda row: _with_unit(row[0], row[0].deviation)),
        Col("asked for", lambda row: _with_unit(row[0], row[1].difference)),
        Col("power, randomisation", lambda row: row[1].by_permutation, unit="share"),
        Col("power, Student", lambda row: row[1].by_t, unit="share"),
        Col("least, randomisation", lambda row: _with_unit(row[0], row[1].detectable_by_permutation)),
        Col("least, Student", lambda row: _with_unit(row[0], row[1].detectable_by_t)),
        name="compare-power",
        caption="Power of the design",
        notes=[
            "Difference by randomisation: all differences that the test does not reject; no interval where "
            "there are too few assignments.",
            "Power: probability of detecting the requested difference at p = 0.05; least: the difference "
            "detected with probability 80 %; – if there is none.",
        ],
        folded=True,
    )


def _with_unit(item: Effect, value: float | None) -> Estimate | None:
    """Value with the unit of the quantity: those of one column have different units."""
    return None if value is None else Estimate(value=value, unit=item.unit, n=len(item.values), method="")


def _allowed(result: Comparison) -> Table:
    first = foremost(result.effects)[0]
    return Table.of(
        list(zip(result.allowed, first.p_allowed, strict=True)),
        Col("if", lambda row: f"{row[0].statement}{' *' if row[0].chosen else ''}"),
        Col("removed", lambda row: ", ".join(row[0].blocks) or "nothing"),
        Col("assignments", lambda row: None if row[0].smallest_p is None else row[0].assignments),
        Col("smallest", lambda row: row[0].smallest_p, unit="p"),
        Col("df", lambda row: row[0].degrees),
        Col(name_of(first), lambda row: row[1], unit="p"),
        name="compare-allowed",
        caption="Possible assignments",
        notes=[
            "* the statement on which all other tables rely. One of them must describe how the plan was made."
        ],
    )


def _costs(result: Comparison) -> Table:
    whole = any(item.difference is not None for item in result.costs)
    notes = [
        f"By {result.unit}s: the regression is fitted on each {result.unit} separately, and its "
        f"coefficients are compared like any other quantity."
    ]
    headings = []
    if whole:
        notes.insert(
            0,
            "Regression of system time on all observations of a treatment; intervals hold under "
            "autocorrelation.",
        )
        headings = [_treatment(result, name) for name in (result.control, result.treated)] + ["difference"]
    return Table.of(
        [(item, item.by_unit) for item in result.costs],
        Col("request", lambda row: capital(row[0].label)),
        Cols(headings, lambda row: (row[0].control, row[0].treated, row[0].difference) if whole else ()),
        Col(f"difference by {result.unit}s", lambda row: None if row[1] is None else row[1].difference),
        Col("randomisation", lambda row: None if row[1] is None else row[1].test.p, unit="p"),
        Col("Student", lambda row: None if row[1] is None else _student_p(row[1]), unit="p"),
        name="compare-costs",
        caption="Costs of requests in system time",
        notes=notes,
    )


def _units(result: Comparison) -> Table:
    order = foremost(result.effects)
    columns: list[Col[tuple[int, Unit]]] = [
        Col(name_of(item), partial(_value_of, item), unit=item.unit) for item in order
    ]
    return Table.of(
        list(enumerate(result.units)),
        Col(result.unit, lambda row: row[1].label),
        Cols(result.blocks, lambda row: row[1].blocks),
        Col("treatment", lambda row: _treatment(result, row[1].treatment)),
        Col("n", lambda row: row[1].n),
        Col("time", lambda row: row[1].length_s, unit="s"),
        *columns,
        name="compare-units",
        caption=f"The {result.unit}s",
        folded=len(result.units) > 2 * BINS,
    )


def _value_of(item: Effect, row: tuple[int, Unit]) -> Cell:
    return item.values[row[0]]


# Figures


def _unit_means(result: Comparison, item: Effect) -> Figure:
    """Mean of each unit, coloured by its treatment, in the order of blocks."""
    keys = {
        name: Key(_treatment(result, name), colour=colour, shape="circle")
        for name, colour in ((result.control, "other"), (result.treated, "user"))
    }
    series = Series(
        [
            Point(key=keys[unit.treatment], label=", ".join((*unit.blocks, unit.label)), y=value)
            for unit, value in zip(result.units, item.values, strict=True)
        ],
        unit=item.unit,
        order=tuple(keys.values()),
    )
    name = f"compare-{result.unit}s-{_slug(item)}"
    low, high = near(item.values)
    caption = f"{name_of(item)}, {result.unit} by {result.unit}"
    return Figure(
        name=name,
        title=caption,
        chart=series.dots(
            Axis(f"{name_of(item)} [{item.unit}]", low=low, high=high),
            named=(result.unit, "treatment", item.label),
        ),
        data=series.list_table(
            f"{name}-data",
            caption,
            Column(result.unit),
            Column("treatment"),
            Column(name_of(item), unit=item.unit),
        ),
        alt=(
            f"{name_of(item)}: mean {shown.quantity(item.control.value, item.unit)} over the {result.unit}s "
            f"with {_treatment(result, result.control)}, {shown.quantity(item.treated.value, item.unit)} "
            f"over those with {_treatment(result, result.treated)}."
        ),
        keys=series.keys,
        half=True,
    )


def _chance(item: Effect) -> Figure:
    """Differences under the possible assignments, with the observed one."""
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
    observed = Series(
        [Point(key=OBSERVED, x=item.difference.value, y=most / 2, words=shown.estimate(item.difference))]
    )
    x = Axis(f"Difference in {item.label}{AT[item.adjusted]} [{item.unit}]")
    whole = tuple(map(float, range(most + 1))) if most <= WHOLE_UP_TO else ()
    y = Axis("possible assignments", low=0.0, high=float(most) * 1.05, ticks=whole)

    def chart() -> Spec:
        bars = distributions.histogram(rows, x, y, "other", "assignments")
        return scatters.laid_over(bars, observed.marks(), observed.keys)

    name = f"compare-chance-{_slug(item)}"
    low, high = ends(replace(item.difference, low=item.by_chance[0], high=item.by_chance[-1]))
    caption = f"Differences by chance alone: {item.label}{AT[item.adjusted]}"
    return Figure(
        name=name,
        title=caption,
        chart=chart,
        data=Table.of(
            boxes,
            Col("from", lambda box: box[0], unit=item.unit),
            Col("to", lambda box: box[1], unit=item.unit),
            Col("assignments", lambda box: box[2]),
            name=f"{name}-data",
            caption=caption,
        ),
        alt=(
            f"If the treatment had no effect, the {item.test.assignments:,} assignments that are compared "
            f"would have shown differences from {shown.quantity(low, item.unit)} to "
            f"{shown.quantity(high, item.unit)}; {shown.quantity(item.difference.value, item.unit)} was "
            f"observed. The share of them at least as far from zero: {p_value(item.test.p)}."
        ),
        keys=observed.keys,
        half=True,
    )


def _boxes(item: Effect) -> list[tuple[float, float, int]]:
    """Ranges of equal width, about zero, with the number of assignments in each."""
    reach = max(abs(item.by_chance[0]), abs(item.by_chance[-1]), abs(item.difference.value)) or 1.0
    width = 2.0 * reach * (1.0 + 1e-9) / BINS
    counts = [0] * BINS
    for value in item.by_chance:
        counts[min(BINS - 1, int((value + reach) / width))] += 1
    return [
        (index * width - reach, (index + 1) * width - reach, number) for index, number in enumerate(counts)
    ]


def _slug(item: Effect) -> str:
    name = item.name.replace("_", "-").replace(":", "-")
    return f"{name}-{item.adjusted}" if item.adjusted else name
