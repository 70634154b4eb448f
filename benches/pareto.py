"""The maximal points of many, beside paretoset (compiled by numba where that is installed)."""

from __future__ import annotations

import importlib.util
from typing import Any

from programs import least_in_turn, own_cpu_seconds

CASES = (
    ("uniform", 1_000_000, 2),
    ("uniform", 1_000_000, 3),
    ("uniform", 1_000_000, 5),
    ("anticorrelated", 1_000_000, 2),
    ("anticorrelated", 1_000_000, 3),
    ("anticorrelated", 1_000_000, 5),
    ("uniform", 10_000_000, 2),
    ("uniform", 10_000_000, 3),
    ("uniform", 10_000_000, 5),
    ("anticorrelated", 10_000_000, 2),
    ("anticorrelated", 10_000_000, 3),
)
"""Ten million anticorrelated points in five dimensions are left out: paretoset takes some ten minutes."""
ROUNDS = {1_000_000: 5, 10_000_000: 2}
SLOW = ("anticorrelated", 1_000_000, 5)


def points(kind: str, count: int, dimensions: int) -> Any:
    """Independent coordinates, or such that who has more of one has less of another.

    Anticorrelated points as in Börzsönyi, Kossmann and Stocker 2001, *The Skyline Operator*: close to a
    plane, spread along it.
    """
    import numpy as np

    random = np.random.default_rng(1971)
    if kind == "uniform":
        return random.random((count, dimensions))
    made = np.empty((count, dimensions))
    have = 0
    while have < count:
        level = np.clip(random.normal(0.5, 0.05, min(count - have, 1 << 20)), 0.0, 1.0)
        reach = np.minimum(level, 1.0 - level)
        rows = np.repeat(level[:, None], dimensions, axis=1)
        for k in range(dimensions):
            shift = random.uniform(-1.0, 1.0, len(rows)) * reach
            rows[:, k] += shift
            rows[:, (k + 1) % dimensions] -= shift
        rows = rows[((rows >= 0.0) & (rows <= 1.0)).all(axis=1)]
        made[have : have + len(rows)] = rows
        have += len(rows)
    return made


def run() -> list[dict[str, Any]]:
    """CPU seconds, least of several rounds taken in turn; both must find the same points."""
    from thinktime.stats.frontier import maximal

    peer = _paretoset()
    rows = []
    for kind, count, dimensions in CASES:
        data = points(kind, count, dimensions)
        slow = (kind, count, dimensions) == SLOW
        found = maximal(data)
        ours = [lambda data=data: own_cpu_seconds(lambda: maximal(data))]
        times, reference = [], None
        if peer is not None:
            opposite = -data  # it looks for the least
            find, name = peer
            if not slow:
                assert find(opposite).nonzero()[0].tolist() == found.tolist()
            ours.append(lambda data=opposite, find=find: own_cpu_seconds(lambda: find(data)))
            times = least_in_turn(1 if slow else ROUNDS[count], *ours)
            reference = times[1]
        else:
            times = least_in_turn(ROUNDS[count], *ours)
        rows.append(
            {
                "work": f"{len(found)} maximal of {count:.0e} {kind} points, {dimensions}-d",
                "unit": "s CPU",
                "ours": times[0],
                "reference": reference,
                "reference_name": name if peer is not None else None,
                "ratio": None if reference is None else reference / times[0],
            }
        )
    return rows


def _paretoset() -> tuple[Any, str] | None:
    """Function of paretoset and what to call it; None where it is not installed."""
    if importlib.util.find_spec("paretoset") is None:
        return None
    import numpy as np
    from paretoset import paretoset

    compiled = importlib.util.find_spec("numba") is not None
    paretoset(np.random.default_rng(1).random((100, 3)))  # compiles it
    return paretoset, "paretoset with numba" if compiled else "paretoset with NumPy"


if __name__ == "__main__":
    for row in run():
        print(row, flush=True)
