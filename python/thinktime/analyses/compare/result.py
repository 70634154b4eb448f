"""What a comparison of two treatments says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import SignificanceTest
from thinktime.stats.randomisation.permutation import Permutation

__all__ = [
    "Adjusted",
    "Allowed",
    "Comparison",
    "CostChange",
    "Effect",
    "Kind",
    "Power",
    "Randomisation",
    "Unit",
]

Randomisation = Literal["counterbalanced", "blocks", "complete", "switchback"]
"""How treatments were assigned to units: see `stats.assignments`."""
Kind = Literal["useful", "overhead", "idle", "request", "load", "cost", "other"]
Adjusted = Literal["", "load", "work"]
"""At what a quantity is compared: as it is, at equal load (users), or at equal work (requests)."""


@dataclass(frozen=True, slots=True)
class Unit:
    """What one treatment was assigned to as a whole: a day, say."""

    label: str
    start_us: int
    treatment: str
    blocks: tuple[str, ...]
    """Its label in each blocking factor."""
    n: int
    """Observations."""
    length_s: float


@dataclass(frozen=True, slots=True)
class Allowed:
    """One statement of which assignments were possible, and what can be seen under it."""

    randomisation: Randomisation
    statement: str
    """What all possible assignments have in common, in words."""
    blocks: tuple[str, ...]
    """Blocking factors whose effects are taken out of its test."""
    assignments: int
    """How many there are."""
    smallest_p: float | None
    """Least p that any data could give under it; None where the treatment cannot be told from blocks."""
    degrees: int | None
    """Degrees of freedom of Student's test with these blocks taken out."""
    chosen: bool


@dataclass(frozen=True, slots=True)
class Power:
    """Probability of finding a stated difference at false-alarm rate 0.05."""

    difference: float
    by_t: float | None
    """None without degrees of freedom."""
    by_permutation: float
    detectable_by_t: float | None
    """Least difference that is found with probability 0.8; None where none is."""
    detectable_by_permutation: float | None


@dataclass(frozen=True, slots=True)
class Effect:
    """What the treatment did to one quantity; every difference is treated less control."""

    name: str
    """``user_time``, ``system_time``, a request column, or ``cost:<request>``."""
    label: str
    unit: str
    kind: Kind
    adjusted: Adjusted
    adjusted_for: tuple[str, ...]
    """Columns whose differences between units are taken out, by their slopes within units."""
    values: tuple[float, ...]
    """Mean of each unit, adjusted, in the order of `Comparison.units`."""
    control: Estimate
    """Mean over the units of the control, with Student's interval."""
    treated: Estimate
    difference: Estimate
    """With Student's interval on the means of units, blocks taken out."""
    inverted: Estimate
    """With the interval of all differences that the randomisation test keeps; an end is None where the
    design has too few assignments for one."""
    relative: float | None
    """Difference over the mean of the control."""
    test: Permutation
    p_allowed: tuple[float | None, ...]
    """p of the same test under each statement of `Comparison.allowed`; None where it cannot be tested."""
    t_test: SignificanceTest | None
    """Student's test of the same; None without degrees of freedom."""
    degrees: int
    deviation: float | None
    """Standard deviation of units about blocks and treatment: what power is reckoned with."""
    power: Power | None
    """Of the difference that was asked about, else of the one that was seen."""
    by_chance: tuple[float, ...]
    """Differences that each possible assignment would have shown, growing; thinned evenly if many."""


@dataclass(frozen=True, slots=True)
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
    """Treated less control, with an interval from both, as independent: their times are others."""
    by_unit: Effect | None
    """The same question asked of coefficients that were fitted on each unit by itself: its interval knows
    how much the units differ. None where units are too short."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A designed experiment with two treatments."""

    factor: str
    """What was varied: a column of the log, or the name of the design."""
    control: str
    treated: str
    unit: str
    """What the units are: ``day``, ``6h``, ``run``."""
    units: tuple[Unit, ...]
    blocks: tuple[str, ...]
    """Blocking factors whose effects are taken out."""
    randomisation: Randomisation
    allowed: tuple[Allowed, ...]
    """The statement that was chosen and the others, from the tightest to the loosest."""
    effects: tuple[Effect, ...]
    """Every quantity as it is, then at equal load, then overhead at equal work."""
    costs: tuple[CostChange, ...]
    costs_unknown: str
    """Why there are no costs; empty where there are."""
    autocorrelation: float | None
    """Of user time (else of the first quantity) from one observation to the next, within units."""
    dropped: int
    """Observations in no unit, or with the other treatment than most of their unit."""
    incomplete: int
    """Observations in which something that is compared was not measured."""
    left_out: tuple[tuple[str, str], ...]
    """Quantities that are not compared, and why."""
    caveats: tuple[str, ...]

    def effect(self, name: str, adjusted: Adjusted = "") -> Effect:
        """Effect on quantity `name`, as it is or adjusted.

        Raises
        ------
        KeyError
            It was not analysed.
        """
        for item in self.effects:
            if item.name == name and item.adjusted == adjusted:
                return item
        raise KeyError(f"{name} ({adjusted or 'as it is'}) was not compared")
