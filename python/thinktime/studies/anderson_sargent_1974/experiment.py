"""Analyses of variance of the 3x2x2 experiment, as eight replications would show them (Tables 5 to 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from thinktime.documents import format as shown
from thinktime.documents.document import Col, Figure, Key, Table
from thinktime.documents.series import Point, Series
from thinktime.stats.designs.anova import Anova, anova
from thinktime.stats.designs.contrasts import Component, contrast, orthogonal_polynomials
from thinktime.stats.designs.factorial import CellMeans, Factor, Responses
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.studies import charts
from thinktime.studies.anderson_sargent_1974.runs import (
    ALGORITHM_NAMES,
    F_RATIOS_OF_THE_TEXT,
    HISTOGRAM,
    PAPER,
    REPLICATIONS,
    SCHEDULERS,
    cell_row,
    ratio,
    run_values,
    think,
)
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import Array, interval, scaled
from thinktime.studies.laboratory import Laboratory, remembered
from thinktime.studies.published import Table as Published
from thinktime.studies.study import Chapter

ALGORITHMS = tuple(SCHEDULERS)
REGIONS = (3, 4)
SLICES = (0.1, 0.2)
DRAWS = 400
"""Experiments of eight replications drawn from ours, to see how much theirs may vary."""
COUNTS = 10.0
"""An effect counts if its mean square is at least this many times the error's (below Table 5)."""

LETTERS = {"A": "algorithm", "B": "time_slice_s", "C": "resident_workspaces"}
EFFECTS: Mapping[str, tuple[tuple[str, int], ...]] = {
    "A_linear": (("A", 1),),
    "A_quadratic": (("A", 2),),
    "B_linear": (("B", 1),),
    "C_linear": (("C", 1),),
    "B_x_C": (("B", 1), ("C", 1)),
    "A_linear_x_C": (("A", 1), ("C", 1)),
    "A_linear_x_B": (("A", 1), ("B", 1)),
    "A_quadratic_x_C": (("A", 2), ("C", 1)),
    "A_quadratic_x_B": (("A", 2), ("B", 1)),
}
"""Effects as the tables name them: factor and degree of each component."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Mean squares as eight replications would show them, and how much they vary."""

    squares: dict[str, Estimate]
    f: dict[str, Estimate]
    """Mean square and F of each effect. The value follows from all replications, scaled to eight; the
    interval holds 95 per cent of experiments of eight replications."""
    error: Estimate
    """Error mean square, the differences between workloads taken out."""
    unblocked: float
    """Error mean square with the differences between workloads left in."""

    @classmethod
    def of(cls, y: Array, *, seed: int, draws: int = DRAWS) -> Analysis:
        """Analysis of responses with an axis for algorithm, regions, slice and replication."""
        n = y.shape[-1]
        table = _anova(y, blocks_out=True)
        squares = _squares(y, table.error_mean_square)
        random = np.random.default_rng(seed)
        drawn: dict[str, list[tuple[float, float]]] = {name: [] for name in (*EFFECTS, "error")}
        for _ in range(draws if n > REPLICATIONS else 0):
            part = y[..., random.permutation(n)[:REPLICATIONS]]
            error = _blocked_error(part)
            drawn["error"].append((error, 1.0))
            for name, square in _squares(part, error).items():
                drawn[name].append((square, square / error))
        error = table.error_mean_square
        return cls(
            squares={
                name: _ranged(value, [item[0] for item in drawn[name]], n) for name, value in squares.items()
            },
            f={
                name: _ranged(value / error, [item[1] for item in drawn[name]], n)
                for name, value in squares.items()
            },
            error=_ranged(error, [item[0] for item in drawn["error"]], n),
            unblocked=_anova(y, blocks_out=False).error_mean_square,
        )

    def counting(self) -> list[str]:
        """Effects whose mean square is at least ten times the error's."""
        return [name for name, f in self.f.items() if f.value >= COUNTS]


def _factors() -> tuple[Factor, ...]:
    return (
        Factor("algorithm", ALGORITHMS),
        Factor("resident_workspaces", REGIONS),
        Factor("time_slice_s", SLICES),
    )


