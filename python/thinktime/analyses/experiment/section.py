"""Section of the analysis of one response of an experiment: which levels are better, then the tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thinktime.analyses.experiment import figures, sentences, words
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Col, Cols, Section, Table
from thinktime.documents.wording import listed, percent, refused, worded
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.analyses.experiment.result import Contrast, Difference, Experiment, Source
    from thinktime.stats.hypothesis import SignificanceTest

CELLS_SHOWN = 36
SENTENCES_MAX = 4
YES = {True: "yes", False: "no"}
WORDS: dict[str, Callable[..., str]] = {
    "missing_cells": lambda missing, cells: (
        f"{missing} of {cells} cells have no observation: main effects are compared over unlike cells, and "
        "interactions are tested as far as the cells allow."
    ),
    "not_measured": lambda runs, response: f"{runs} runs without a value of {response} are left out.",
    "incomplete_blocks": lambda blocks: (
        f"{blocks} replications that lack some of the cells are left out, so that every block has every cell."
    ),
    "interactions": lambda sources: (
        f"Factors interact ({', '.join(sources)}): the effect of one depends on the level of the other. Read "
        "the cells before the means of single levels."
    ),
    "unequal_variances": lambda p, blocked: (
        f"The errors vary more in some cells than in others (p = {p:.2g}), which F tests with one error for "
        "all ignore" + ("; intervals of differences between blocks do not." if blocked else ".")
    ),
    "not_normal": lambda p, multiple: (
        f"The errors are not normal (p = {p:.2g}): small p values are approximate; the rule of a mean "
        f"square of at least {multiple:g} times the error's does not assume normality."
    ),
    "named_levels": lambda factors: (
        f"Levels of {', '.join(factors)} are names: linear and quadratic contrasts treat them as equally "
        "spaced in the order given."
    ),
    "many_tests": lambda tests, significance: (
        f"{tests} effects are tested, each with a false-alarm rate of {100 * significance:g} %: without any "
        "effect, one or more would still be significant with a probability of about "
        f"{100 * (1.0 - (1.0 - significance) ** tests):.0f} %."
    ),
    "few_replications": lambda replications: (
        f"With {replications} replications of a cell the checks of the errors have little power, and the "
        "intervals of single cells are wide."
    ),
}


def section(response: str, result: Experiment | NotApplicable) -> Section:
    """Section of the analysis of one response."""
    name, title = f"experiment-{response}", f"What determines the {words.response(response)}?"
    if isinstance(result, NotApplicable):
        return refused(name, title, result)
    tables = [table(name, result) for table in (_differences, _simple, _levels, _cells, _anova)]
    academic = [
        replace(table(name, result), folded=True)
        for table in (_own_errors, _sizes, _blocks_left_in, _contrasts, _checks)
    ]
    return Section(
        name=name,
        title=title,
        summary=tuple(_sentences(result)),
        tables=tuple(table for table in (*tables, *academic) if table.rows),
        figures=tuple(figures.drawn(name, result, _cells(f"{name}-figure", result))),
        caveats=worded(result.caveats, WORDS),
        method=_method(result),
    )


def _method(result: Experiment) -> str:
    blocks = (
        "; replications with the same number share their random numbers in all cells and form blocks, whose "
        "effects are removed from the error"
        if result.blocked
        else ""
    )
    return (
        f"Analysis of variance of {result.transformation.replace('y', words.response(result.response), 1)}, "
        f"{result.squares}{blocks}. ω² is the effect's share of its own and the error's variance. Contrasts: "
        "orthogonal polynomials over the levels, SS = r (Σ c ȳ)² / Σ c² (Anderson and Sargent 1974). "
        f"Differences: {'paired t, Bonferroni' if result.blocked else 'Tukey'}, together for each factor."
    )


def _sentences(result: Experiment) -> list[str]:
    """What was found, then the tests behind it."""
    said = [*sentences.findings(result), sentences.together(result)]
    significant = [item for item in result.sources if item.significant]
    level = percent(result.significance)
    noun = words.response(result.response)
    if not significant:
        said.insert(0, f"No factor has a significant effect on the {noun} (at {level}).")
    else:
        largest = sorted(significant, key=lambda item: -(item.f or 0.0))[:SENTENCES_MAX]
        named = [f"the {_source(item)} (F = {shown.number(item.f or 0.0)}{_share(item)})" for item in largest]
        rest = len(significant) - len(named)
        more = f" and {rest} more" if rest else ""
        said.append(f"In the analysis of variance, the {noun} depends on {listed(named)}{more}.")
    if others := [_source(item) for item in result.sources if not item.significant]:
        said.append(f"Not significant at {level}: {listed(others)}.")
    said.append(_size(result))
    if offer := _transformation(result):
        said.append(offer)
    return [text for text in said if text]


def _source(item: Source) -> str:
    """Name of a line of the analysis of variance: number of users × time slice."""
    return _named(item.factors)


def _named(factors: Sequence[str]) -> str:
    return " × ".join(name if name in {"blocks", "error"} else words.factor(name) for name in factors)


def _share(item: Source) -> str:
    return f", ω² = {shown.number(item.omega_squared.value, 2)}" if item.omega_squared else ""


def _size(result: Experiment) -> str:
    least, most = result.replications
    number = f"{least}" if least == most else f"{least} to {most}"
    text = f"{shown.count(len(result.cells), 'cell')} with {number} replications each"
    if result.efficiency is None:
        return f"{text}."
    return (
        f"{text}, the same workloads in all cells; without that, "
        f"{shown.number(result.efficiency, 2)} times as many would be needed for the same precision."
    )


def _transformation(result: Experiment) -> str:
    if result.transformed is None or isinstance(result.box_cox, NotApplicable):
        return ""
    changed = [
        *(f"{_named(name.split(' × '))} becomes significant" for name in result.transformed.gained),
        *(f"{_named(name.split(' × '))} ceases to be significant" for name in result.transformed.lost),
    ]
    conclusion = listed(changed) if changed else "the same effects are significant"
    power = shown.estimate(result.box_cox.power)
    if result.transformed.name == "y":
        return f"The errors call for no transformation (Box-Cox λ = {power}); without it {conclusion}."
    name = result.transformed.name
    return f"The errors call for {name} (Box-Cox λ = {power}); on that scale {conclusion}."


def _squared(result: Experiment) -> str:
    """Unit of mean squares; empty where the response is transformed."""
    unit = result.unit if result.transformation == "y" else ""
    return f"{unit}²" if unit.isalpha() else f"({unit})²" if unit else ""


def _anova(name: str, result: Experiment) -> Table:
    unit = _squared(result)

    def tested(item: Source) -> bool:
        return item.f is not None and item.factors != ("blocks",)

    response = words.response(result.response)
    return Table.of(
        [*result.sources, *([result.blocks] if result.blocks else []), result.error],
        Col("source", _source),
        Col("df", lambda item: item.degrees),
        Col("SS", lambda item: item.squares, unit=unit),
        Col("MS", lambda item: item.mean_square, unit=unit),
        Col("F", lambda item: item.f),
        Col("p", lambda item: item.p),
        Col(
            f"p < {result.significance:g}",
            lambda item: YES[item.significant] if tested(item) else None,
        ),
        Col(f"MS ≥ {result.multiple:g} MSE", lambda item: YES[item.counts] if tested(item) else None),
        name=f"{name}-anova",
        caption=(
            "Analysis of variance of the "
            + (response if result.transformation == "y" else result.transformation.replace("y", response, 1))
        ),
        notes=(
            f"R² = {shown.number(result.r_squared)}; {result.n} observations; {result.squares}.",
            f"MSE is the mean square of the error; MS ≥ {result.multiple:g} MSE does not assume normal "
            f"errors.",
        ),
    )


def _own_errors(name: str, result: Experiment) -> Table:
    """Table of the tests that do not assume equal variances."""
    return Table.of(
        [
            (_source(item), item.per_effect_error)
            for item in result.sources
            if item.per_effect_error is not None
        ],
        Col("source", lambda pair: pair[0]),
        Col("df", lambda pair: pair[1].degrees),
        Col("error df", lambda pair: pair[1].error_degrees),
        Col("F", lambda pair: pair[1].f),
        Col("ε", lambda pair: pair[1].epsilon),
        Col("p", lambda pair: pair[1].p),
        name=f"{name}-own-errors",
        caption="Each effect against its own differences between blocks",
        notes=(
            "Does not assume equal variances; df are multiplied by Greenhouse and Geisser's ε. If this p "
            "and that of the previous table disagree, rely on this one.",
        ),
    )


def _sizes(name: str, result: Experiment) -> Table:
    return Table.of(
        result.sources,
        Col("source", _source),
        Col("partial ω²", lambda item: item.omega_squared),
        Col("partial η²", lambda item: item.eta_squared),
        name=f"{name}-sizes",
        caption="Effect sizes, 0 to 1",
        notes=(
            "ω² estimates the share of the variance, nearly without bias; η² is the share of this sample's "
            "sums of squares, and is larger.",
        ),
    )


def _blocks_left_in(name: str, result: Experiment) -> Table:
    """Table of the analysis without blocks: published ones do not always say which they are."""
    return Table.of(
        result.without_blocks,
        Col("source", _source),
        Col("df", lambda item: item.degrees),
        Col("MS", lambda item: item.mean_square, unit=_squared(result)),
        Col("F", lambda item: item.f),
        Col("p", lambda item: item.p),
        name=f"{name}-anova-blocks-left-in",
        caption="The same with block effects left in the error",
    )


def _contrasts(name: str, result: Experiment) -> Table:
    paired = any(item.paired for item in result.contrasts)
    by_blocks: list[Col[Contrast]] = [Col("interval by blocks", lambda item: item.paired)] if paired else []
    note = "The interval by blocks does not assume equal variances, and has fewer degrees of freedom."
    return Table.of(
        result.contrasts,
        Col("contrast", lambda item: item.name),
        Col("coefficients", _coefficients),
        Col("difference", lambda item: item.estimate),
        *by_blocks,
        Col("MS", lambda item: item.mean_square),
        Col("F", lambda item: item.f),
        Col("p", lambda item: item.p),
        Col(f"MS ≥ {result.multiple:g} MSE", lambda item: YES[item.counts]),
        name=f"{name}-contrasts",
        caption="Polynomial contrasts",
        notes=(
            *([note] if paired else []),
            *(f"{contrast}: {reason}." for contrast, reason in result.contrasts_unknown),
        ),
    )


def _coefficients(item: Contrast) -> str:
    return " × ".join(" ".join(f"{value:g}" for value in row) for _, row in item.coefficients)


def _differences(name: str, result: Experiment) -> Table:
    notes = ("Compared workload by workload, each with its own error.",) if result.blocked else ()
    return _compared(
        f"{name}-differences",
        "Differences between levels, intervals of a factor together",
        result,
        result.differences,
        notes,
    )


def _simple(name: str, result: Experiment) -> Table:
    return _compared(
        f"{name}-differences-within",
        "Differences where factors interact, at each level of the other factor",
        result,
        result.simple,
        ("The intervals of one factor at all levels of the other hold together (Bonferroni).",),
    )


def _compared(
    name: str, caption: str, result: Experiment, differences: Sequence[Difference], notes: Sequence[str]
) -> Table:
    ratios: list[Col[Difference]] = (
        [Col("ratio", lambda item: sentences.ratio(item.estimate))] if sentences.logarithmic(result) else []
    )
    within: list[Col[Difference]] = (
        [Col("at", lambda item: words.levels(item.within))]
        if any(item.within for item in differences)
        else []
    )
    return Table.of(
        differences,
        Col(
            "levels",
            lambda item: f"{words.level(item.factor, item.second)} − {words.level(item.factor, item.first)}",
        ),
        *within,
        Col(
            "difference", lambda item: item.estimate, unit=differences[0].estimate.unit if differences else ""
        ),
        *ratios,
        Col("told apart", lambda item: YES[item.significant]),
        name=name,
        caption=caption,
        notes=tuple(notes),
    )


def _levels(name: str, result: Experiment) -> Table:
    return Table.of(
        result.levels,
        Col("level", lambda item: words.level(item.factor, item.level)),
        Col(words.response(result.response), lambda item: item.mean, unit=result.unit),
        name=f"{name}-levels",
        caption="Means of the levels",
    )


def _cells(name: str, result: Experiment) -> Table:
    names = [factor.name for factor in result.factors]
    return Table.of(
        result.cells,
        Cols(
            [words.factor(name) for name in names],
            lambda item: [words.level(*pair) for pair in zip(names, item.levels, strict=True)],
        ),
        Col(words.response(result.response), lambda item: item.mean, unit=result.unit),
        Col("standard deviation", lambda item: item.deviation, unit=result.unit),
        Col("replications", lambda item: item.mean.n),
        name=f"{name}-cells",
        caption="Cells",
        folded=len(result.cells) > CELLS_SHOWN,
    )


def _checks(name: str, result: Experiment) -> Table:
    again = result.transformed
    scales = [("as analysed", result.normality), ("as analysed", result.equal_variances)]
    if again is not None:
        scales += [(again.name, again.normality), (again.name, again.equal_variances)]
    notes = []
    if not isinstance(result.box_cox, NotApplicable):
        offered = result.box_cox.offered.name
        offer = "none is needed" if offered == "y" else f"offered: {offered}"
        notes.append(f"Box-Cox λ = {shown.estimate(result.box_cox.power)} (1 is no transformation): {offer}.")
    return Table.of(
        [_check(*item) for item in scales],
        Cols(("scale", "hypothesis", "test", "statistic", "p", "holds"), lambda row: row),
        name=f"{name}-checks",
        caption="Assumptions of the F tests about the errors",
        notes=notes,
    )


def _check(scale: str, test: SignificanceTest | NotApplicable) -> tuple[Cell, ...]:
    if isinstance(test, NotApplicable):
        return (scale, test.reason, None, None, None, None)
    holds = "doubtful" if test.rejected() else "not rejected"
    return (scale, test.hypothesis, test.method, test.statistic, test.p, holds)
