"""Users and input rate as predictors of the reaction time: a 3x3 design of recorded periods (Table 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from thinktime.stats import critical_values
from thinktime.stats.designs.contrasts import orthogonal_polynomials
from thinktime.stats.estimate import Estimate
from thinktime.studies.anderson_sargent_1974.experiments import PAPER
from thinktime.studies.anderson_sargent_1974.monitor import Period, monitored
from thinktime.studies.cells import Cell, Claim
from thinktime.studies.estimates import Array
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

CELLS = "table03_log_reaction_cells"
ANOVA = "table03_anova"
USERS = ((26, 27), (30, 31), (35, 36))
RATES_PER_MIN = (1.36, 1.62, 1.88)
REPLICATIONS = 8
CANDIDATES = 12
"""Periods of a cell nearest to its rate; the eight nearest are taken, other eights show the chance."""
DRAWS = 400
LINEAR, QUADRATIC = orthogonal_polynomials((1, 2, 3))
POLYNOMIALS: Mapping[str, Sequence[float]] = {"": (1.0, 1.0, 1.0), "linear": LINEAR, "quadratic": QUADRATIC}


@dataclass(frozen=True, slots=True)
class Design:
    """Mean log reaction times of the candidates of each cell, nearest first: users, rate, candidate."""

    candidates: Array
    draws: int
    """Random choices of eight periods."""

    @classmethod
    def of(cls, periods: Sequence[Period], draws: int = DRAWS) -> Design:
        """Design of the periods with the wanted users whose input rates are nearest."""
        cells = [_nearest(periods, users, rate) for users, rate in product(USERS, RATES_PER_MIN)]
        return cls(np.array(cells).reshape(len(USERS), len(RATES_PER_MIN), CANDIDATES), draws)

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
            method = f"range over {self.draws} choices of eight of {CANDIDATES} periods"
            result[name] = Estimate(value=value, n=REPLICATIONS, method=method, low=low, high=high)
        return result

    def significant(self) -> list[str]:
        """Effects that are significant at 5 per cent."""
        degrees = self.chosen.size - len(USERS) * len(RATES_PER_MIN)
        return [name for name, f in self.f().items() if critical_values.f_tail(f.value, 1.0, degrees) < 0.05]


def _nearest(periods: Sequence[Period], users: Sequence[int], rate: float) -> list[float]:
    selected = [
        period for period in periods if period.users in users and period.seen.reaction_log is not None
    ]
    selected.sort(key=lambda period: abs(period.rate_per_min - rate))
    return [float(period.seen.reaction_log or 0.0) for period in selected[:CANDIDATES]]


def _choice(candidates: Array, random: np.random.Generator) -> Array:
    """Eight of the candidates of each cell."""
    order = random.permuted(np.broadcast_to(np.arange(CANDIDATES), candidates.shape), axis=-1)
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
    for users, rate in ((u, i) for u in POLYNOMIALS for i in POLYNOMIALS if u or i):
        weights = np.outer(POLYNOMIALS[users], POLYNOMIALS[rate])
        name = "_x_".join(f"{power}_{letter}" for power, letter in ((users, "U"), (rate, "I")) if power)
        result[name] = REPLICATIONS * float(np.sum(weights * means)) ** 2 / float(np.sum(weights**2))
    return {**result, "error": _error(y)}


def chapter(laboratory: Laboratory) -> Chapter:
    """Table 3 and its analysis of variance."""
    design = Design.of(monitored(laboratory).periods, laboratory.scaled(DRAWS))
    summary = (
        "As in the paper, each cell is eight periods of the log: those of its numbers of users whose input "
        "rates are nearest to the one asked for.",
    )
    method = (
        "A printed cell agrees if it differs from ours by no more than two means of eight periods do in 95 % "
        f"of cases; a mean square or F if it lies in its range over {design.draws} choices of eight of the "
        f"{CANDIDATES} nearest periods."
    )
    return Chapter(
        cells=(*_cells(design), *_anova(design)), claims=(_finding(design),), summary=summary, method=method
    )


def _finding(design: Design) -> Claim:
    ratios = design.f()
    significant = design.significant()
    listed = ", ".join(f"{name} {ratios[name].value:.1f}" for name in ("linear_U", "linear_I"))
    return PAPER.claim(
        "only-users-count",
        significant == ["linear_U"],
        f"F {listed}; significant at 5 %: {', '.join(significant) or 'none'}",
    )


def _cells(design: Design) -> Iterator[Cell]:
    degrees = float(design.chosen.size - design.chosen.size // REPLICATIONS)
    reach = critical_values.student_t(0.95, degrees) * (2.0 * design.error / REPLICATIONS) ** 0.5
    means = design.chosen.mean(axis=-1)
    for row in PAPER.tables[CELLS].rows:
        users = USERS.index((int(row["active_users_low"]), int(row["active_users_high"])))
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
