"""Causes of long reaction times in ten-minute periods of the log.

A 3x3 design by users and input rate (Table 3), and a stepwise regression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from thinktime.documents.document import Col, Table
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.regression.selection import forward
from thinktime.studies.anderson_sargent_1974.measurement import Period, monitored
from thinktime.studies.anderson_sargent_1974.runs import PAPER, REPLICATIONS, contrasts_of_table_3
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import Array
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

CELLS = "table03_log_reaction_cells"
ANOVA = "table03_anova"
USER_LEVELS = ((26, 27), (30, 31), (35, 36))
RATES_PER_MIN = (1.36, 1.62, 1.88)
CANDIDATE_PERIODS = 12
"""Periods of a cell nearest to its rate; the eight nearest are taken, other eights show the chance."""
DRAWS = 400
"""Random choices of eight, at full length."""


@dataclass(frozen=True, slots=True)
class Design:
    """Mean log reaction times of the candidates of each cell, nearest first: users, rate, candidate."""

    candidates: Array
    draws: int
    """Random choices of eight periods."""

    @classmethod
    def of(cls, periods: Sequence[Period], draws: int = DRAWS) -> Design:
        """Design of the periods with the wanted users whose input rates are nearest."""
        cells = [_nearest(periods, users, rate) for users, rate in product(USER_LEVELS, RATES_PER_MIN)]
        return cls(np.array(cells).reshape(len(USER_LEVELS), len(RATES_PER_MIN), CANDIDATE_PERIODS), draws)

    @property
    def chosen(self) -> Array:
        """The eight nearest of each cell."""
        return self.candidates[..., :REPLICATIONS]

    @property
    def error(self) -> float:
        """Error mean square."""
        return _error(self.chosen)

    def squares(self) -> dict[str, Estimate]:
        """Mean square of each effect and of the error, with their ranges over choices of eight."""
        return self._ranged(_squares)

    def f(self) -> dict[str, Estimate]:
        """F of each effect, with its range over choices of eight."""

        def ratios(y: Array) -> dict[str, float]:
            error = _error(y)
            return {name: square / error for name, square in _squares(y).items() if name != "error"}

        return self._ranged(ratios)

    def _ranged(self, work: Callable[[Array], dict[str, float]]) -> dict[str, Estimate]:
        random = np.random.default_rng(1)
        drawn = [work(_choice(self.candidates, random)) for _ in range(self.draws)]
        result = {}
        for name, value in work(self.chosen).items():
            low, high = np.quantile([item[name] for item in drawn], [0.025, 0.975]).tolist()
            method = f"range over {self.draws} choices of eight of {CANDIDATE_PERIODS} periods"
            result[name] = Estimate(value=value, n=REPLICATIONS, method=method, low=low, high=high)
        return result

    def significant(self) -> list[str]:
        """Effects that are significant at 5 per cent."""
        degrees = self.chosen.size - len(USER_LEVELS) * len(RATES_PER_MIN)
        return [name for name, f in self.f().items() if critical_values.f_tail(f.value, 1.0, degrees) < 0.05]


def _nearest(periods: Sequence[Period], users: Sequence[int], rate: float) -> list[float]:
    selected = [
        period for period in periods if period.users in users and period.observed.reaction_log is not None
    ]
    selected.sort(key=lambda period: abs(period.rate_per_min - rate))
    return [float(period.observed.reaction_log or 0.0) for period in selected[:CANDIDATE_PERIODS]]


def _choice(candidates: Array, random: np.random.Generator) -> Array:
    """Eight of the candidates of each cell."""
    order = random.permuted(np.broadcast_to(np.arange(CANDIDATE_PERIODS), candidates.shape), axis=-1)
    chosen: Array = np.take_along_axis(candidates, order[..., :REPLICATIONS], axis=-1)
    return chosen


def _error(y: Array) -> float:
    within = y - y.mean(axis=-1, keepdims=True)
    cells = y.size // REPLICATIONS
    return float(np.square(within).sum()) / (cells * (REPLICATIONS - 1))


def _squares(y: Array) -> dict[str, float]:
    """8 (sum c ybar)^2 / sum c^2 for each effect, as the table names it; and the error."""
    means = y.mean(axis=-1)
    result = {}
    for name, contrast in contrasts_of_table_3().items():
        weights = np.reshape(contrast, means.shape)
        result[name] = REPLICATIONS * float(np.sum(weights * means)) ** 2 / float(np.sum(weights**2))
    return {**result, "error": _error(y)}


def levels(laboratory: Laboratory) -> Chapter:
    """Table 3 and its analysis of variance."""
    design = Design.of(monitored(laboratory).periods, laboratory.scaled(DRAWS))
    summary = (
        "As in the paper, each cell is eight periods of the log: those of its numbers of users whose input "
        "rates are nearest to the one asked for.",
    )
    method = (
        "A printed cell agrees if it differs from ours by no more than two means of eight periods do in 95 % "
        f"of cases; a mean square or F if it lies in its range over {design.draws} choices of eight of the "
        f"{CANDIDATE_PERIODS} nearest periods."
    )
    return Chapter(
        cells=(*_cells(design), *_anova(design)),
        claims=(PAPER.claim("only-users-count", _measures(design)),),
        summary=summary,
        method=method,
    )


def _measures(design: Design) -> dict[str, Any]:
    ratios = design.f()
    f = {name: ratios[name] for name in ("linear_U", "linear_I")}
    significant = design.significant() or ["none"]
    named = [PAPER.names.get(name, name) for name in significant]
    return {"f": f, "significant": significant, "named": named}


def _cells(design: Design) -> Iterator[Cell]:
    degrees = float(design.chosen.size - design.chosen.size // REPLICATIONS)
    reach = critical_values.student_t(0.95, degrees) * (2.0 * design.error / REPLICATIONS) ** 0.5
    means = design.chosen.mean(axis=-1)
    for row in PAPER.tables[CELLS].rows:
        users = USER_LEVELS.index((int(row["active_users_low"]), int(row["active_users_high"])))
        rate = RATES_PER_MIN.index(float(row["input_rate_per_min_per_user"]))
        mean = float(means[users, rate])
        ours = Estimate(
            value=mean,
            n=REPLICATIONS,
            method="two means of eight periods differ by less",
            low=mean - reach,
            high=mean + reach,
        )
        yield PAPER.simulated(CELLS, row, "mean_log10_reaction", ours)


def _anova(design: Design) -> Iterator[Cell]:
    squares, ratios = design.squares(), design.f()
    for row in PAPER.tables[ANOVA].rows:
        name = str(row["effect"])
        yield PAPER.simulated(ANOVA, row, "mean_square", squares[name])
        if name in ratios:
            yield PAPER.simulated(ANOVA, row, "f_ratio", ratios[name])


F_TO_ENTER = 4.0
VARIABLES: dict[str, Callable[[Period], float]] = {
    "D per minute": lambda period: period.accesses / 10.0,
    "processor utilisation": lambda period: period.observed.processor,
    "traffic intensity": lambda period: period.observed.inputs / period.observed.length_s,
    "users": lambda period: float(period.users),
    "L_F": lambda period: period.observed.numbers[1],
    "L_B": lambda period: period.observed.numbers[2],
    "L_OB": lambda period: period.observed.numbers[3],
    "L_C": lambda period: period.observed.numbers[4],
    "W_F, min": lambda period: period.foreground_min,
}
"""Variables that the paper offers to the regression, in the units in which its coefficients can be read."""
FACTS = {
    "regression-constant": "constant",
    "regression-swap-rate": "D per minute",
    "regression-foreground-time": "W_F, min",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """Mean log10(R + 0.5) of a period on what was chosen."""

    chosen: tuple[str, ...]
    f: tuple[float, ...]
    """At which each entered."""
    coefficients: dict[str, Estimate]
    """Of a model of the given variables, and its constant."""
    r_squared: float

    @classmethod
    def stepwise(cls, periods: Sequence[Period]) -> Regression:
        """Regression on the variables that forward selection chooses."""
        names = list(VARIABLES)
        rows = _rows(periods, names)
        selection = forward(rows, range(1, len(names) + 1), f_to_enter=F_TO_ENTER)
        chosen = tuple(names[step.column - 1] for step in selection.steps)
        coefficients, r_squared = _fit(periods, chosen)
        return cls(
            chosen=chosen,
            f=tuple(step.f for step in selection.steps),
            coefficients=coefficients,
            r_squared=r_squared,
        )

    @classmethod
    def printed(cls, periods: Sequence[Period]) -> Regression:
        """Regression on the two variables of the printed equation."""
        chosen = ("D per minute", "W_F, min")
        coefficients, r_squared = _fit(periods, chosen)
        return cls(chosen=chosen, f=(), coefficients=coefficients, r_squared=r_squared)


def _rows(periods: Sequence[Period], names: Sequence[str]) -> LeastSquares:
    rows = LeastSquares(len(names) + 1)
    x = [[1.0, *(VARIABLES[name](period) for name in names)] for period in periods]
    rows.absorb(np.array(x), np.array([period.observed.reaction_log for period in periods], dtype=np.float64))
    return rows


def _fit(periods: Sequence[Period], names: Sequence[str]) -> tuple[dict[str, Estimate], float]:
    fit = _rows(periods, names).solve()
    t = critical_values.student_t(0.95, float(fit.degrees))
    errors = np.sqrt(np.diagonal(fit.covariance()))
    result = {}
    for name, value, error in zip(("constant", *names), fit.coefficients, errors, strict=True):
        low, high = float(value - t * error), float(value + t * error)
        result[name] = Estimate(
            value=float(value), n=fit.n, method="least squares, Student t", low=low, high=high
        )
    return result, fit.r_squared


def regression(laboratory: Laboratory) -> Chapter:
    """The regression of the paper, and that of the variables that forward selection chooses here."""
    periods = [period for period in monitored(laboratory).periods if period.observed.reaction_log is not None]
    stepwise, printed = Regression.stepwise(periods), Regression.printed(periods)
    entered = ", ".join(f"{name} (F {f:.0f})" for name, f in zip(stepwise.chosen, stepwise.f, strict=True))
    summary = (
        f"Forward selection takes {entered}; R² is {stepwise.r_squared:.2f}. The paper's takes D and W_F, "
        "which is the mean reaction time itself by Little's law, "
        f"and the two together here give an R² of {printed.r_squared:.2f}.",
        "The printed coefficients are compared with D per minute and W_F in minutes, the units in which they "
        "describe the paper's own periods.",
    )
    method = (
        "Least squares on the mean of log10(R + 0.5) over the inputs of a period; forward selection with "
        f"an F to enter of {F_TO_ENTER:g}; W_F = L_F / λ_F. Traffic intensity is taken as inputs per second, "
        "as the mean service time is the same in all periods."
    )
    return Chapter(
        cells=tuple(_coefficients(printed)),
        claims=(
            PAPER.claim(
                "swapping-and-foreground", {"first": sorted(stepwise.chosen[:2]), "entered": entered}
            ),
        ),
        summary=summary,
        tables=(_table(stepwise, printed),),
        method=method,
    )


def _coefficients(printed: Regression) -> Iterator[Cell]:
    for name, term in FACTS.items():
        yield PAPER.fact(name, printed.coefficients[term])


def _table(stepwise: Regression, printed: Regression) -> Table:
    entered = dict(zip(stepwise.chosen, stepwise.f, strict=True))
    return Table.of(
        ("constant", *VARIABLES),
        Col("term", lambda term: term),
        Col("D and W_F", printed.coefficients.get),
        Col("chosen by forward selection", stepwise.coefficients.get),
        Col("F to enter", entered.get),
        name="regression-terms",
        caption="Terms of the regression of log10(R + 0.5)",
    )
