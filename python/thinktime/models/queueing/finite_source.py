"""Machine repairman model: a finite number of users who think, and one station that serves them."""

from __future__ import annotations

import numpy as np

from thinktime import _native
from thinktime.errors import InputError
from thinktime.models.prediction import Assumption, Prediction, Quantity, at_least_zero, count, positive

DISCIPLINES = ("fcfs", "ps")


def exponential_if_fcfs(discipline: str, variation: float | None, where: str = "") -> Assumption:
    """Condition of product form on a station whose service times have this coefficient of variation."""
    if discipline == "ps":
        return Assumption(f"the station{where} is shared; its service times may have any distribution", True)
    met = None if variation is None else variation == 1.0
    return Assumption(f"service times{where} are exponential, as first come first served needs", met)


def machine_repairman(
    users: int,
    think_s: float,
    service_s: float,
    servers: int = 1,
    *,
    discipline: str = "fcfs",
    variation: float | None = None,
) -> Prediction:
    r"""Prediction for users who think and wait for one station: M/M/c//N.

    .. math:: p_j \propto \prod_{i=1}^{j} \frac{(N - i + 1) S}{Z \min(i, c)}, \quad
              X = \frac1S \sum_j p_j \min(j, c), \quad R = \frac NX - Z

    The distribution of think times has no influence, nor, when the station is shared (`discipline` ``"ps"``),
    has that of service times. Scherr, *An Analysis of Time-Shared Computer Systems* (1967).

    Parameters
    ----------
    users, servers : int
        Numbers of users and servers.
    think_s, service_s : float
        Mean think time and mean service time, in seconds.
    discipline : str
        ``"fcfs"`` or ``"ps"``.
    variation : float, optional
        Coefficient of variation of the service times, if known.

    Raises
    ------
    InputError
        Fewer than one user or server, a negative think time, a service time not above 0, or an unknown
        discipline.
    TypeError
        An argument is of the wrong kind.
    """
    if not isinstance(discipline, str) or discipline not in DISCIPLINES:
        raise InputError(f"discipline is {discipline!r}; give one of {', '.join(DISCIPLINES)}")
    think, service = at_least_zero("think_s", think_s), positive("service_s", service_s)
    rates = [float(busy) for busy in range(1, min(count("servers", servers), count("users", users)) + 1)]
    if variation is not None:
        at_least_zero("variation", variation)
    throughputs, _, numbers = _native.mva_rates([], think, [service], [rates], users)
    throughput, number = float(np.frombuffer(throughputs)[-1]), float(np.frombuffer(numbers)[-1])
    quantities = (
        Quantity("utilisation", throughput * service / servers, ""),
        Quantity("throughput_per_s", throughput, "1/s"),
        Quantity("response_s", number / throughput, "s"),
        Quantity("number", number, "interaction"),
    )
    needed = (
        Assumption("users think independently of each other and of the station"),
        exponential_if_fcfs(discipline, variation),
    )
    source = "Scherr, An Analysis of Time-Shared Computer Systems (1967)"
    return Prediction(
        method=f"machine repairman, {servers} servers",
        source=source,
        quantities=quantities,
        assumptions=needed,
    )
