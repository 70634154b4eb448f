r"""Throughput of a time-sharing system with demand paging as a function of core, users and processors.

Three nested models (Courtois, *Decomposability* (1977)): `page_pool` gives the rate at which processes miss
pages and segments for a given core and number of sharers, `multiprogramming` the work that a number of
eligible processes gets done at processors, drum and disks, and this module the number that is eligible: users
think, and of those who do not at most the limit are admitted. Throughput rises with the number of eligible
processes while devices overlap, and falls when they take each other's pages; the model does not assume on
which side of that the machine is.

The machine is that of Sekino, *Overhead Measurements of System 14*, Multics Performance Log 53 (1971).
"""

from __future__ import annotations

import math

from thinktime.models.paging import fixed_point, page_pool
from thinktime.models.paging.configuration import Paging
from thinktime.models.paging.fixed_point import Balance, Pools
from thinktime.models.paging.lockout import KINDS
from thinktime.models.prediction import Assumption, Prediction, Quantity
from thinktime.stats import arguments

SOURCE = (
    "Courtois, Decomposability (1977); Baskett, Chandy, Muntz and Palacios, Journal of the ACM 22 (1975); "
    + page_pool.SOURCE
)

FULL = 0.95
"""Fraction of the limit of eligible processes from which their number counts as steady."""
HELD_LEAST = 8.0
IDLE_LEAST = 0.02
"""Fraction of idle time below which some processes that could run are left waiting for long."""
TWO_STATES = 0.05
"""Relative throughput loss above which a second steady state is reported."""


def predict(system: Paging) -> Prediction:
    """Predicted shares of the processors' capacity, times between events, throughput and response time.

    Parameters
    ----------
    system : Paging

    Returns
    -------
    Prediction
        ``throughput_per_s``, ``response_s`` (from input to the end of the work), ``useful_share``,
        ``idle_share``; for each kind of event K ``K_share``, ``K_between_s`` (real time per processor)
        and ``K_overhead_s`` (processor time per event); ``lock_wait_share``; ``eligible_mean``,
        ``active_mean`` (interactions in progress), ``page_wait_mean_s``, ``drum_utilisation``,
        ``disk_utilisation``, ``page_faults_per_interaction``, ``lifetime_s`` (useful time between page
        faults), ``pages_held`` (by an eligible process).

    Raises
    ------
    TypeError
        `system` is no `Paging`.
    """
    arguments.record(system, Paging, "system")
    balance, pools = fixed_point.solve(system)
    quantities: list[Quantity] = [
        Quantity("throughput_per_s", balance.throughput_per_s, "1/s"),
        Quantity("response_s", balance.active / balance.throughput_per_s, "s"),
        Quantity("useful_share", float(balance.mean("useful")), "share"),
        Quantity("idle_share", float(balance.mean("idle")), "share"),
    ]
    events, overhead = balance.mean("events_per_s"), balance.mean("overhead")
    for kind, per_s, share in zip(KINDS, events.tolist(), overhead.tolist(), strict=True):
        quantities.append(Quantity(f"{kind}_share", share, "share"))
        if per_s > 0.0:
            quantities.append(Quantity(f"{kind}_between_s", system.cpus / per_s, "s"))
            quantities.append(Quantity(f"{kind}_overhead_s", share * system.cpus / per_s, "s"))
    faults = pools.demand.page_faults
    quantities += [
        Quantity("lock_wait_share", float(balance.mean("lock_wait")), "share"),
        Quantity("eligible_mean", balance.eligible, "process"),
        Quantity("active_mean", balance.active, "interaction"),
        Quantity("page_wait_mean_s", balance.page_wait_s, "s"),
        Quantity("drum_utilisation", float(balance.mean("drum_utilisation")), "share"),
        Quantity("disk_utilisation", float(balance.mean("disk_utilisation")), "share"),
        Quantity("page_faults_per_interaction", faults, "page fault"),
        Quantity("lifetime_s", system.useful_s / faults if faults > 0.0 else math.inf, "s"),
        Quantity("pages_held", pools.pages.held, "page"),
    ]
    return Prediction(
        method="closed network with demand paging",
        source=SOURCE,
        quantities=tuple(quantities),
        assumptions=_assumptions(system, balance, pools),
    )


def _is_full(balance: Balance, system: Paging) -> bool:
    """True if the number of eligible processes is at its limit nearly all the time."""
    return balance.eligible >= FULL * min(system.max_eligible, system.users)


def _assumptions(system: Paging, balance: Balance, pools: Pools) -> tuple[Assumption, ...]:
    """Assumptions of the model, and whether this machine meets them."""
    idle = float(balance.mean("idle"))
    other = balance if _is_full(balance, system) else fixed_point.solve(system, thrashing=True)[0]
    less = 1.0 - other.throughput_per_s / balance.throughput_per_s
    held, stay_s = pools.pages.held, balance.eligible / balance.throughput_per_s / pools.demand.stays
    steady = _is_full(balance, system)
    full = f"on average {balance.eligible:.2g} of {system.max_eligible:g} are eligible"
    hand = f"a revolution of the hand takes {pools.pages.revolution_s:.2g} s, a stay {stay_s:.2g} s"
    return (
        Assumption("users think and choose what they type independently of each other"),
        Assumption("processes share no pages: what one holds is of no use to another"),
        Assumption("useful time between page faults depends on the pages held alone, as a power of them"),
        Assumption("the places that the hand finds used are as likely any of a process's"),
        Assumption(
            "the number of eligible processes is steady, or pages change hands more slowly than it changes",
            steady or pools.pages.revolution_s > stay_s,
            full if steady else hand,
        ),
        Assumption(
            "the machine has one steady state; where it has two it is in that of less load, as after a start",
            less < TWO_STATES,
            f"in the other it gets {100.0 * less:.2g} % less done" if less >= TWO_STATES else "",
        ),
        Assumption(
            "eligible processes of a queue get on alike: none is kept from the processors for long",
            idle >= IDLE_LEAST,
            f"processors are idle {100.0 * idle:.2g} % of the time",
        ),
        Assumption(
            f"eligible processes hold at least {HELD_LEAST:g} pages, so that single ones do not matter",
            held >= HELD_LEAST,
            f"{held:.3g} pages",
        ),
    )