def _anova(y: Array, *, blocks_out: bool) -> Anova:
    return anova(Responses.of_cells(_factors(), y, blocked=True), blocks_out=blocks_out)


def _blocked_error(y: Array) -> float:
    """Error mean square of a balanced design with the blocks taken out."""
    rest = y - y.mean(axis=-1, keepdims=True) - y.mean(axis=(0, 1, 2)) + y.mean()
    blocks = int(y.shape[-1])
    cells = y.size // blocks
    squares = float(np.square(rest).sum())
    return squares / ((cells - 1) * (blocks - 1))


def _squares(y: Array, error: float) -> dict[str, float]:
    """Sum of squares of each contrast, scaled to eight replications."""
    factors = _factors()
    cells = CellMeans.published(factors, y.mean(axis=-1), replications=REPLICATIONS, error_mean_square=error)
    powers = {factor.name: orthogonal_polynomials(factor.scores) for factor in factors}
    result = {}
    for name, parts in EFFECTS.items():
        components = [
            Component(factor=LETTERS[letter], degree=degree, coefficients=powers[LETTERS[letter]][degree - 1])
            for letter, degree in parts
        ]
        answer = contrast(cells, components)
        assert not isinstance(answer, NotApplicable)  # every cell was run
        result[name] = answer.squares
    return result


def _ranged(value: float, drawn: list[float], n: int) -> Estimate:
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist() if drawn else (None, None)
    return Estimate(
        value=value,
        n=n,
        method="range of 95 % of experiments of eight replications",
        low=low,
        high=high,
    )


INPUTS = "inputs_received"
"""Response that Table 6 counts: inputs taken up, whether or not they are done when the period ends.

Short compute transactions are the same part of its numbers in every printed cell, however many inputs the
cell leaves undone (`recomputed`); of inputs completed they would be the larger a part, the longer the queue.
"""
LIMITS_S = (5, 10, 15)
OURS, THEIRS = Key("ours", colour="user", shape="circle"), Key("published", colour="plain", shape="diamond")
USERS = 35
INSERTION_S = 20.0


_ALGORITHM = (
    "F is an effect over the error: the error mean squares, published and ours, stand above. The README of "
    "the study has the components of our error."
)
NOTES: dict[str, tuple[str, ...]] = {
    "table05_anova": (_ALGORITHM,),
    "table06_anova": (_ALGORITHM,),
    "table07_anova": (
        "Effects of C and BC follow from what a fourth resident workspace adds to reaction times; what it "
        "adds here stands among the paper's claims.",
    ),
    "table08_anova": (
        _ALGORITHM,
        "A'' says where the response under FB2 lies between the others; where it lies here stands among the "
        "paper's claims. Longer turns of round robin make FB2 as slow as printed, but then it serves no more "
        "inputs than modified; no search of modified's background that was tried gives both. "
        "The study's calibration.md has the figures.",
    ),
}
"""Reasons why cells may miss, by table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One table of the experiment, and the response that is in it."""

    response: str
    table: str
    quantity: str
    axis: str

    @property
    def anova(self) -> str:
        """Name of its analysis of variance."""
        return f"{self.table.partition('_')[0]}_anova"


MEASURES = (
    Measure(
        response="queued_workspaces",
        table="table05_queued_workspaces",
        quantity="avg_queued_workspaces",
        axis="workspaces queued",
    ),
    Measure(
        response=INPUTS,
        table="table06_inputs_serviced",
        quantity="avg_inputs_serviced_per_10_min",
        axis="inputs in ten minutes",
    ),
    Measure(
        response="mean_reaction_s",
        table="table07_reaction_time",
        quantity="avg_reaction_s",
        axis="reaction time, s",
    ),
    Measure(
        response="mean_response_s",
        table="table08_response_time",
        quantity="avg_response_s",
        axis="response time, s",
    ),
)


