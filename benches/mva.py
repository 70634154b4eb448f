"""Mean value analysis of closed networks from Python, beside a C program."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable
from functools import partial
from typing import Any

from programs import build_c, least_in_turn, own_cpu_seconds

from thinktime.models.queueing.approximations import linearizer
from thinktime.models.queueing.networks import Station, mva, mva_classes
from thinktime.models.sizing import Machine, Work, course

DEMANDS = [0.005, 0.004, 0.0033, 0.002, 0.001]
THINK_S, USERS = 0.5, 1000
ROUNDS, CALLS = 9, 500
THINKS_S = [2.0 + 4.0 * k for k in range(10)]
"""Think times of a surface."""


def surface() -> None:
    """Ten numbers of CPUs by ten think times by a hundred numbers of users: 10 000 predictions."""
    for cpus in range(1, 11):
        for think in THINKS_S:
            course(Work(think_s=think, cpu_s=0.3, delay_s=0.2, serial_s=0.02), Machine(cpus=cpus), 100)


def run() -> list[dict[str, Any]]:
    """CPU time of a solution, least of several rounds taken in turn."""
    program = build_c("mva")

    def reference() -> float:
        return float(subprocess.check_output([program, str(CALLS)]).split()[0])

    def ours(solve: Callable[[], object], calls: int) -> float:
        return own_cpu_seconds(lambda: [solve() for _ in range(calls)]) / calls

    several = [Station("cpus", 0.04, servers=16), *DEMANDS]
    classes = [Station(str(k), (demand, 2 * demand, demand / 2)) for k, demand in enumerate(DEMANDS)]
    users, think = [30, 30, 30], [0.1, 0.2, 0.3]
    four = [Station(str(k), (demand, 2 * demand, demand / 2, demand)) for k, demand in enumerate(DEMANDS)]
    delay = [*classes, Station("network", (0.1, 0.1, 0.1), servers=math.inf)]
    works: dict[str, tuple[Callable[[], object], int]] = {
        "exact MVA, 5 stations, 1000 users": (partial(mva, DEMANDS, USERS, THINK_S), CALLS),
        "the same, all numbers of users": (partial(mva, DEMANDS, USERS, THINK_S, course=True), CALLS),
        "the same with 16 processors": (partial(mva, several, USERS, THINK_S), 5),
        "exact MVA, 5 stations, 3 classes of 30 users": (partial(mva_classes, classes, users, think), 5),
        "exact MVA, 5 stations, 4 classes of 50 users": (
            partial(mva_classes, four, [50] * 4, [*think, 0.4]),
            1,
        ),
        "10 000 predictions of thinktime size": (surface, 1),
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
