"""Operational laws: they hold for every system in every interval in which as many leave as come.

Source of all: Denning and Buzen, "The operational analysis of queueing network models", ACM Computing
Surveys 10 (1978), 225-261.
"""

from __future__ import annotations

from thinktime.models.prediction import Assumption, Prediction, Quantity, at_least_zero, count, positive

__all__ = ["forced_flow", "little", "response_time", "utilisation"]

SOURCE = "Denning and Buzen, ACM Computing Surveys 10 (1978)"
BALANCE = Assumption("as many interactions end in the interval as begin")


def utilisation(throughput_per_s: float, service_s: float, servers: int = 1) -> Prediction:
    """Apply the utilisation law: U = X S / m, a fraction of m servers."""
    busy = at_least_zero("throughput_per_s", throughput_per_s) * at_least_zero("service_s", service_s)
    value = busy / count("servers", servers)
    possible = Assumption("the utilisation is at most 1", value <= 1.0)
    return Prediction("utilisation law", SOURCE, (Quantity("utilisation", value, ""),), (BALANCE, possible))


def little(throughput_per_s: float, time_s: float) -> Prediction:
    """Apply Little's law: N = X R, the mean number in any part of a system in which each spends R.

    Little, Operations Research 9 (1961), 383-387.
    """
    number = at_least_zero("throughput_per_s", throughput_per_s) * at_least_zero("time_s", time_s)
    return Prediction("Little's law", SOURCE, (Quantity("number", number, "interaction"),), (BALANCE,))


def response_time(users: float, throughput_per_s: float, think_s: float) -> Prediction:
    """Apply the interactive response time law: R = N / X - Z, seconds."""
    positive("users", users)
    value = users / positive("throughput_per_s", throughput_per_s) - at_least_zero("think_s", think_s)
    possible = Assumption("users, throughput and think time leave a response time from 0 up", value >= 0.0)
    law = "interactive response time law"
    return Prediction(law, SOURCE, (Quantity("response_s", value, "s"),), (BALANCE, possible))


def forced_flow(throughput_per_s: float, visits: float) -> Prediction:
    """Apply the forced flow law: X_k = V_k X, of a station that is visited V_k times."""
    value = at_least_zero("throughput_per_s", throughput_per_s) * at_least_zero("visits", visits)
    return Prediction("forced flow law", SOURCE, (Quantity("throughput_per_s", value, "1/s"),), (BALANCE,))