@dataclass(frozen=True)
class Experiment:
    """The twelve cells, with the same workloads in each."""

    laboratory: Laboratory

    def cell(self, response: str, algorithm: str, regions: int, time_slice_s: float) -> Array:
        """One response of every replication of a cell."""
        return run_values(
            self.laboratory,
            response,
            replications=self.laboratory.settings.replications,
            users=USERS,
            insertion_time=think(INSERTION_S),
            scheduler=SCHEDULERS[algorithm],
            regions=regions,
            time_slice=time_slice_s,
        )

    def all(self, response: str) -> Array:
        """One response, with an axis for algorithm, regions, slice and replication."""
        cells = [self.cell(response, *levels) for levels in product(ALGORITHMS, REGIONS, SLICES)]
        return np.stack(cells).reshape(len(ALGORITHMS), len(REGIONS), len(SLICES), -1)

    def mean(self, response: str, algorithm: int) -> Array:
        """One response of each replication, averaged over the cells of an algorithm."""
        y = self.all(response)[algorithm]
        result: Array = y.reshape(-1, y.shape[-1]).mean(axis=0)
        return result

    def less(self, response: str, one: int, other: int) -> Estimate:
        """Mean of a response under one algorithm less that under another, on the same workloads."""
        return interval(self.mean(response, one) - self.mean(response, other))

    @cached_property
    def analyses(self) -> dict[str, Analysis]:
        """Analysis of variance of each measure, by the name of its table."""
        return {
            measure.anova: Analysis.of(
                self.all(measure.response),
                seed=self.laboratory.settings.seed,
                draws=self.laboratory.scaled(DRAWS),
            )
            for measure in MEASURES
        }


@remembered
def experiment_of(laboratory: Laboratory) -> Experiment:
    """The experiment in a laboratory, with its analyses."""
    return Experiment(laboratory)


def chapter(laboratory: Laboratory) -> Chapter:
    """Tables 5 to 9, their analyses of variance, and numbers of the text about them."""
    experiment = experiment_of(laboratory)
    figures = (*_cells(experiment), *_anovas(experiment), *_histogram(experiment), *_facts(experiment))
    summary = (
        "Every cell is 35 users with a mean insertion time of 20 s for ten minutes from an empty system, "
        "with the same workloads in all twelve.",
        "The model was calibrated to the cells of the modified algorithm, and to those of FB2 with three "
        "regions after a first prediction of them had failed: its response times were a quarter too "
        "short. All other cells are predictions; those of FB-infinity were in sight while mechanisms were "
        "chosen.",
        "Round robin under FB2 has turns of ten slices here: a workspace that an input drives out before "
        "keeps its place in the background queue. Without that FB2 would answer sooner, and farther from the "
        "paper.",
    )
    method = (
        "Means over replications with Student's t. Sums of squares 8 (Σ c ȳ)² / Σ c², whatever the number of "
        "replications, over the error mean square with the workloads taken out as blocks; their ranges hold "
        f"95 % of {laboratory.scaled(DRAWS)} experiments of eight replications drawn from ours. An "
        f"effect counts where F is at "
        "least ten."
    )
    drawn = tuple(_chart(experiment, measure) for measure in MEASURES)
    return Chapter(
        cells=figures,
        summary=summary,
        charts=drawn,
        tables=(_errors(experiment),),
        notes=_notes(experiment),
        method=method,
    )


def _notes(experiment: Experiment) -> dict[str, tuple[str, ...]]:
    short, all_inputs = (experiment.all(name).reshape(-1) for name in ("responses", INPUTS))
    share = ratio(short, all_inputs)
    counts = (
        "Counts follow from the share of short compute transactions among the inputs of Table 6, in all "
        f"cells together {shown.estimate(share)} here; fractions do not."
    )
    return {**NOTES, HISTOGRAM: (counts,)}


def _chart(experiment: Experiment, measure: Measure) -> Figure:
    """One response in the twelve cells, published and ours."""
    shape = PAPER.tables[measure.table].shape
    points = []
    for levels in product(ALGORITHMS, REGIONS, SLICES):
        label = f"{ALGORITHM_NAMES[levels[0]]}, {levels[1]}, {levels[2]} s"
        points.append(Point(key=OURS, label=label, y=interval(experiment.cell(measure.response, *levels))))
        cell = PAPER.tables[measure.table].cell(cell_row(*levels), measure.quantity)
        if cell is not None:
            points.append(Point(key=THEIRS, label=label, y=cell.value, words=f"{cell.value:g}"))
    series = Series(points, order=(OURS, THEIRS))
    return charts.dots(
        f"cells-{measure.table.partition('_')[0]}",
        f"{shape.title.capitalize()} ({shape.place})",
        series,
        axis=measure.axis,
        headings=("algorithm, workspaces, slice", "source", measure.axis),
        alt=(
            f"{shape.title.capitalize()} for each algorithm, number of resident workspaces and time slice: "
            "ours with its interval as a circle, the published one where there is one as a diamond."
        ),
        half=True,
    )


