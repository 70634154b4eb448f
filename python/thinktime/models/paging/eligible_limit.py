r"""Number of processes that should be eligible: the optimum by search, and by criteria of the literature.

With one more process devices overlap more, and each has less core. The throughput of n processes that are
always eligible has a maximum; beyond it the machine thrashes (Denning, *Thrashing: its causes and
prevention*, AFIPS FJCC 33 (1968)). Three rules were proposed to find the maximum without knowing the
throughput:

- *L = S*: the largest number whose lifetime, useful time between page faults, is at least the transfer time
  of a page (Denning, Kahn, Leroudier, Potier and Suri, Acta Informatica 7 (1976));
- *50 %*: the number that keeps the paging device busy half of the time (Leroudier and Potier, ECOMA 1976);
- *knee*: the number that gives each process the space at which L(m)/m is greatest (Denning and Kahn, SOSP
  1975).
"""

from __future__ import annotations

import math

import numpy as np

from thinktime.models.paging.configuration import Paging
from thinktime.models.paging.fixed_point import Held, hold
from thinktime.models.paging.lockout import KINDS
from thinktime.models.paging.throughput import IDLE_LEAST, SOURCE
from thinktime.models.prediction import Assumption, Prediction, Quantity, count
from thinktime.stats import arguments

FLAT = 0.95
"""Fraction of the greatest throughput from which a number of eligible processes counts as good."""
THRASHING = 0.5
"""Fraction of it below which, beyond the optimum, the machine counts as thrashing."""
HALF = 0.5


def levels(system: Paging, most: int) -> Prediction:
    """Predicted throughput of 1 to `most` processes that are always eligible, and their best number.

    Parameters
    ----------
    system : Paging
        Its `users` and `max_eligible` are not used.
    most : int
        Largest number of eligible processes.

    Returns
    -------
    Prediction
        Values for each number: ``throughput_per_s``, ``useful_share``, ``idle_share``, for each kind of
        event K ``K_share`` and ``K_between_s`` (real time per processor), ``lifetime_s``, ``pages_held``,
        ``page_wait_mean_s``, ``drum_utilisation``. Numbers of processes: ``optimum``; ``good_from`` and
        ``good_to``, between which throughput is at least `FLAT` of the greatest; ``thrashing_from``, from
        which it is less than `THRASHING` of it (infinite where it never is); and by the criteria
        ``lifetime_criterion``, ``half_criterion`` (0 where one is too many), ``knee_criterion``.
        ``optimum_share`` is the useful share there.

    Raises
    ------
    InputError
        `most` is less than 1.
    TypeError
        An argument is of the wrong kind.
    """
    arguments.record(system, Paging, "system")
    held: list[Held] = []
    for processes in range(1, count("most", most) + 1):
        held.append(hold(system, processes, held[-1] if held else None))
    throughput = np.array([item.level.throughput_per_s for item in held])
    useful = np.array([item.level.useful for item in held])
    best = int(throughput.argmax())
    good = np.flatnonzero(throughput >= FLAT * throughput[best]) + 1
    beyond = [n for n in range(best + 1, most + 1) if throughput[n - 1] < THRASHING * throughput[best]]
    quantities = [
        Quantity("optimum", float(best + 1), "process"),
        Quantity("optimum_share", float(useful[best]), "share"),
        Quantity("good_from", float(good[0]), "process"),
        Quantity("good_to", float(good[-1]), "process"),
        Quantity("thrashing_from", float(min(beyond, default=math.inf)), "process"),
        *_criteria(system, held),
        Quantity("throughput_per_s", throughput, "1/s"),
        Quantity("useful_share", useful, "share"),
        Quantity("idle_share", np.array([item.level.idle for item in held]), "share"),
        *_events(system, held),
        Quantity("lifetime_s", np.array([item.lifetime_s for item in held]), "s"),
        Quantity("pages_held", np.array([item.pools.pages.held for item in held]), "page"),
        Quantity("page_wait_mean_s", np.array([item.level.page_wait_s for item in held]), "s"),
        Quantity("drum_utilisation", np.array([item.level.drum_utilisation for item in held]), "share"),
    ]
    assumptions = (
        Assumption("as many users want to run as may be eligible, at any time"),
        Assumption("who becomes eligible has nothing left in core from before"),
        Assumption(
            "eligible processes of a queue get on alike: none is kept from the processors for long",
            held[best].level.idle >= IDLE_LEAST,
            f"processors are idle {100.0 * held[best].level.idle:.2g} % of the time at the optimum",
        ),
        Assumption(f"the optimum is not beyond {most} processes", best + 1 < most, f"{best + 1}"),
    )
    return Prediction(
        method="number of eligible processes, by direct search",
        source=SOURCE,
        quantities=tuple(quantities),
        assumptions=assumptions,
    )


def _criteria(system: Paging, held: list[Held]) -> list[Quantity]:
    """Numbers of processes that the rules of the literature choose."""
    drum_s = system.drum_rotation_s * (0.5 + 1.0 / system.drum_sectors)
    transfer_s = (1.0 - system.disk_share) * drum_s + system.disk_share * system.disk_access_s
    by_lifetime = [n for n, item in enumerate(held, 1) if item.lifetime_s >= transfer_s]
    by_half = [n for n, item in enumerate(held, 1) if item.level.drum_utilisation <= HALF]
    # Space of each is what all have, divided by n.
    knee = max(range(1, len(held) + 1), key=lambda n: n * held[n - 1].lifetime_s)
    return [
        Quantity("lifetime_criterion", float(max(by_lifetime, default=0)), "process"),
        Quantity("half_criterion", float(max(by_half, default=0)), "process"),
        Quantity("knee_criterion", float(knee), "process"),
        Quantity("transfer_s", transfer_s, "s"),
    ]


def _events(system: Paging, held: list[Held]) -> list[Quantity]:
    """Shares of the kinds of event, and times between them."""
    overhead = np.array([item.level.overhead for item in held])
    per_s = np.array([item.level.events_per_s for item in held])
    with np.errstate(divide="ignore"):
        between_s = system.cpus / per_s
    result = []
    for index, kind in enumerate(KINDS):
        result.append(Quantity(f"{kind}_share", np.ascontiguousarray(overhead[:, index]), "share"))
        result.append(Quantity(f"{kind}_between_s", np.ascontiguousarray(between_s[:, index]), "s"))
    return result
