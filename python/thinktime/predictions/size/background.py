"""Background load that users wait for: as much of it as agrees with their measured waits for a CPU."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from thinktime.documents import format as shown
from thinktime.models.sizing import BACKGROUND_MOST, MODEL_SD, Machine, Work, course
from thinktime.stats.estimate import Estimate

Array = NDArray[np.float64]

MATTERS = MODEL_SD
"""Share of the CPUs from which background load is looked at: less of it takes no more of their capacity than
the error that the model has anyway."""
TRIED = 25
"""Background loads for which waits are computed; those between are interpolated by a monotone cubic."""
FINE = 2000
CHI2_95 = 3.841
"""95 % quantile of chi squared with one degree of freedom."""
HARDLY = 0.1
"""Part of the other work up to which users are said to hardly wait for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Interactions at one number of users, and how long they waited for a CPU."""

    users: int
    think_s: float
    response_s: float
    own_cpu_s: float
    """CPU time of an interaction in its own processes, whose waits are measured, and"""
    cpu_s: float
    """all of it."""
    waited_s: float
    error_s: float
    """Standard error of `waited_s`."""

    def expected(self, machine: Machine) -> float:
        """Wait that the model has with the background load of a machine [s].

        What is neither CPU time nor a wait for it counts as a delay, as long as it was.
        """
        share = self.own_cpu_s / self.cpu_s
        rest_s = max(self.response_s - self.cpu_s - self.waited_s / share, 0.0)
        work = Work(think_s=self.think_s, cpu_s=self.cpu_s, delay_s=rest_s)
        response_s = float(course(work, machine, self.users).response_s[-1])
        return (response_s - rest_s - self.cpu_s) * share


@dataclass(frozen=True, slots=True, kw_only=True)
class Yielding:
    """Background load that gives way to users, as their waits show."""

    used: float
    """CPU time of others [s/s]."""
    waited_for: Estimate
    """As much of it, on equal terms, as agrees with the waits [s/s]."""
    fewest: int
    most: int
    """Numbers of users with whom this was seen."""

    @property
    def error(self) -> float:
        """Standard error for which a normal distribution reaches as far as the interval."""
        assert self.waited_for.low is not None
        assert self.waited_for.high is not None
        # The lower end may be cut at zero; the upper one tells the spread.
        value = self.waited_for.value
        return max(self.waited_for.high - value, value - self.waited_for.low) / 1.96


@lru_cache(maxsize=8)
def yielding(waits: tuple[Waits, ...], cpus: int, used: float) -> Yielding | None:
    r"""Background load for which users waited, if that is less than others used; None if it is not.

    The kernel gives users and others equal parts of the CPUs only if all are tasks of one group which never
    sleep: groups of tasks share by their weights, and a task that wakes up goes before those that ran. With
    the mean waits W for a CPU at each number of users, and those of the model with background b, M(b), which
    grow with b, b is where

    .. math:: \chi^2(b) = (W - M(b))^T C^{-1} (W - M(b)), \quad
              C = \mathrm{diag}(e^2 + \sigma^2 R^2) + \sigma^2 R R^T

    is least, with the errors e of the waits, and the model's own error :math:`\sigma` in a mean response R,
    of each number of users and of all of them. The interval is that of the likelihood ratio: :math:`\chi^2`
    up to 3.84 above its least value, or as many times more as the numbers of users disagree by. If there is
    nothing to wait for, it is as wide as the machine.

    Parameters
    ----------
    waits : tuple of Waits
        Of the numbers of users for whom waits were measured.
    cpus : int
    used : float
        CPU time of others [s/s].
    """
    from scipy.interpolate import PchipInterpolator

    known = [one for one in waits if one.own_cpu_s > 0.0 and math.isfinite(one.waited_s + one.error_s)]
    if not known or used < MATTERS * cpus:
        return None
    tried = np.linspace(0.0, 0.99 * BACKGROUND_MOST * cpus, TRIED)
    at = np.linspace(0.0, tried[-1], FINE)
    expected = np.array(
        [[one.expected(Machine(cpus=cpus, background=float(b))) for b in tried] for one in known]
    )
    waited, error, response = (
        np.array([getattr(one, name) for one in known]) for name in ("waited_s", "error_s", "response_s")
    )
    own = MODEL_SD * response
    inverse = np.linalg.inv(np.diag(error**2 + own**2) + np.outer(own, own))
    residuals = waited[:, None] - PchipInterpolator(tried, expected, axis=1)(at)
    chi2 = np.einsum("kb,kl,lb->b", residuals, inverse, residuals)
    least = float(chi2.min())
    disagree = max(least / (len(known) - 1), 1.0) if len(known) > 1 else 1.0
    inside = at[chi2 <= least + CHI2_95 * disagree]
    if inside[-1] >= used:
        return None
    return Yielding(
        used=used,
        waited_for=Estimate(
            value=float(at[chi2.argmin()]),
            unit="s/s",
            low=float(inside[0]),
            high=float(inside[-1]),
            n=len(known),
            method="waits for a CPU, likelihood ratio",
        ),
        fewest=min(one.users for one in known),
        most=max(one.users for one in known),
    )


def sentence(found: Yielding) -> str:
    """What other work used, and for how much of it users waited."""
    part = found.waited_for
    assert part.low is not None
    assert part.high is not None
    hardly = part.value <= HARDLY * found.used
    waited = "users hardly waited for it" if hardly else "users waited for a part of it only"
    seen = f"{found.fewest} to {found.most}" if found.fewest < found.most else f"{found.most}"
    cpus = f"{shown.number(part.value)} CPUs ({shown.number(part.low)} to {shown.number(part.high)})"
    return (
        f"Other work used {shown.number(found.used)} CPUs, and {waited}: with {seen} users, they waited for "
        f"a CPU as long as beside {cpus} of work on equal terms. The prediction counts it for that much, and "
        f"its interval has the error of that. Beyond {found.most} users, and on another machine, it may give "
        "way less."
    )
