"""What the comparison of two logs, before and after a change, says."""

from __future__ import annotations

from dataclasses import dataclass

from thinktime.analyses.compare.result import Adjusted, Kind
from thinktime.analyses.throughput.comparison import Comparison
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import SignificanceTest

__all__ = ["BeforeAfter", "LogCost", "LogEffect", "Side"]


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class LogEffect:
    """How one quantity differs, after less before, at equal load or at equal work."""

    name: str
    label: str
    unit: str
    kind: Kind
    adjusted: Adjusted
    adjusted_for: tuple[str, ...]
    before: Estimate
    after: Estimate
    difference: Estimate
    relative: float | None
    """Difference over the mean before."""
    test: SignificanceTest
    by_range: Estimate | None
    """The same at a common distribution of loads, by means of ranges of load instead of slopes; None for
    what is not compared at equal load, or where too few ranges are common."""
    values: tuple[tuple[float, ...], tuple[float, ...]]
    """Means of the pieces, adjusted, before and after."""
    drift_before: Estimate | None
    """What changed within the log before, from its begin to its end, by a line through its pieces; None
    where there are too few of them."""
    drift_after: Estimate | None
    carried: Estimate | None
    """What the drift before would have made of the difference by itself, had it gone on; None where the
    clocks of the logs are not the same."""


@dataclass(frozen=True, slots=True)
class LogCost:
    """Cost of one kind of request in both logs."""

    request: str
    label: str
    before: Estimate
    after: Estimate
    difference: Estimate
    test: SignificanceTest
    """Whether it is the same in both; p adjusted over all costs (Holm)."""


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """Two logs compared, where nothing was assigned by a plan."""

    before: Side
    after: Side
    piece: str
    """What a piece is called: ``day``, or ``piece``, an equal part of a shorter log."""
    piece_s: tuple[float, float]
    """Length of a piece of each log [s]."""
    load: str
    load_range: tuple[tuple[float, float], tuple[float, float]] | None
    """Where most loads of each log lie: mean less and plus two deviations."""
    effects: tuple[LogEffect, ...]
    curves: Comparison | None
    """Both logs load by load (`throughput_comparison`); None where that cannot be had."""
    costs: tuple[LogCost, ...]
    costs_unknown: str
    not_common: tuple[str, ...]
    """Quantities that only one of the logs has."""
    left_out: tuple[tuple[str, str], ...]
    """What is not compared, and why."""
    autocorrelation: float | None
    """Of the first quantity from one observation to the next."""
    between_pieces: float | None
    """Of its adjusted means from one piece to the next: near zero if pieces are long enough."""
    caveats: tuple[str, ...]

    def effect(self, name: str, adjusted: Adjusted) -> LogEffect:
        """Difference of quantity `name`, at equal load or work.

        Raises
        ------
        KeyError
            It was not compared.
        """
        for item in self.effects:
            if item.name == name and item.adjusted == adjusted:
                return item
        raise KeyError(f"{name} ({adjusted}) was not compared")
