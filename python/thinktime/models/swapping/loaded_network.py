"""Disk and CPU among the loaded processes: how fast they finish interactions, and how fast the swapper swaps.

The inner of two models. It takes the number of loaded processes that are not pausing, and whether the swapper
has a request at the disk, as fixed; `swapper` lets them change.
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
"""Halvings of the interval that holds a throughput: to the last bit of a double."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """What one interaction asks for, and how long the devices take.

    Parameters
    ----------
    blocks : float
        File transfers that the process waits for.
    behind : float
        File transfers that nobody waits for.
    block_time_s : float
        Access and transfer of a block.
    swap_time_s : float
        Access and transfer of a process, one way.
    gap_s : float
        What passes from the end of a request to the start of the next that waits.
    compute_s : float
        CPU time of the program.
    system_s : float
        CPU time of the system; it goes before that of programs.
    residual_s : float or None
        Mean of what is left of a compute burst that is seen at any time of it. A process that comes back from
        the disk or from its pause waits for so much of every process that computes, or until the next comes
        back. None: processes share the CPU, program and system alike, and nobody waits.
    own_controller : bool
        Whether swaps have a controller of their own.
    """

    blocks: float
    behind: float
    block_time_s: float
    swap_time_s: float
    gap_s: float
    compute_s: float
    system_s: float
    residual_s: float | None
    own_controller: bool

    @property
    def transfers(self) -> float:
        """File transfers of an interaction."""
        return self.blocks + self.behind

    @property
    def block_s(self) -> float:
        """Time for which a file transfer keeps the controller."""
        return self.block_time_s + self.gap_s

    @property
    def swap_s(self) -> float:
        """Time for which a swap keeps its controller."""
        return self.swap_time_s + self.gap_s

    @property
    def disk_s(self) -> float:
        """Time for which an interaction keeps the controller, its swaps apart."""
        return self.transfers * self.block_s

    @property
    def cpu_s(self) -> float:
        """CPU time that an interaction needs."""
        return self.compute_s + self.system_s


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rates:
    """Figures by number of loaded processes that do not pause (first index), without and with a swap.

    Parameters
    ----------
    interactions_per_s : array
        Ended interactions.
    swaps_per_s : array
        Ended swaps; 0 without one.
    utilisation : array
        Busy part of the controller that serves the files.
    queue : array
        Mean number of requests there, in service or waiting.
    """

    interactions_per_s: Array
    swaps_per_s: Array
    utilisation: Array
    queue: Array


def rates(demands: Demands, active: int) -> Rates:
    """Solve the network for 0 to `active` loaded processes that do not pause."""
    shape = (active + 1, 2)
    interactions, swaps, queue = (np.zeros(shape) for _ in range(3))
    beside = 0 if demands.own_controller else 1
    for swapping in (0, 1):
        met = swapping * beside
        for number in range(1, active + 1):
            x, requests = _solve(demands, number, demands.swap_s if met else 0.0)
            interactions[number, swapping] = x
            queue[number, swapping] = requests
    if demands.swap_s > 0.0:
        # While the swapper has a request at the disk, the disk is kept: swaps get all that files leave.
        left = 1.0 - interactions[:, 1] * demands.disk_s * beside
        swaps[:, 1] = np.maximum(left, 0.0) / demands.swap_s
    utilisation = interactions * demands.transfers * demands.block_time_s
    if beside:
        queue[:, 1] += 1.0
        utilisation[:, 1] += swaps[:, 1] * demands.swap_time_s
    return Rates(interactions_per_s=interactions, swaps_per_s=swaps, utilisation=utilisation, queue=queue)


def _solve(demands: Demands, number: int, swap_s: float) -> tuple[float, float]:
    """Throughput of `number` processes, and their requests at the disk, with a swap in the way or none.

    Waits grow with the throughput that is supposed, and the throughput found falls: it is where both agree.
    """
    low, high = 0.0, _most(demands)
    for _ in range(STEPS):
        tried = 0.5 * (low + high)
        found, _ = _recursion(demands, number, swap_s, tried)
        low, high = (tried, high) if found > tried else (low, tried)
    throughput = 0.5 * (low + high)
    return throughput, _recursion(demands, number, swap_s, throughput)[1]


def _most(demands: Demands) -> float:
    """Throughput at which the first device is always busy."""
    longest = max(demands.disk_s, demands.cpu_s)
    return 1.0 / longest if longest > 0.0 else math.inf


def _recursion(demands: Demands, number: int, swap_s: float, throughput: float) -> tuple[float, float]:
    r"""Mean value analysis of 1 to `number` processes, beside the load that a throughput brings.

    .. math:: r(n) = \frac{T_{block} (1 + Q(n-1)) + T_{swap}}{1 - \rho}

    is the time of one request at the disk, with :math:`\rho` the part of the disk that writes behind keep
    busy: a request that arrives finds those of other processes, a swap where there is one, and the writes
    behind that came before and come meanwhile. Programs get the CPU that the system calls of other processes
    leave.
    """
    rho = min(throughput * demands.behind * demands.block_s, 1.0 - 1e-12)
    sharing = demands.residual_s is None
    others = (number - 1) / number
    before = 0.0 if sharing else min(others * throughput * demands.system_s, 1.0 - 1e-12)
    program_s = (demands.cpu_s if sharing else demands.compute_s) / (1.0 - before)
    fixed_s = 0.0 if sharing else demands.system_s / (1.0 - before)
    waited_s = (demands.blocks + 1.0) * _slice_s(demands, throughput)
    at_disk = computing = found = request_s = 0.0
    for n in range(1, number + 1):
        request_s = (demands.block_s * (1.0 + at_disk) + swap_s) / (1.0 - rho)
        disk_s, cpu_s = demands.blocks * request_s, program_s * (1.0 + computing)
        found = n / (disk_s + cpu_s + fixed_s + waited_s * computing)
        at_disk, computing = found * disk_s, found * cpu_s
    return found, at_disk + throughput * demands.behind * request_s


def _slice_s(demands: Demands, throughput: float) -> float:
    r"""How long a process that comes back waits for each that computes.

    .. math:: \frac{1}{X (b + 1) + 1 / L}

    with X (b + 1) the rate at which processes come back from the disk and from pauses, upon which the CPU is
    given to the next, and L what is left of a burst.
    """
    if not demands.residual_s:
        return 0.0
    return 1.0 / (throughput * (demands.blocks + 1.0) + 1.0 / demands.residual_s)
