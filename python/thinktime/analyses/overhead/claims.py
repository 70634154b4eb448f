"""Which costs a summary may state: those that no known error of the regression can explain."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from thinktime.log.observations import JOIN
from thinktime.stats.estimate import Caveat

if TYPE_CHECKING:
    from thinktime.analyses.overhead.result import Cost, Timing

WIDE = 1.0 / 3.0
"""Half width over cost above which a cost is not stated.

A cost enters at about 3 standard errors. One that is truly that weak enters only where chance raises it,
and its interval then held in 82 +- 6 % of logs where 95 % are stated. At a third, a cost is 6 standard errors
from zero. The half width is that of `Cost.steady`: by that of the interval itself, those costs would be
stated whose interval chance has made short, and these held in 90 to 94 %; a smaller share makes that worse.
"""
STAND_INS = ("interrupts", "softirq")
"""Beginnings of events that other requests cause: their coefficient is the cost of whatever raised them."""
OF_MANY_SIZES = ("forks",)
"""Requests without a single cost: a fork takes 120 us, and 50 us more for each resident MB of its process."""
MEASURED_DIRECTLY = ("forks", "page_faults_minor", "context_switches")
"""Requests of Linux whose direct cost can be measured. The regression agrees with it too seldom
(docs/background/what-requests-cost.md): their cost is a finding only in a log whose direct one agrees."""


def judged(costs: Sequence[Cost], timing: Timing) -> tuple[Cost, ...]:
    """Costs with their doubts."""
    return tuple(dataclasses.replace(cost, doubts=tuple(doubts(cost, timing))) for cost in costs)


def doubts(cost: Cost, timing: Timing) -> Iterator[Caveat]:
    """Reasons why a cost belongs in the table and in no summary, the most serious first."""
    if cost.request == "base":
        return
    kinds = cost.request.split(JOIN)
    if cost.seconds.caveat is not None:
        yield Caveat("few_determine")
    elif not cost.shown_to_cost:
        yield Caveat("not_shown")
    if timing == "ticks":
        yield Caveat("by_ticks")
    if cost.rivals:
        yield Caveat("rival_left_out", labels=list(cost.rivals))
    if cost.length.rejected():
        yield Caveat("moves_with_length")
    if any(kind.startswith(STAND_INS) for kind in kinds):
        yield Caveat("stand_in")
    if cost.share.value > 1.0:
        yield Caveat("more_than_all", share=cost.share.value)
    if any(kind in OF_MANY_SIZES for kind in kinds):
        yield Caveat("of_many_sizes")
    elif cost.direct is not None and not cost.direct.agrees:
        yield Caveat("direct_cost_differs", ratio=cost.direct.ratio)
    elif cost.direct is None and timing == "sampled" and any(kind in MEASURED_DIRECTLY for kind in kinds):
        yield Caveat("no_direct_cost")
    if cost.shown_to_cost and cost.steady > WIDE * cost.seconds.value:
        yield Caveat("wide", share=cost.steady / cost.seconds.value)
