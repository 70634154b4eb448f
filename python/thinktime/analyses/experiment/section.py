"""What the factors of an experiment do to one response."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from thinktime.documents import charts
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Figure, Key, Section, Table
from thinktime.documents.wording import ends, listed, percent, refused
from thinktime.stats.estimate import Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.experiment.result import Contrast, Difference, Experiment, Source
    from thinktime.stats.hypothesis import SignificanceTest

__all__ = ["section"]

COLOURS = ("user", "system", "memory", "disk", "net", "queue")
SHAPES: tuple[Literal["circle", "square", "diamond"], ...] = ("circle", "square", "diamond")
LABELS_MAX = 24
CELLS_SHOWN = 36
SENTENCES_MAX = 4


def section(response: str, result: Experiment | NotApplicable) -> Section:
    """Section of the analysis of one response."""
    name = f"experiment-{response}"
    if isinstance(result, NotApplicable):
        return refused(name, f"What decides {response}?", result)
    made = (_anova, _own_errors, _sizes, _blocks_left_in, _differences, _levels, _cells, _contrasts, _checks)
    tables = [table for make in made if (table := make(name, result)).rows]
    figure = _figure(name, result)
    return Section(
        name=name,
        title=f"What decides {response}?",
        summary=tuple(_sentences(result)),
        tables=tuple(tables),
        figures=() if figure is None else (figure,),
        caveats=result.caveats,
        method=_method(result),
    )


def _method(result: Experiment) -> str:
    blocks = (
        "; replications of one number share their random numbers in all cells and are blocks, whose effects "
        "are taken out of the error"
        if result.blocked
        else ""
    )
    return (
        f"Analysis of variance of {result.transformation.replace('y', result.response, 1)}, "
        f"{result.squares}{blocks}. ω² is the effect's part of its own and the error's variance. Contrasts: "
        "orthogonal polynomials over the levels, SS = r (Σ c ȳ)² / Σ c² (Anderson and Sargent 1974). "
        f"Differences: {'paired t, Bonferroni' if result.blocked else 'Tukey'}, together for each factor."
    )


def _sentences(result: Experiment) -> list[str]:
    found = [item for item in result.sources if item.significant]
    level = percent(result.significance)
    if not found:
        first = f"No factor has an effect on {result.response} that could not be chance (at {level})."
    else:
        named = [f"{item.name} (F = {shown.number(item.f or 0.0)}{_part(item)})" for item in _largest(found)]
        more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
        first = f"{result.response} depends on {listed(named)}{more}."
    sentences = [first]
    if others := [item.name for item in result.sources if not item.significant]:
        sentences.append(f"Not told apart from chance at {level}: {listed(others)}.")
    sentences += [_compared(result, item) for item in _widest(result)]
    sentences.append(_size(result))
    if offer := _transformation(result):
        sentences.append(offer)
    return sentences


def _largest(found: list[Source]) -> list[Source]:
    return sorted(found, key=lambda item: -(item.f or 0.0))[:SENTENCES_MAX]


def _part(item: Source) -> str:
    return f", ω² = {shown.number(item.omega_squared.value, 2)}" if item.omega_squared else ""


def _widest(result: Experiment) -> list[Difference]:
    """Of each factor that matters by both tests, the two levels that are farthest apart."""
    matter = {item.name for item in result.sources if item.significant}
    widest: dict[str, Difference] = {}
    for item in result.differences:
        known = widest.get(item.factor)
        if (
            item.factor in matter
            and item.significant
            and (known is None or abs(item.estimate.value) > abs(known.estimate.value))
        ):
            widest[item.factor] = item
    return list(widest.values())[:SENTENCES_MAX]


def _compared(result: Experiment, item: Difference) -> str:
    levels = f"{item.factor} {item.second} against {item.first}"
    if _logarithmic(result):
        return f"{levels}: {shown.estimate(_ratio(item.estimate))} times."
    return f"{levels}: {shown.estimate(item.estimate)}."


def _logarithmic(result: Experiment) -> bool:
    return result.transformation.startswith("log10")


def _size(result: Experiment) -> str:
    least, most = result.replications
    each = f"{least}" if least == most else f"{least} to {most}"
    text = f"{shown.count(len(result.cells), 'cell')} with {each} replications each"
    if result.efficiency is None:
        return f"{text}."
    return (
        f"{text}, the same workloads in all cells; without that, "
        f"{shown.number(result.efficiency, 2)} times as many would be needed to see as much."
    )


def _transformation(result: Experiment) -> str:
    if result.transformed is None or isinstance(result.box_cox, NotApplicable):
        return ""
    changed = [
        *(f"{name} becomes significant" for name in result.transformed.gained),
        *(f"{name} ceases to be significant" for name in result.transformed.lost),
    ]
    conclusion = listed(changed) if changed else "the same effects are significant"
    power = shown.estimate(result.box_cox.power)
    if result.transformed.name == "y":
        return f"The errors ask for no transformation (Box-Cox λ = {power}); without it {conclusion}."
    return f"The errors ask for {result.transformed.name} (Box-Cox λ = {power}); on that scale {conclusion}."


def _squared(unit: str) -> str:
    return f"{unit}²" if unit.isalpha() else f"({unit})²" if unit else ""


def _anova(name: str, result: Experiment) -> Table:
    unit = _squared(result.unit) if result.transformation == "y" else ""
    columns = [
        Column("source"),
        Column("df"),
        Column("SS", unit=unit),
        Column("MS", unit=unit),
        Column("F"),
        Column("p"),
        Column(f"p < {result.significance:g}"),
        Column(f"MS ≥ {result.multiple:g} MSE"),
    ]
    lines = [*result.sources, *([result.blocks] if result.blocks else []), result.error]
    note = f"R² = {shown.number(result.r_squared)}; {result.n} observations; {result.squares}."
    return Table(
        name=f"{name}-anova",
        caption=f"Analysis of variance of {_analysed(result)}",
        columns=tuple(columns),
        rows=tuple(_line(item) for item in lines),
        notes=(
            note,
            f"MSE is the mean square of the error; MS ≥ {result.multiple:g} MSE asks for no normal errors.",
        ),
    )


def _own_errors(name: str, result: Experiment) -> Table:
    """Put beside the one error for all the tests that need no equal variances."""
    rows = tuple(
        (item.name, own.degrees, own.error_degrees, own.f, own.epsilon, own.p)
        for item in result.sources
        if (own := item.per_effect_error) is not None
    )
    columns = ("source", "df", "error df", "F", "ε", "p")
    note = (
        "Asks for no equal variances; df are multiplied by Greenhouse and Geisser's ε. Where this p and that "
        "of the table before disagree, this one is safe."
    )
    caption = "Each effect against its own differences between blocks"
    return Table(
        name=f"{name}-own-errors",
        caption=caption,
        columns=tuple(map(Column, columns)),
        rows=rows,
        notes=(note,),
    )


def _sizes(name: str, result: Experiment) -> Table:
    """How large each effect is, as part of its own and the error's variance."""
    rows = tuple((item.name, item.omega_squared, item.eta_squared) for item in result.sources)
    columns = (Column("source"), Column("partial ω²"), Column("partial η²"))
    note = "ω² is of the variances, nearly unbiased; η² is of this sample's sums of squares, and larger."
    return Table(
        name=f"{name}-sizes", caption="Effect sizes, 0 to 1", columns=columns, rows=rows, notes=(note,)
    )


