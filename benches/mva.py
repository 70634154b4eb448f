"""Mean value analysis of closed networks from Python, beside a C program."""

from __future__ import annotations

import math
import subprocess
from functools import partial
from typing import Any

from programs import build_c, least_in_turn, own_cpu_seconds

from thinktime.models.queueing.approximations import linearizer
from thinktime.models.queueing.networks import Station, mva, mva_classes

DEMANDS = [0.005, 0.004, 0.0033, 0.002, 0.001]
THINK_S, USERS = 0.5, 1000
ROUNDS, CALLS = 9, 500


def run() -> list[dict[str, Any]]:
    """CPU time of a solution, least of several rounds taken in turn."""
    program = build_c("mva")

    def reference() -> float:
        return float(subprocess.check_output([program, str(CALLS)]).split()[0])

    def ours(solve: partial[object], calls: int) -> float:
        return own_cpu_seconds(lambda: [solve() for _ in range(calls)]) / calls

    several = [Station("cpus", 0.04, servers=16), *DEMANDS]
    classes = [Station(str(k), (demand, 2 * demand, demand / 2)) for k, demand in enumerate(DEMANDS)]
    users, think = [30, 30, 30], [0.1, 0.2, 0.3]
    delay = [*classes, Station("network", (0.1, 0.1, 0.1), servers=math.inf)]
    works = {
        "exact MVA, 5 stations, 1000 users": (partial(mva, DEMANDS, USERS, THINK_S), CALLS),
        "the same, all numbers of users": (partial(mva, DEMANDS, USERS, THINK_S, course=True), CALLS),
        "the same with 16 processors": (partial(mva, several, USERS, THINK_S), 5),
        "exact MVA, 5 stations, 3 classes of 30 users": (partial(mva_classes, classes, users, think), 5),
        "linearizer, 6 stations, 3 classes of 30 users": (partial(linearizer, delay, users, think), 5),
    }
    c_s, *figures = least_in_turn(ROUNDS, reference, *(partial(ours, *work) for work in works.values()))
    rows = [
        {
            "work": work,
            "unit": "ms CPU",
            "ours": 1e3 * seconds,
            "reference": None,
            "reference_name": None,
            "ratio": None,
        }
        for work, seconds in zip(works, figures, strict=True)
    ]
    # The C program does the first of these works; the others have nothing beside them.
    rows[0] |= {
        "reference": 1e3 * c_s,
        "reference_name": "C: the textbook's recursion",
        "ratio": c_s / figures[0],
    }
    return rows
