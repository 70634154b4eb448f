r"""Randomisation tests: the observed effect compared with those under all possible assignments.

If a treatment has no effect, every unit's response is the same under both treatments, and the assignment
made is one of those possible, all equally likely (Fisher, *The Design of Experiments*, 5 to 21). So the
fraction of assignments that show at least as large an effect is an exact probability, with no assumption
about the distribution of the responses.

Block effects and covariates :math:`W` that the treatment did not affect are removed by least squares. With
:math:`M = I - W(W'W)^{-1}W'` and the assignment z,

.. math:: \hat\tau_z = \frac{z' M y}{z' M z}, \qquad
          r_z = \frac{z' M y}{\sqrt{z' M z\ y' M y}}, \qquad t_z = r_z \sqrt{\frac{\nu}{1 - r_z^2}}

(Frisch, Waugh and Lovell), and assignments are ordered by :math:`|t_z|`. The test is exact whatever W is,
since z alone is re-assigned; permuting residuals (Freedman and Lane 1983, Journal of Business and Economic
Statistics 1, 292) is needed only where nothing was assigned, and is exact only asymptotically.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from thinktime.errors import InputError
from thinktime.stats import arguments, critical_values
from thinktime.stats.randomisation.assignments import LISTED_MAX, Assignments

_Array = NDArray[np.float64]

DRAWS = 9_999
"""Number of assignments drawn where there are too many to list."""
TIED = 1e-9
"""Statistics that differ by less than this fraction of the largest are equal: sums differ by rounding."""
CELLS_MOST = 1 << 20
"""Units of assignments that are numbers at a time: otherwise each is a bit."""
LEFT_LEAST = 1e-9
"""An assignment of which less than this fraction is left after the blocks is one of whole blocks."""


class Confounded(InputError):  # noqa: N818
    """The effect of the treatment cannot be separated from the blocks or covariates."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permutation:
    """Outcome of a randomisation test of no effect on any unit, two-sided."""

    effect: float
    """Estimate of treated minus control, in the unit of the responses."""
    t: float
    """Student's statistic of the effect."""
    p: float
    """Fraction of the possible assignments whose statistic is at least as far from zero."""
    smallest_p: float
    """Smallest p that any responses could give: the fraction of assignments that equal the one made, mirror
    images included."""
    assignments: int
    """Number of assignments compared, including the one made."""
    possible: int
    """Number of assignments that the design allows."""
    exact: bool
    """True if all possible ones were compared; else a sample was drawn."""
    error: float
    """Standard error of p by drawing; 0 where exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRange:
    """Effects that the test does not reject; an end is infinite where it can reject none."""

    low: float
    high: float
    level: float


class Reassignment:
    """Randomisation test of one design: its possible assignments, applied to responses.

    Parameters
    ----------
    assignments : Assignments
    nuisance : array of shape (units, columns), optional
        W without the constant, which is always in it: indicators of blocks, covariates.
    draws : int
        Number of assignments drawn where there are too many to list.
    seed : int
        Seed of the draws.

    Raises
    ------
    Confounded
        Nothing of the assignment is left when W is removed.
    TooManyError
        See `Assignments`.
    InputError
        `nuisance` does not fit the units, or a number is out of range.
    TypeError
        An argument is of the wrong kind.

    Examples
    --------
    Fisher's tea: of 8 cups 4 had milk first, and all were identified correctly.

    >>> cups = (1, 0, 1, 1, 0, 0, 1, 0)
    >>> result = Reassignment(Assignments(cups, ([0] * 8,))).test(cups)
    >>> result.assignments, round(result.p, 4)
    (70, 0.0286)
    """

    def __init__(
        self,
        assignments: Assignments,
        nuisance: ArrayLike | None = None,
        *,
        draws: int = DRAWS,
        seed: int = 1,
    ) -> None:
        arguments.record(assignments, Assignments, "assignments")
        draws, seed = arguments.whole(draws, "draws", least=1), arguments.whole(seed, "seed")
        observed = np.asarray(assignments.observed, dtype=np.float64)
        if not len(observed):
            raise InputError("assignments has no units; give two or more")
        n = len(observed)
        basis, rank = _basis(n, nuisance)
        self.possible = assignments.count()
        self.exact = self.possible <= LISTED_MAX
        if self.exact:
            rows = assignments.listed()
        else:
            drawn = assignments.drawn(draws, np.random.default_rng(seed))
            rows = np.vstack([np.array([assignments.observed], dtype=np.int8), drawn])
        self.basis = basis
        self.degrees = n - rank - 1
        made = observed - basis @ (basis.T @ observed)
        self.length = float(np.linalg.norm(made))
        if self.length <= LEFT_LEAST * math.sqrt(n):
            raise Confounded("the treatment is the same in every unit of a block, or varies with it")
        self._made = made / self.length
        self._bits = np.packbits(rows.astype(bool), axis=1)
        lengths = np.concatenate([_lengths(part, basis) for part in self._assigned(self._bits)])
        usable = lengths > LEFT_LEAST * math.sqrt(n)
        if self.exact:
            # With a coin for each unit, assignments such as all heads carry no information and are not used.
            self.possible = int(usable.sum())
        self._bits, self.lengths = self._bits[usable], lengths[usable]
        alike = np.abs(self._along(self._made)) >= 1.0 - TIED
        self.smallest_p = float(np.mean(alike))
        """Smallest two-sided p that any responses could give."""

    @property
    def units(self) -> int:
        """Number of units."""
        return len(self.basis)

    @property
    def compared(self) -> int:
        """Number of assignments compared, including the one made."""
        return len(self.lengths)

    def effect(self, y: ArrayLike) -> float:
        """Estimate of treated minus control."""
        return float(self._made @ self._responses(y)) / self.length

    def effects(self, y: ArrayLike) -> _Array:
        """Estimates under all assignments compared: the distribution under chance alone."""
        result: _Array = self._along(self._left(y)) / self.lengths
        return result

    def residual_deviation(self, y: ArrayLike) -> float | None:
        """Residual standard deviation after W and treatment; None without degrees of freedom."""
        if self.degrees < 1:
            return None
        left = self._left(y)
        left = left - self._made * float(self._made @ left)
        return math.sqrt(float(left @ left) / self.degrees)

    def t(self, y: ArrayLike) -> float:
        """Student's statistic of the effect; infinite where there is no residual."""
        left = self._left(y)
        along, total = float(self._made @ left), float(left @ left)
        rest = total - along * along
        if self.degrees < 1 or rest <= TIED * total:
            return math.copysign(math.inf, along) if along else 0.0
        return along * math.sqrt(self.degrees / rest)

    def p_of_t(self, y: ArrayLike) -> float | None:
        """Two-sided p by Student's t, for normal errors; None without degrees of freedom."""
        if self.degrees < 1:
            return None
        return critical_values.f_tail(self.t(y) ** 2, 1.0, float(self.degrees))

    def test(self, y: ArrayLike) -> Permutation:
        """Test that the treatment has no effect on any unit.

        Raises
        ------
        InputError
            The responses are not one per unit, or not finite.
        TypeError
            `y` are not numbers.
        """
        values = self._left(y)
        statistics = np.abs(self._along(values))
        made = abs(float(self._made @ values))
        scale = float(np.max(np.abs(np.asarray(y, dtype=np.float64)), initial=0.0))
        if float(np.linalg.norm(values)) <= 1e-12 * scale * math.sqrt(len(values)):
            p = 1.0  # responses vary by rounding only: all assignments are equal
        else:
            p = float(np.mean(statistics >= made - TIED * float(np.max(statistics, initial=made))))
        error = 0.0 if self.exact else math.sqrt(p * (1.0 - p) / self.compared)
        return Permutation(
            effect=self.effect(y),
            t=self.t(y),
            p=p,
            smallest_p=self.smallest_p,
            assignments=self.compared,
            possible=self.possible,
            exact=self.exact,
            error=error,
        )

    def interval(self, y: ArrayLike, level: float = 0.95) -> EffectRange:
        r"""Range of effects :math:`\tau`, equal for all units, that the test of :math:`y - \tau z` accepts.

        An assignment with :math:`a = \tilde z'y`, :math:`c = \tilde z'z` (:math:`\tilde z = Mz / |Mz|`)
        has a statistic as large as the one made, with :math:`c_0 = |M z_0|`, :math:`b = a - \hat\tau c`, for

        .. math:: \tau - \hat\tau \in \left[\tfrac{b}{c + c_0},\ \tfrac{b}{c - c_0}\right]

        (ends in growing order); so p decreases away from the estimate, and the ends are order statistics: no
        search is needed. The coverage is at least `level`, as there are finitely many assignments.

        Raises
        ------
        InputError, TypeError
            As `test`, or `level` is out of range.
        """
        level = arguments.level(level)
        estimate = self.effect(y)
        low, high = self.ends(self._responses(y)[:, None], level)
        return EffectRange(low=estimate + float(low[0]), high=estimate + float(high[0]), level=level)

    def ends(self, y: _Array, level: float, chosen: NDArray[np.int64] | None = None) -> tuple[_Array, _Array]:
        """Ends of the intervals of many responses, one column each, relative to the estimates.

        Parameters
        ----------
        y : array of shape (units, columns)
        level : float
            Confidence of the intervals.
        chosen : array of int, optional
            Numbers of the assignments that are compared; all by default.
        """
        made = self._made @ y / self.length
        c = self._along(self._made, chosen) * self.length
        mirrored = np.abs(c) >= self.length * (1.0 - TIED)
        safe = np.where(mirrored, 0.0, c)[:, None]
        b = self._along(self._removed(y), chosen) - safe * made
        first, second = b / (safe + self.length), b / (safe - self.length)
        low, high = np.minimum(first, second), np.maximum(first, second)
        low[mirrored], high[mirrored] = -np.inf, np.inf
        rejected = math.floor((1.0 - level) * len(c) + 1e-9)
        lowest = np.partition(low, rejected, axis=0)[rejected]
        highest = -np.partition(-high, rejected, axis=0)[rejected]
        return lowest, highest

    def _assigned(self, bits: NDArray[np.uint8]) -> Iterator[_Array]:
        """Assignments as numbers, as many at a time as fit into a cache."""
        step = max(1, CELLS_MOST // self.units)
        for first in range(0, len(bits), step):
            part = np.unpackbits(bits[first : first + step], axis=1, count=self.units)
            yield part.astype(np.float64)

    def _along(self, left: _Array, chosen: NDArray[np.int64] | None = None) -> _Array:
        """Products z'My / |Mz| of assignments with My, or with each of its columns."""
        bits, lengths = self._bits, self.lengths
        if chosen is not None:
            bits, lengths = bits[chosen], lengths[chosen]
        products = np.concatenate([part @ left for part in self._assigned(bits)])
        result: _Array = products / (lengths if left.ndim == 1 else lengths[:, None])
        return result

    def _responses(self, y: ArrayLike) -> _Array:
        values = arguments.sample(y, "y")
        if len(values) != len(self.basis):
            raise InputError(f"y has {len(values)} responses; give {len(self.basis)}, one per unit")
        return values

    def _left(self, y: ArrayLike) -> _Array:
        return self._removed(self._responses(y))

    def _removed(self, values: _Array) -> _Array:
        """What is left of responses, or of each column of them, without W."""
        result: _Array = values - self.basis @ (self.basis.T @ values)
        return result


def _lengths(assigned: _Array, basis: _Array) -> _Array:
    """Length of what is left of each assignment without W."""
    left = assigned - (assigned @ basis) @ basis.T
    lengths: _Array = np.linalg.norm(left, axis=1)
    return lengths


def _basis(n: int, nuisance: ArrayLike | None) -> tuple[_Array, int]:
    """Orthonormal columns of the constant and W, and their number."""
    columns = np.ones((n, 1))
    if nuisance is not None:
        given = arguments.numeric(nuisance, "nuisance")
        if given.ndim not in (1, 2) or len(given) != n or not np.isfinite(given).all():
            raise InputError(
                f"nuisance has the shape {given.shape}; give finite numbers, one row for each of {n} units"
            )
        given = given.reshape(n, -1)
        spread = np.ptp(given, axis=0) if given.size else np.zeros(given.shape[1])
        varying = given[:, spread > 0.0]
        columns = np.hstack([columns, varying / np.abs(varying).max(axis=0, initial=1e-300)])
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    rank = int(np.count_nonzero(values > 1e-10 * values[0]))
    return left[:, :rank], rank
