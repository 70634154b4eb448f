"""Operational laws and bounds of systems in balance: as many interactions end in the interval as begin.

Source of the laws: Denning and Buzen, "The operational analysis of queueing network models", ACM Computing
Surveys 10 (1978), 225-261.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from thinktime.errors import InputError
from thinktime.models.prediction import Assumption, Prediction, Quantity, at_least_zero, count, positive
from thinktime.stats import arguments

SOURCE = "Denning and Buzen, ACM Computing Surveys 10 (1978)"
BALANCE = Assumption("as many interactions end in the interval as begin")


def utilisation(throughput_per_s: float, service_s: float, servers: int = 1) -> Prediction:
    """Utilisation by the utilisation law: U = X S / m, a fraction of m servers.

    Raises
    ------
    InputError
        A negative rate or time, or fewer than one server.
    TypeError
        An argument is no number.
    """
    busy = at_least_zero("throughput_per_s", throughput_per_s) * at_least_zero("service_s", service_s)
    value = busy / count("servers", servers)
    possible = Assumption("the utilisation is at most 1", value <= 1.0)
    return Prediction(
        method="utilisation law",
        source=SOURCE,
        quantities=(Quantity("utilisation", value, ""),),
        assumptions=(BALANCE, possible),
    )


def little(throughput_per_s: float, time_s: float) -> Prediction:
    """Mean number in a subsystem in which each interaction spends R, by Little's law: N = X R.

    Little, Operations Research 9 (1961), 383-387.

    Raises
    ------
    InputError
        A negative rate or time.
    TypeError
        An argument is no number.
    """
    number = at_least_zero("throughput_per_s", throughput_per_s) * at_least_zero("time_s", time_s)
    return Prediction(
        method="Little's law",
        source=SOURCE,
        quantities=(Quantity("number", number, "interaction"),),
        assumptions=(BALANCE,),
    )


def response_time(users: float, throughput_per_s: float, think_s: float) -> Prediction:
    """Response time by the interactive response time law: R = N / X - Z, in seconds.

    Raises
    ------
    InputError
        No users, no throughput, or a negative think time.
    TypeError
        An argument is no number.
    """
    positive("users", users)
    value = users / positive("throughput_per_s", throughput_per_s) - at_least_zero("think_s", think_s)
    possible = Assumption(
        "users, throughput and think time leave a response time of at least 0", value >= 0.0
    )
    law = "interactive response time law"
    return Prediction(
        method=law,
        source=SOURCE,
        quantities=(Quantity("response_s", value, "s"),),
        assumptions=(BALANCE, possible),
    )


def forced_flow(throughput_per_s: float, visits: float) -> Prediction:
    """Throughput of a station that is visited V_k times, by the forced flow law: X_k = V_k X.

    Raises
    ------
    InputError
        A negative rate or number of visits.
    TypeError
        An argument is no number.
    """
    value = at_least_zero("throughput_per_s", throughput_per_s) * at_least_zero("visits", visits)
    return Prediction(
        method="forced flow law",
        source=SOURCE,
        quantities=(Quantity("throughput_per_s", value, "1/s"),),
        assumptions=(BALANCE,),
    )


INDEPENDENT = Assumption("a demand does not depend on how many are in the system")
PRODUCT_FORM = Assumption("the network has a product form: PS, or FCFS with exponential service")


def asymptotic(demands_s: Sequence[float], users: int, think_s: float = 0.0) -> Prediction:
    r"""Asymptotic bounds of a closed system.

    .. math:: \frac{N}{N D + Z} \le X \le \min\left(\frac1{D_{max}}, \frac{N}{D + Z}\right), \quad
              N^* = \frac{D + Z}{D_{max}}

    with the sum D of the demands and the largest, :math:`D_{max}`; R follows by N / X - Z. `saturation_users`
    is N*, the number of users at which the two upper bounds meet. Muntz and Wong (1974).

    Parameters
    ----------
    demands_s : sequence of float
        Service time of an interaction at each station, over all its visits [s].
    users : int
        N.
    think_s : float
        Mean think time Z [s].

    Raises
    ------
    InputError
        No demand above 0, a negative time, or fewer than one user.
    TypeError
        An argument is of the wrong kind.
    """
    total, largest = _demands(demands_s)
    think = at_least_zero("think_s", think_s)
    low = count("users", users) / (users * total + think)
    high = min(1.0 / largest, users / (total + think))
    source = "Muntz and Wong, Princeton Conference on Information Sciences and Systems (1974)"
    return _between("asymptotic bounds", source, (low, high), users, think, (total, largest), (INDEPENDENT,))


def balanced_job(demands_s: Sequence[float], users: int, think_s: float = 0.0) -> Prediction:
    r"""Balanced job bounds of a closed system: narrower than the asymptotic ones.

    .. math:: \frac{N}{D + Z + \frac{(N-1) D_{max}}{1 + Z / (N D)}} \le X \le
              \min\left(\frac1{D_{max}}, \frac{N}{D + Z + \frac{(N-1) D / K}{1 + Z / D}}\right)

    over the K stations. Zahorjan, Sevcik, Eager and Galler, Communications of the ACM 25 (1982), 134-141.
    Parameters are those of `asymptotic`.

    Raises
    ------
    InputError
        No demand above 0, a negative time, or fewer than one user.
    TypeError
        An argument is of the wrong kind.
    """
    total, largest = _demands(demands_s)
    think = at_least_zero("think_s", think_s)
    waiting = (count("users", users) - 1) * largest / (1.0 + think / (users * total))
    low = users / (total + think + waiting)
    balanced = (users - 1) * (total / len(list(demands_s))) / (1.0 + think / total)
    high = min(1.0 / largest, users / (total + think + balanced))
    source = "Zahorjan, Sevcik, Eager and Galler, CACM 25 (1982)"
    needed = (INDEPENDENT, PRODUCT_FORM)
    return _between("balanced job bounds", source, (low, high), users, think, (total, largest), needed)


def _demands(demands_s: Sequence[float]) -> tuple[float, float]:
    """Sum and largest of the demands."""
    items = arguments.sequence(demands_s, "demands_s", "a list of times")
    demands = [at_least_zero(f"demands_s[{index}]", demand) for index, demand in enumerate(items)]
    if not any(demands):
        raise InputError(f"demands_s is {items}; give a demand above 0")
    return math.fsum(demands), max(demands)


def _between(
    method: str,
    source: str,
    throughput: tuple[float, float],
    users: int,
    think_s: float,
    demands: tuple[float, float],
    assumptions: tuple[Assumption, ...],
) -> Prediction:
    low, high = throughput
    total, largest = demands
    quantities = (
        Quantity("throughput_low_per_s", low, "1/s"),
        Quantity("throughput_high_per_s", high, "1/s"),
        Quantity("response_low_s", users / high - think_s, "s"),
        Quantity("response_high_s", users / low - think_s, "s"),
        Quantity("saturation_users", (total + think_s) / largest, "user"),
    )
    return Prediction(method=method, source=source, quantities=quantities, assumptions=assumptions)