def _blocks_left_in(name: str, result: Experiment) -> Table:
    """Put the analysis without blocks beside it: published ones do not always say which they are."""
    unit = _squared(result.unit) if result.transformation == "y" else ""
    columns = (Column("source"), Column("df"), Column("MS", unit=unit), Column("F"), Column("p"))
    rows = tuple(
        (item.name, item.degrees, item.mean_square, item.f, item.p) for item in result.without_blocks
    )
    return Table(
        name=f"{name}-anova-blocks-left-in",
        caption="The same with block effects left in the error",
        columns=columns,
        rows=rows,
    )


def _analysed(result: Experiment) -> str:
    return (
        result.response
        if result.transformation == "y"
        else result.transformation.replace("y", result.response, 1)
    )


def _line(item: Source) -> tuple[Cell, ...]:
    tested = item.f is not None and item.factors != ("blocks",)
    return (
        item.name,
        item.degrees,
        item.squares,
        item.mean_square,
        item.f,
        item.p,
        ("yes" if item.significant else "no") if tested else None,
        ("yes" if item.counts else "no") if tested else None,
    )


def _contrasts(name: str, result: Experiment) -> Table:
    columns = [
        Column("contrast"),
        Column("coefficients"),
        Column("difference"),
        Column("MS"),
        Column("F"),
        Column("p"),
        Column(f"MS ≥ {result.multiple:g} MSE"),
    ]
    if paired := any(item.paired for item in result.contrasts):
        columns.insert(3, Column("interval by blocks"))
    notes = [f"{item}: {reason}." for item, reason in result.contrasts_unknown]
    if paired:
        notes.insert(
            0, "The interval by blocks asks for no equal variances, and knows fewer degrees of freedom."
        )
    rows = tuple(_contrast(item, paired) for item in result.contrasts)
    return Table(
        name=f"{name}-contrasts",
        caption="Polynomial contrasts",
        columns=tuple(columns),
        rows=rows,
        notes=tuple(notes),
    )


def _contrast(item: Contrast, paired: bool) -> tuple[Cell, ...]:
    texts = [" ".join(f"{value:g}" for value in row) for _, row in item.coefficients]
    row: tuple[Cell, ...] = (item.name, " × ".join(texts), item.estimate)
    rest: tuple[Cell, ...] = (item.mean_square, item.f, item.p, "yes" if item.counts else "no")
    return (*row, item.paired, *rest) if paired else (*row, *rest)


