"""Disk and CPU shared by the loaded processes: rates of interactions and of swaps.

The inner of two models. The number of loaded processes that are not pausing, and whether the swapper has a
request at the disk, are fixed; in `swapper` they change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SOURCE = (
    "mean value analysis (Reiser and Lavenberg, Journal of the ACM 27 (1980)), with writes behind as"
    " asynchronous tasks (Heidelberger and Trivedi, IEEE Transactions on Computers C-31 (1982))"
)

STEPS = 60
"""Bisections of the interval of the throughput: down to the last bit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """Demands of an interaction, and service times of the devices."""

    blocks: float
    """File transfers that the process waits for."""
    behind: float
    """File transfers that nobody waits for."""
    block_time_s: float
    """Access and transfer of a block."""
    swap_time_s: float
    """Access and transfer of a process, one way."""
    gap_s: float
    """Time from the end of a request to the start of the next one that waits."""
    compute_s: float
    """CPU time of the program."""
    system_s: float
    """CPU time of the system, which has priority over that of programs."""
    residual_s: float | None
    """Mean residual of a compute burst at a random time. A process that returns from the disk or from its
    pause waits for this time for every process that computes, or until the next returns. None: processes
    share the CPU, program and system alike, and none waits."""
    own_controller: bool
    """True if swaps have their own controller."""

    @property
    def transfers(self) -> float:
        """File transfers of an interaction."""
        return self.blocks + self.behind

    @property
    def block_s(self) -> float:
        """Time for which a file transfer occupies the controller."""
        return self.block_time_s + self.gap_s

    @property
    def swap_s(self) -> float:
        """Time for which a swap occupies its controller."""
        return self.swap_time_s + self.gap_s

    @property
    def disk_s(self) -> float:
        """Time for which an interaction occupies the controller, without its swaps."""
        return self.transfers * self.block_s

    @property
    def cpu_s(self) -> float:
        """CPU time that an interaction needs."""
        return self.compute_s + self.system_s


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rates:
    """Rates by number of loaded processes that do not pause (first index), without and with a swap."""

    interactions_per_s: Array
    """Rate of completed interactions."""
    swaps_per_s: Array
    """Rate of completed swaps; 0 without one."""
    utilisation: Array
    """Fraction of busy time of the controller that serves the files."""
    queue: Array
    """Mean number of requests there, in service or waiting."""


def rates(demands: Demands, active: int) -> Rates:
    """Rates with 0 to `active` loaded processes that do not pause."""
    shape = (active + 1, 2)
    interactions, swaps, queue = (np.zeros(shape) for _ in range(3))
    shared = 0 if demands.own_controller else 1
    for swapping in (0, 1):
        met = swapping * shared
        for number in range(1, active + 1):
            x, requests = _solve(demands, number, demands.swap_s if met else 0.0)
            interactions[number, swapping] = x
            queue[number, swapping] = requests
    if demands.swap_s > 0.0:
        # While the swapper has a request at the disk, the disk is busy: swaps get the time that files leave.
        left = 1.0 - interactions[:, 1] * demands.disk_s * shared
        swaps[:, 1] = np.maximum(left, 0.0) / demands.swap_s
    utilisation = interactions * demands.transfers * demands.block_time_s
    if shared:
        queue[:, 1] += 1.0
        utilisation[:, 1] += swaps[:, 1] * demands.swap_time_s
    return Rates(interactions_per_s=interactions, swaps_per_s=swaps, utilisation=utilisation, queue=queue)


def _solve(demands: Demands, number: int, swap_s: float) -> tuple[float, float]:
    """Throughput of `number` processes, and their requests at the disk, with or without a swap.

    Waits grow with the assumed throughput, and the resulting one falls: the solution is where both are equal.
    """
    low, high = 0.0, _most(demands)
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        result, _ = _recursion(demands, number, swap_s, middle)
        low, high = (middle, high) if result > middle else (low, middle)
    throughput = 0.5 * (low + high)
    return throughput, _recursion(demands, number, swap_s, throughput)[1]


def _most(demands: Demands) -> float:
    """Throughput at which the bottleneck is always busy."""
    longest = max(demands.disk_s, demands.cpu_s)
    return 1.0 / longest if longest > 0.0 else math.inf


def _recursion(demands: Demands, number: int, swap_s: float, throughput: float) -> tuple[float, float]:
    r"""Mean value analysis of 1 to `number` processes, given the background load of a throughput.

    .. math:: r(n) = \frac{T_{block} (1 + Q(n-1)) + T_{swap}}{1 - \rho}

    is the time of one request at the disk, with :math:`\rho` the fraction of the disk's time that writes
    behind need: an arriving request finds those of other processes, a swap where there is one, and writes
    behind. Programs get the CPU time that the system calls of other processes leave.
    """
    rho = min(throughput * demands.behind * demands.block_s, 1.0 - 1e-12)
    sharing = demands.residual_s is None
    others = (number - 1) / number
    before = 0.0 if sharing else min(others * throughput * demands.system_s, 1.0 - 1e-12)
    program_s = (demands.cpu_s if sharing else demands.compute_s) / (1.0 - before)
    fixed_s = 0.0 if sharing else demands.system_s / (1.0 - before)
    waited_s = (demands.blocks + 1.0) * _slice_s(demands, throughput)
    at_disk = computing = per_s = request_s = 0.0
    for n in range(1, number + 1):
        request_s = (demands.block_s * (1.0 + at_disk) + swap_s) / (1.0 - rho)
        disk_s, cpu_s = demands.blocks * request_s, program_s * (1.0 + computing)
        per_s = n / (disk_s + cpu_s + fixed_s + waited_s * computing)
        at_disk, computing = per_s * disk_s, per_s * cpu_s
    return per_s, at_disk + throughput * demands.behind * request_s


def _slice_s(demands: Demands, throughput: float) -> float:
    r"""Time that a returning process waits for each process that computes.

    .. math:: \frac{1}{X (b + 1) + 1 / L}

    with X (b + 1) the rate at which processes return from the disk and from pauses, whereupon the CPU is
    given to the next, and L the residual burst.
    """
    if not demands.residual_s:
        return 0.0
    return 1.0 / (throughput * (demands.blocks + 1.0) + 1.0 / demands.residual_s)
