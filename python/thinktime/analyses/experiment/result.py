"""Results of the analysis of a designed experiment."""

from __future__ import annotations

from dataclasses import dataclass

from thinktime.results import Result
from thinktime.stats.designs.factorial import Factor, Level
from thinktime.stats.designs.per_effect_error import PerEffectError
from thinktime.stats.designs.transformations import BoxCox
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.hypothesis import SignificanceTest


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One line of the analysis of variance."""

    factors: tuple[str, ...]
    """One for a main effect, several for an interaction, ``blocks`` or ``error`` for these."""
    degrees: int
    squares: float
    mean_square: float
    f: float | None
    p: float | None
    significant: bool
    """True if p is below `Experiment.significance`."""
    counts: bool
    """True if the mean square is at least `Experiment.multiple` times the error's, which does not
    assume normal errors (Anderson and Sargent 1974)."""
    eta_squared: Estimate | None
    """Share of the effect in the squares of effect and error, in this sample."""
    omega_squared: Estimate | None
    """Share of the effect in the variances of effect and error, nearly unbiased."""
    per_effect_error: PerEffectError | None = None
    """The effect against its own differences between blocks, which does not assume equal variances; None
    without blocks, or where cells are missing."""

    @property
    def name(self) -> str:
        """Name for print: ``users × scheduler``."""
        return " × ".join(self.factors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Contrast of the cell means: a slope, a curvature, or how one depends on another factor."""

    name: str
    coefficients: tuple[tuple[str, tuple[float, ...]], ...]
    """Of each factor in it, in the order of its levels."""
    estimate: Estimate
    """Scaled to a difference between two weighted means; the interval goes by the error of the analysis."""
    paired: Estimate | None
    """The same with the interval of its values in each block by themselves, which needs no equal
    variances; None without blocks."""
    mean_square: float
    f: float
    p: float
    significant: bool
    counts: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelMean:
    """Mean of all observations at one level of one factor, in the response's own unit."""

    factor: str
    level: Level
    mean: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination of levels."""

    levels: tuple[Level, ...]
    mean: Estimate
    """In the response's own unit, Student t over the cell's own replications."""
    deviation: float | None
    """Standard deviation over replications; None for a single one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two levels of a factor compared, on the scale of the analysis."""

    factor: str
    first: Level
    second: Level
    estimate: Estimate
    """Mean at `second` less mean at `first`; the intervals of one factor hold together."""
    significant: bool
    within: tuple[tuple[str, Level], ...] = ()
    """Levels of other factors at which they are compared; empty for the mean over these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMean:
    """Mean of all observations at one level of each of two factors, in the response's own unit."""

    factors: tuple[str, str]
    levels: tuple[Level, Level]
    mean: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Transformed:
    """Effect on the conclusions of the transformation that the errors call for."""

    name: str
    """``log10(y)``."""
    gained: tuple[str, ...]
    """Sources that become significant."""
    lost: tuple[str, ...]
    """Sources that cease to be significant."""
    normality: SignificanceTest | NotApplicable
    equal_variances: SignificanceTest | NotApplicable


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Experiment(Result):
    """Analysis of one response of a factorial experiment."""

    MAIN = "sources"

    response: str
    unit: str
    transformation: str
    """Transformation of the response: ``y`` for none."""
    factors: tuple[Factor, ...]
    replications: tuple[int, int]
    """Least and most observations of a cell."""
    n: int
    blocked: bool
    """True if replications of one number are a block: the same workload in every cell."""
    sources: tuple[Source, ...]
    blocks: Source | None
    error: Source
    total_squares: float
    r_squared: float
    squares: str
    """How the sums of squares were computed."""
    without_blocks: tuple[Source, ...]
    """The sources, then the error, with block effects left in the error; empty without blocks."""
    efficiency: float | None
    """Factor by which more observations would be needed without blocks; None without blocks."""
    contrasts: tuple[Contrast, ...]
    contrasts_unknown: tuple[tuple[str, str], ...]
    """Contrasts that cannot be computed, and why."""
    levels: tuple[LevelMean, ...]
    cells: tuple[Cell, ...]
    differences: tuple[Difference, ...]
    simple: tuple[Difference, ...]
    """Differences between the levels of a factor at each level of another with which it interacts; those of
    one such pair of factors hold together."""
    pairs: tuple[PairMean, ...]
    """Means at the levels of two factors that interact."""
    normality: SignificanceTest | NotApplicable
    equal_variances: SignificanceTest | NotApplicable
    box_cox: BoxCox | NotApplicable
    transformed: Transformed | None
    """None where no transformation is called for."""
    significance: float
    multiple: float
    caveats: tuple[Caveat, ...]