def _differences(name: str, result: Experiment) -> Table:
    unit = result.differences[0].estimate.unit if result.differences else ""
    logarithmic = _logarithmic(result)
    columns = [Column("levels"), Column("difference", unit=unit), Column("not zero")]
    if logarithmic:
        columns.insert(2, Column("ratio"))
    rows = []
    for item in result.differences:
        row: list[Cell] = [f"{item.factor}: {item.second} − {item.first}", item.estimate]
        if logarithmic:
            row.append(_ratio(item.estimate))
        rows.append((*row, "yes" if item.significant else "no"))
    caption = "Differences between levels, intervals of a factor together"
    notes = ("Compared workload by workload, each with an error of its own.",) if result.blocked else ()
    return Table(
        name=f"{name}-differences", caption=caption, columns=tuple(columns), rows=tuple(rows), notes=notes
    )


def _ratio(difference: Estimate) -> Estimate:
    """Turn a difference of logarithms to base ten into the ratio of what they are of."""
    ends = [None if end is None else 10.0**end for end in (difference.low, difference.high)]
    return replace(difference, value=10.0**difference.value, unit="", low=ends[0], high=ends[1])


def _levels(name: str, result: Experiment) -> Table:
    rows = tuple((f"{item.factor} = {item.level}", item.mean) for item in result.levels)
    columns = (Column("level"), Column(f"mean {result.response}", unit=result.unit))
    return Table(name=f"{name}-levels", caption="Means of the levels", columns=columns, rows=rows)


def _cells(name: str, result: Experiment) -> Table:
    rows = tuple(
        (", ".join(map(str, item.levels)), item.mean, item.deviation, item.mean.n) for item in result.cells
    )
    columns = (
        Column(", ".join(factor.name for factor in result.factors)),
        Column(f"mean {result.response}", unit=result.unit),
        Column("standard deviation", unit=result.unit),
        Column("replications"),
    )
    return Table(
        name=f"{name}-cells", caption="Cells", columns=columns, rows=rows, folded=len(rows) > CELLS_SHOWN
    )


def _checks(name: str, result: Experiment) -> Table:
    again = result.transformed
    rows = [
        _check("as analysed", result.normality),
        _check("as analysed", result.equal_variances),
        *(
            []
            if again is None
            else [_check(again.name, again.normality), _check(again.name, again.equal_variances)]
        ),
    ]
    columns = (
        Column("scale"),
        Column("hypothesis"),
        Column("test"),
        Column("statistic"),
        Column("p"),
        Column("holds"),
    )
    notes = []
    if not isinstance(result.box_cox, NotApplicable):
        offered = result.box_cox.offered.name
        wanted = "none is needed" if offered == "y" else f"offered: {offered}"
        notes.append(
            f"Box-Cox λ = {shown.estimate(result.box_cox.power)} (1 is no transformation): {wanted}."
        )
    return Table(
        name=f"{name}-checks",
        caption="What the F tests assume of the errors",
        columns=columns,
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _check(scale: str, test: SignificanceTest | NotApplicable) -> tuple[Cell, ...]:
    if isinstance(test, NotApplicable):
        return (scale, test.reason, None, None, None, None)
    holds = "doubtful" if test.rejected() else "not refuted"
    return (scale, test.hypothesis, test.method, test.statistic, test.p, holds)


def _figure(name: str, result: Experiment) -> Figure | None:
    """Cells side by side: a line a combination of the other factors, a colour a level of the first."""
    first = result.factors[0]
    labels = dict.fromkeys(item.levels[1:] for item in result.cells)
    if len(first.levels) > len(COLOURS) or len(labels) > LABELS_MAX:
        return None
    keys = tuple(
        Key(f"{first.name} {level}", colour=COLOURS[at], shape=SHAPES[at % len(SHAPES)])
        for at, level in enumerate(first.levels)
    )
    others = [factor.name for factor in result.factors[1:]]
    rows: list[dict[str, object]] = []
    for item in result.cells:
        low, high = ends(item.mean)
        label = ", ".join(f"{factor} {level}" for factor, level in zip(others, item.levels[1:], strict=True))
        rows.append(
            {
                "label": label or result.response,
                "series": f"{first.name} {item.levels[0]}",
                "value": item.mean.value,
                "low": low,
                "high": high,
                "shown": shown.estimate(item.mean),
            }
        )
    axis = charts.Axis(f"{result.response} [{result.unit}]" if result.unit else result.response)
    by_mean = sorted(result.cells, key=lambda item: item.mean.value)
    best, worst = by_mean[0], by_mean[-1]
    alt = (
        f"The least is {shown.estimate(best.mean)} ({', '.join(map(str, best.levels))}), the most "
        f"{shown.estimate(worst.mean)} ({', '.join(map(str, worst.levels))})."
    )
    if result.blocked:
        alt += " Intervals hold the differences between workloads, which comparisons of cells do not."
    data = _cells(f"{name}-figure", result)
    chart = partial(charts.dots, rows, keys, axis, ("cell", "level", "mean"))
    return Figure(
        name=f"{name}-cells-drawn",
        title=f"Mean {result.response} of each cell",
        chart=chart,
        data=data,
        alt=alt,
        keys=keys,
    )
