"""Analyses of variance of the 3x2x2 experiment, as eight replications would show them (Tables 5 to 8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from thinktime.stats.designs.anova import Anova, anova
from thinktime.stats.designs.contrasts import Component, contrast, orthogonal_polynomials
from thinktime.stats.designs.factorial import CellMeans, Factor, Responses
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.studies.anderson_sargent_1974.experiments import SCHEDULERS
from thinktime.studies.estimates import Array

ALGORITHMS = tuple(SCHEDULERS)
REGIONS = (3, 4)
SLICES = (0.1, 0.2)
REPLICATIONS = 8
"""Of the paper, in each cell; its mean squares are those of this many."""
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