def _cells(experiment: Experiment) -> Iterator[Cell]:
    for measure in MEASURES:
        for levels in product(ALGORITHMS, REGIONS, SLICES):
            mean = interval(experiment.cell(measure.response, *levels))
            row = cell_row(*levels)
            yield PAPER.simulated(measure.table, row, measure.quantity, mean)


def _anovas(experiment: Experiment) -> Iterator[Cell]:
    for measure in MEASURES:
        analysis = experiment.analyses[measure.anova]
        for row in PAPER.rows(measure.anova):
            effect = str(row["effect"])
            if effect == "error":
                yield PAPER.simulated(measure.anova, row, "mean_square", analysis.error)
                continue
            yield PAPER.simulated(measure.anova, row, "mean_square", analysis.squares[effect])
            yield PAPER.simulated(measure.anova, row, "f_ratio", analysis.f[effect])


def _histogram(experiment: Experiment) -> Iterator[Cell]:
    for limit, algorithm, regions, time_slice_s in product(LIMITS_S, ALGORITHMS, REGIONS, SLICES):
        row = {"response_limit_s": limit, **cell_row(algorithm, regions, time_slice_s)}
        within = experiment.cell(f"within_{limit}_s", algorithm, regions, time_slice_s)
        population = experiment.cell("responses", algorithm, regions, time_slice_s)
        count = scaled(interval(within), REPLICATIONS)
        yield PAPER.simulated(HISTOGRAM, row, "count", count)
        yield PAPER.simulated(HISTOGRAM, row, "fraction", ratio(within, population))


def _facts(experiment: Experiment) -> Iterator[Cell]:
    """Numbers that the text states of these tables; fitted where they hold a cell that was calibrated to."""

    def mean(response: str, at: tuple[int | slice, int | slice, int | slice]) -> Estimate:
        y = experiment.all(response)[at]
        return interval(y.reshape(-1, y.shape[-1]).mean(axis=0))

    every = slice(None)
    for place, name in ((2, "FB-infinity"), (1, "FB2"), (0, "modified")):
        yield PAPER.fact("queued-workspaces", mean("queued_workspaces", (place, every, every)), part=name)
    for place, name in ((0, "throughput-modified"), (1, "throughput-fb2"), (2, "throughput-fb-infinity")):
        yield PAPER.fact(name, mean(INPUTS, (place, every, every)))
    for place, name in ((0, "mean-reaction-slice-0.1"), (1, "mean-reaction-slice-0.2")):
        yield PAPER.fact(name, mean("mean_reaction_s", (every, 0, place)))
    yield PAPER.fact("best-reaction", mean("mean_reaction_s", (2, 0, 0)))
    yield PAPER.fact("best-response", mean("mean_response_s", (2, 0, 0)))
    for name, table, effect in F_RATIOS_OF_THE_TEXT:
        yield PAPER.fact(name, experiment.analyses[table].f[effect])


def _errors(experiment: Experiment) -> Table:
    """Error mean squares with and without the workloads taken out."""
    rows = [(PAPER.tables[measure.anova], experiment.analyses[measure.anova]) for measure in MEASURES]

    def published(row: tuple[Published, Analysis]) -> float | None:
        cell = row[0].cell({"effect": "error"}, "mean_square")
        return cell.value if cell else None

    return Table.of(
        rows,
        Col("table", lambda row: row[0].shape.place),
        Col("published", published),
        Col("workloads taken out", lambda row: row[1].error.value),
        Col("workloads left in", lambda row: row[1].unblocked),
        name="error-mean-squares",
        caption="Error mean squares: the paper does not say whether the workloads were taken out as blocks",
    )
