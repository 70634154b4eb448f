"""Results of a comparison: of two treatments within a log, and of two logs, before and after a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from thinktime.analyses.overhead.comparison import ComparedCost
from thinktime.analyses.throughput.comparison import ThroughputComparison
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate
from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.randomisation.permutation import Permutation

Randomisation = Literal["counterbalanced", "blocks", "complete", "switchback"]
"""How treatments were assigned to units: see `stats.randomisation.assignments`."""
Kind = Literal["useful", "overhead", "idle", "request", "load", "cost", "other"]
Adjusted = Literal["", "load", "work"]
"""Adjustment of a quantity: none, to equal load (users), or to equal work (requests)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Difference of one quantity, as it is, at equal load or at equal work."""

    name: str
    """``user_time``, ``system_time``, a request column, or ``cost:<request>``."""
    label: str
    unit: str
    kind: Kind
    adjusted: Adjusted
    adjusted_for: tuple[str, ...]
    """Columns whose differences are taken out, by their slopes within units."""
    difference: Estimate
    """Treated less control by Student's interval on the means of units, blocks taken out; or after less
    before, by the jackknife over days, or the long-run variance of parts of shorter pieces."""
    relative: float | None
    """Difference over the mean of the control, or of the log before."""


_Contrast = TypeVar("_Contrast", bound=Contrast)


def find(contrasts: Sequence[_Contrast], name: str, adjusted: Adjusted) -> _Contrast:
    """Contrast of quantity `name`, as it is or adjusted.

    Raises
    ------
    KeyError
        It was not compared.
    """
    for item in contrasts:
        if item.name == name and item.adjusted == adjusted:
            return item
    raise KeyError(f"{name} ({adjusted or 'as it is'}) was not compared")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotCompared:
    """A quantity that is not compared."""

    name: str
    reason: Caveat


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """Stretch of time to which one treatment was assigned as a whole: a day, say."""

    label: str
    start_us: int
    treatment: str
    blocks: tuple[str, ...]
    """Its label in each blocking factor."""
    n: int
    """Observations."""
    length_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """One statement of which assignments were possible, and its smallest p."""

    randomisation: Randomisation
    statement: str
    """Property that all possible assignments share, in words."""
    blocks: tuple[str, ...]
    """Blocking factors whose effects are taken out of its test."""
    assignments: int
    """Number of possible assignments."""
    smallest_p: float | None
    """Least p that any data could give under it; None where it is confounded with blocks."""
    degrees: int | None
    """Degrees of freedom of Student's test with these blocks taken out."""
    chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Power:
    """Probability of finding a stated difference at false-alarm rate 0.05."""

    difference: float
    by_t: float | None
    """None without degrees of freedom."""
    by_permutation: float
    detectable_by_t: float | None
    """Least difference that is found with probability 0.8; None where none is."""
    detectable_by_permutation: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect(Contrast):
    """Effect of the treatment on one quantity."""

    values: tuple[float, ...]
    """Mean of each unit, adjusted, in the order of `Comparison.units`."""
    control: Estimate
    """Mean over the units of the control, with Student's interval."""
    treated: Estimate
    inverted: Estimate
    """Difference with the interval of all that the randomisation test keeps; an end is None where the
    design has too few assignments for one."""
    test: Permutation
    p_allowed: tuple[float | None, ...]
    """p of the same test under each statement of `Comparison.allowed`; None where it cannot be tested."""
    t_test: SignificanceTest | None
    """Student's test of the same; None without degrees of freedom."""
    degrees: int
    deviation: float | None
    """Standard deviation of units about blocks and treatment, from which power is computed."""
    power: Power | None
    """For the difference that was asked about, else for the observed one."""
    by_chance: tuple[float, ...]
    """Differences under each possible assignment, increasing; thinned evenly if many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostChange:
    """Cost of one kind of request under both treatments (Bard 1971, Table 11)."""

    request: str
    """Name of the kind of request, or ``base``."""
    label: str
    control: Estimate | None
    """Coefficient of the overhead regression on all observations of the control, with the interval that
    holds under autocorrelation; None where the regression could not be made."""
    treated: Estimate | None
    difference: Estimate | None
    """Treated less control, with an interval as of independent estimates: their times are distinct."""
    by_unit: Effect | None
    """Effect on the coefficients fitted on each unit by itself: its interval includes the differences
    between units. None where units are too short."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(Result):
    """Effects of two treatments in a designed experiment."""

    MAIN = "effects"

    factor: str
    """Column of the log that was varied, or name of the plan."""
    control: str
    treated: str
    unit: str
    """Name of a unit: ``day``, ``period``, ``run``."""
    units: tuple[Unit, ...]
    blocks: tuple[str, ...]
    """Blocking factors whose effects are taken out."""
    randomisation: Randomisation
    allowed: tuple[Allowed, ...]
    """The chosen statement and the others, from the tightest to the loosest."""
    effects: tuple[Effect, ...]
    """Every quantity as it is, then at equal load, then overhead at equal work."""
    costs: tuple[CostChange, ...]
    costs_unknown: str
    """Reason why there are no costs; empty where there are."""
    autocorrelation: float | None
    """Of user time (else of the first quantity) from one observation to the next, within units."""
    dropped: int
    """Observations in no unit, or with the other treatment than most of their unit."""
    incomplete: int
    """Observations in which some compared quantity was not measured."""
    left_out: tuple[NotCompared, ...]
    caveats: tuple[Caveat, ...]

    def effect(self, name: str, adjusted: Adjusted = "") -> Effect:
        """Effect on quantity `name`, as it is or adjusted.

        Raises
        ------
        KeyError
            It was not analysed.
        """
        return find(self.effects, name, adjusted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two logs."""

    path: str
    start_us: int
    end_us: int
    pieces: int
    """Stretches of time that are counted as one observation each."""
    n: int
    load: Estimate | None
    """Mean load; None where there is none in common."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEffect(Contrast):
    """Difference of one quantity between two logs, after less before."""

    before: Estimate
    after: Estimate
    test: SignificanceTest
    by_range: Estimate | None
    """The same at a common distribution of loads, by means of ranges of load instead of slopes; None for
    what is not compared at equal load, or where too few ranges are common."""
    values: tuple[tuple[float, ...], tuple[float, ...]]
    """Means of the pieces, adjusted, before and after."""
    drift_before: Estimate | None
    """Change within the log before, from its first piece to its last, by a line through them; None where
    there are too few."""
    drift_after: Estimate | None
    carried: Estimate | None
    """Difference that the drift before would give by itself, had it continued; None where the clocks of
    the logs are not the same."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class BeforeAfter(Result):
    """Differences between two logs, where nothing was assigned by a plan."""

    MAIN = "effects"

    before: Side
    after: Side
    piece: str
    """Name of a piece: ``day``, or ``piece``, an equal part of a shorter log."""
    piece_s: tuple[float, float]
    """Length of a piece of each log [s]."""
    load: str
    load_range: tuple[tuple[float, float], tuple[float, float]] | None
    """Range of most loads of each log: mean less and plus two deviations."""
    effects: tuple[LogEffect, ...]
    curves: ThroughputComparison | None
    """Both logs load by load (`throughput.comparison`); None where that does not apply."""
    costs: tuple[ComparedCost, ...]
    """Costs of requests in both logs (`overhead.comparison`)."""
    costs_unknown: str
    not_common: tuple[str, ...]
    """Quantities that only one of the logs has."""
    left_out: tuple[NotCompared, ...]
    autocorrelation: float | None
    """Of the first quantity from one observation to the next."""
    between_pieces: float | None
    """Correlation of its adjusted means from one piece to the next: near zero if pieces are long enough."""
    caveats: tuple[Caveat, ...]

    def effect(self, name: str, adjusted: Adjusted) -> LogEffect:
        """Difference of quantity `name`, at equal load or work.

        Raises
        ------
        KeyError
            It was not compared.
        """
        return find(self.effects, name, adjusted)
