"""Whether a change helped: a designed experiment with two treatments (Bard 1971, the free-fret experiment)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thinktime.analyses.compare_design import Plan
from thinktime.analyses.compare_result import Comparison, Randomisation
from thinktime.stats.estimate import NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Comparison", "Plan", "analyse"]


def analyse(
    log: Log,
    *,
    treatment: str | None = None,
    plan: Plan | None = None,
    unit: str = "day",
    blocks: Sequence[str] | None = None,
    randomisation: Randomisation | None = None,
    control: str | None = None,
    quantities: Sequence[str] | None = None,
    load: str | None = None,
    requests: Sequence[str] | None = None,
    difference: float | None = None,
    level: float = 0.95,
    seed: int = 1,
) -> Comparison | NotApplicable:
    """Compare two treatments that were assigned to units of time.

    Parameters
    ----------
    log : Log
    treatment : str, optional
        Column of the samples that says which treatment was in force.
    plan : Plan, optional
        Or the plan that says it.
    unit : str
        Units of a treatment column: ``day`` (UTC), ``run`` (a stretch of one treatment), or a length such
        as ``6h``. A plan names its own.
    blocks, randomisation, control
        See `Plan`, whose values they replace.
    quantities : sequence of str, optional
        User, system and idle time, requests (as in `throughput`) and gauges to compare; by default all times
        and requests.
    load : str, optional
        Column for comparisons at equal load; by default that with the role load.
    requests : sequence of str, optional
        Requests of the overhead regression, and of comparisons at equal work; by default those that the
        regression selects.
    difference : float, optional
        True difference, in a quantity's own unit, whose chance to be found is stated; by default the one
        seen.
    level : float
        Confidence of the intervals.
    seed : int
        Of assignments drawn where they cannot be listed, and of the simulated power.
    """
    raise NotImplementedError
