"""Figures of an experiment: means of levels, of levels of two factors that interact, and of cells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from thinktime.analyses.experiment import words
from thinktime.documents import format as shown
from thinktime.documents.charts.axis import Axis
from thinktime.documents.document import Column, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.documents.wording import capital, listed

if TYPE_CHECKING:
    from thinktime.analyses.experiment.result import Experiment
    from thinktime.stats.designs.factorial import Level

COLOURS = ("user", "system", "memory", "disk", "net", "queue")
SHAPES: tuple[Literal["circle", "square", "diamond"], ...] = ("circle", "square", "diamond")
LABELS_MAX = 24
PAIRS_MAX = 3
"""Interactions that are drawn: those with the largest effects."""


def drawn(name: str, result: Experiment, cells: Table) -> Iterator[Figure]:
    """Figures of one response; `cells` is the data of the last."""
    if len(result.factors) > 1 and (figure := _main_effects(name, result)):
        yield figure
    if len(result.factors) > 2:
        yield from _interactions(name, result)
    if figure := _cells(name, result, cells):
        yield figure


def _axis(result: Experiment) -> Axis:
    noun = words.response(result.response)
    return Axis(f"{noun} [{result.unit}]" if result.unit else noun)


def _keys(names: Sequence[str]) -> list[Key]:
    return [
        Key(name, colour=COLOURS[index], shape=SHAPES[index % len(SHAPES)])
        for index, name in enumerate(names)
    ]


def _main_effects(name: str, result: Experiment) -> Figure | None:
    if len(result.factors) > len(COLOURS) or len(result.levels) > LABELS_MAX:
        return None
    names = [factor.name for factor in result.factors]
    keys = dict(zip(names, _keys([capital(words.factor(factor)) for factor in names]), strict=True))
    points = [
        Point(key=keys[item.factor], label=words.level(item.factor, item.level), y=item.mean)
        for item in result.levels
    ]
    noun = words.response(result.response)
    spans = []
    for factor in names:
        values = [item.mean.value for item in result.levels if item.factor == factor]
        low, high = (shown.quantity(end, result.unit) for end in (min(values), max(values)))
        spans.append(f"{low} to {high} over the levels of the {words.factor(factor)}")
    return _dots(
        f"{name}-main-effects",
        f"{capital(noun)} at each level, over all levels of the others",
        result,
        Series(points, order=tuple(keys.values())),
        f"The mean goes from {listed(spans)}.{_blocks(result)}",
    )


def _interactions(name: str, result: Experiment) -> Iterator[Figure]:
    pairs = list(dict.fromkeys(item.factors for item in result.pairs))[:PAIRS_MAX]
    sizes = {factor.name: len(factor.levels) for factor in result.factors}
    for number, pair in enumerate(pairs, start=1):
        by, along = sorted(pair, key=lambda factor: sizes[factor])
        if sizes[by] > len(COLOURS) or sizes[along] > LABELS_MAX:
            continue
        means = {
            tuple(zip(item.factors, item.levels, strict=True)): item.mean
            for item in result.pairs
            if item.factors == pair
        }
        levels = {factor.name: factor.levels for factor in result.factors}
        keys = _level_keys(by, levels[by])
        at = {frozenset(key): mean for key, mean in means.items()}
        points = [
            Point(key=keys[one], label=words.level(along, other), y=mean)
            for other in levels[along]
            for one in levels[by]
            if (mean := at.get(frozenset({(along, other), (by, one)}))) is not None
        ]
        ends = sorted(points, key=lambda point: point.row(result.unit)["value"])
        low, high = (
            f"{shown.cell(point.y, result.unit)} ({point.label}, {point.key.name})"
            for point in (ends[0], ends[-1])
        )
        yield _dots(
            f"{name}-interaction-{number}",
            f"{capital(words.factor(along))} and {words.factor(by)}: {words.response(result.response)}",
            result,
            Series(points, order=tuple(keys.values())),
            f"The least is {low}, the most {high}. The effect of one depends on the level of the other."
            f"{_blocks(result)}",
        )


def _level_keys(factor: str, levels: Sequence[Level]) -> Mapping[Level, Key]:
    return dict(zip(levels, _keys([words.level(factor, level) for level in levels]), strict=True))


def _cells(name: str, result: Experiment, cells: Table) -> Figure | None:
    """Figure of the cells: a line for each combination of other factors, a colour for each level of one."""
    first, *others = result.factors
    labels = dict.fromkeys(item.levels[1:] for item in result.cells)
    if len(first.levels) > len(COLOURS) or len(labels) > LABELS_MAX:
        return None
    keys = _level_keys(first.name, first.levels)
    noun = words.response(result.response)
    points = [
        Point(
            key=keys[item.levels[0]],
            label=words.levels(zip((factor.name for factor in others), item.levels[1:], strict=True)) or noun,
            y=item.mean,
        )
        for item in result.cells
    ]
    by_mean = sorted(points, key=lambda point: point.row(result.unit)["value"])
    least, most = (
        f"{shown.cell(point.y, result.unit)} ({point.label}, {point.key.name})"
        for point in (by_mean[0], by_mean[-1])
    )
    figure = _dots(
        f"{name}-cells-drawn",
        f"{capital(noun)} of each cell",
        result,
        Series(points, order=tuple(keys.values())),
        f"The least is {least}, the most {most}.{_blocks(result)}",
    )
    return replace(figure, data=cells)


def _blocks(result: Experiment) -> str:
    return (
        " Intervals include the differences between workloads, which comparisons do not."
        if result.blocked
        else ""
    )


def _dots(name: str, title: str, result: Experiment, series: Series, alt: str) -> Figure:
    noun = words.response(result.response)
    return Figure(
        name=name,
        title=title,
        chart=series.dots(_axis(result), named=("level", "of", noun)),
        data=series.list_table(f"{name}-data", title, "level", "of", Column(noun, unit=result.unit)),
        alt=alt,
        keys=series.keys,
    )
