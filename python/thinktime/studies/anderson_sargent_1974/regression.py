"""Causes of long reaction times: stepwise regression over ten-minute periods."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from thinktime.documents.document import Column, Table
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.regression.selection import Selection, forward
from thinktime.studies.anderson_sargent_1974.experiments import PAPER
from thinktime.studies.anderson_sargent_1974.monitor import Period, monitored
from thinktime.studies.cells import Cell, Claim
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

F_TO_ENTER = 4.0
CANDIDATES: dict[str, Callable[[Period], float]] = {
    "D a minute": lambda period: period.accesses / 10.0,
    "processor utilisation": lambda period: period.seen.processor,
    "traffic intensity": lambda period: period.seen.inputs / period.seen.length_s,
    "users": lambda period: float(period.users),
    "L_F": lambda period: period.seen.numbers[1],
    "L_B": lambda period: period.seen.numbers[2],
    "L_OB": lambda period: period.seen.numbers[3],
    "L_C": lambda period: period.seen.numbers[4],
    "W_F, min": lambda period: period.foreground_min,
}
"""Variables that the paper offers to the regression, in the units in which its coefficients can be read."""
FACTS = {
    "regression-constant": "constant",
    "regression-swap-rate": "D a minute",
    "regression-foreground-time": "W_F, min",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """Mean log10(R + 0.5) of a period on what was chosen."""

    chosen: tuple[str, ...]
    f: tuple[float, ...]
    """At which each entered."""
    selection: Selection
    coefficients: dict[str, Estimate]
    """Of a model of the given variables, and its constant."""
    r_squared: float

    @classmethod
    def stepwise(cls, periods: Sequence[Period]) -> Regression:
        """Regression on the variables that forward selection chooses."""
        names = list(CANDIDATES)
        rows = _rows(periods, names)
        selection = forward(rows, range(1, len(names) + 1), f_to_enter=F_TO_ENTER)
        chosen = tuple(names[step.column - 1] for step in selection.steps)
        coefficients, r_squared = _fit(periods, chosen)
        return cls(
            chosen=chosen,
            f=tuple(step.f for step in selection.steps),
            selection=selection,
            coefficients=coefficients,
            r_squared=r_squared,
        )

    @classmethod
    def printed(cls, periods: Sequence[Period]) -> Regression:
        """Regression on the two variables of the printed equation."""
        chosen = ("D a minute", "W_F, min")
        coefficients, r_squared = _fit(periods, chosen)
        return cls(
            chosen=chosen,
            f=(),
            selection=Selection(steps=(), rejected=()),
            coefficients=coefficients,
            r_squared=r_squared,
        )


def _rows(periods: Sequence[Period], names: Sequence[str]) -> LeastSquares:
    rows = LeastSquares(len(names) + 1)
    x = [[1.0, *(CANDIDATES[name](period) for name in names)] for period in periods]
    rows.absorb(np.array(x), np.array([period.seen.reaction_log for period in periods], dtype=np.float64))
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


def chapter(laboratory: Laboratory) -> Chapter:
    """The regression of the paper, and that of the variables that forward selection chooses here."""
    periods = [period for period in monitored(laboratory).periods if period.seen.reaction_log is not None]
    stepwise, printed = Regression.stepwise(periods), Regression.printed(periods)
    entered = ", ".join(f"{name} (F {f:.0f})" for name, f in zip(stepwise.chosen, stepwise.f, strict=True))
    summary = (
        f"Forward selection takes {entered}; R² is {stepwise.r_squared:.2f}. The paper's takes D and W_F, "
        "which is the mean reaction time itself by Little's law, "
        f"and the two together here give an R² of {printed.r_squared:.2f}.",
        "The printed coefficients are compared with D a minute and W_F in minutes, the units in which they "
        "describe the paper's own periods.",
    )
    method = (
        "Least squares on the mean of log10(R + 0.5) over the inputs of a period; forward selection with "
        f"an F to enter of {F_TO_ENTER:g}; W_F = L_F / λ_F. Traffic intensity is taken as inputs per second, "
        "as the mean service time is the same in all periods."
    )
    return Chapter(
        cells=tuple(_figures(printed)),
        claims=(_finding(stepwise),),
        summary=summary,
        tables=(_table(stepwise, printed),),
        method=method,
    )


def _finding(stepwise: Regression) -> Claim:
    first = stepwise.chosen[:2]
    entered = ", ".join(f"{name} (F {f:.0f})" for name, f in zip(stepwise.chosen, stepwise.f, strict=True))
    return PAPER.claim(
        "swapping-and-foreground",
        set(first) == {"D a minute", "W_F, min"},
        f"forward selection takes {entered}",
    )


def _figures(printed: Regression) -> Iterator[Cell]:
    for name, term in FACTS.items():
        yield PAPER.fact(name, printed.coefficients[term])


def _table(stepwise: Regression, printed: Regression) -> Table:
    columns = (
        Column("term"),
        Column("D and W_F"),
        Column("chosen by forward selection"),
        Column("F to enter"),
    )
    entered = dict(zip(stepwise.chosen, stepwise.f, strict=True))
    rows = tuple(
        (name, printed.coefficients.get(name), stepwise.coefficients.get(name), entered.get(name))
        for name in ("constant", *CANDIDATES)
    )
    return Table(
        name="regression-terms",
        caption="Terms of the regression of log10(R + 0.5)",
        columns=columns,
        rows=rows,
    )
