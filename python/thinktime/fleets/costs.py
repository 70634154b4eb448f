"""Costs of requests on one machine, and what one more user takes of it, by least squares over a log."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.stats.regression.least_squares import LeastSquares
from thinktime.stats.series.batch_means import KEPT_MOST
from thinktime.stats.series.long_run import long_run

if TYPE_CHECKING:
    from thinktime.log import Log

Array = NDArray[np.float64]
Rows = Callable[[], Iterator[tuple[Array, Array]]]
"""Function that reads the rows of a regression from the start: X and y of one piece after the other."""

ROWS_LEAST = 60
"""Rows below which no coefficient is estimated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient:
    """Coefficient of a regression over one log, or the mean of those of several."""

    value: float
    error: float
    """Standard error, which allows for correlation in time."""
    degrees: float
    """Degrees of freedom of `error`."""
    n: int
    """Observations."""


def coefficients(rows: Rows, columns: int) -> list[Coefficient | None]:
    r"""Least-squares coefficients of the columns, with errors that allow for correlation in time.

    The error of a coefficient is :math:`\sum_t w_t e_t` with :math:`w_t = ((X'X)^{-1} x_t)_k`; it is summed
    over at most 256 batches of adjoining rows, of whose sums `series.long_run.long_run` gives the variance.
    The rows are read twice and never held, so that memory does not grow with them.

    Parameters
    ----------
    rows : callable
        Gives pieces of X, shape (rows, columns), and y, in the order of time, the same each time.
    columns : int
        Number of columns of X.

    Returns
    -------
    list
        One for each column; None where the others determine it, or there are fewer than 60 rows.
    """
    sums = LeastSquares(columns)
    for x, y in rows():
        sums.absorb(x, y)
    if sums.n < max(ROWS_LEAST, 2 * columns):
        return [None] * columns
    fit = sums.solve()
    kept = [column for column in range(columns) if column not in fit.aliased]
    covariance = fit.unscaled_covariance[np.ix_(kept, kept)]
    starts = np.linspace(0, sums.n, min(sums.n, KEPT_MOST) + 1).astype(np.int64)[:-1]
    batches, seen = np.zeros((len(starts), len(kept))), 0
    for x, y in rows():
        if len(y):
            used = x[:, kept]
            errors = y - used @ fit.coefficients[kept]
            batch = np.searchsorted(starts, np.arange(seen, seen + len(y)), side="right") - 1
            first = np.concatenate([[0], np.flatnonzero(np.diff(batch)) + 1])
            batches[batch[first]] += np.add.reduceat((used @ covariance) * errors[:, None], first, axis=0)
            seen += len(y)
    found: list[Coefficient | None] = [None] * columns
    for place, column in enumerate(kept):
        variance = long_run(batches[:, place])
        found[column] = Coefficient(
            value=float(fit.coefficients[column]), error=variance.error, degrees=variance.degrees, n=sums.n
        )
    return found


def pooled(items: list[Coefficient]) -> Coefficient:
    """Mean of independent estimates of one number, each weighted by its precision."""
    if len(items) == 1:
        return items[0]
    weights = np.array([1.0 / item.error**2 if item.error > 0.0 else math.inf for item in items])
    if not np.isfinite(weights).all():
        # An estimate without error leaves no weight to the others.
        weights = np.isinf(weights).astype(np.float64)
    shares = weights / weights.sum()
    variances = shares**2 * np.array([item.error**2 for item in items])
    total = float(variances.sum())
    spent = sum(float(one) ** 2 / item.degrees for one, item in zip(variances, items, strict=True))
    return Coefficient(
        value=float(shares @ np.array([item.value for item in items])),
        error=math.sqrt(total),
        degrees=total**2 / spent if spent > 0.0 else sum(item.degrees for item in items),
        n=sum(item.n for item in items),
    )


def interaction(log: Log) -> Coefficient | None:
    """Mean CPU time of a completed interaction; None where the log has none with a CPU time."""
    import polars as pl

    if not log.has("interactions"):
        return None
    names = {column.name for column in log.schema("interactions")}
    if "completion" not in names or not names & {"service_s", "user_s", "system_s"}:
        return None

    def column(name: str) -> pl.Expr:
        return pl.col(name).cast(pl.Float64) if name in names else pl.lit(None, pl.Float64)

    # As in `interactions.Interactions.service`.
    service = pl.coalesce(column("service_s"), column("user_s") + column("system_s"))

    def rows() -> Iterator[tuple[Array, Array]]:
        for part in log.in_turn("interactions"):
            values = (
                part.filter(pl.col("completion").is_not_null())
                .select(service=service)
                .filter(pl.col("service").is_finite())
                .collect()["service"]
                .to_numpy()
            )
            yield np.ones((len(values), 1)), values

    return coefficients(rows, 1)[0]
