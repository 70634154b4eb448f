"""How far are predictions off by the shortness of recordings alone: a simulated machine that is the model.

    python scripts/validate_sampling.py

Users compute for 40 ms and think for 0.4 s on two CPUs and on one, as those of the load `cpu` of validate.py;
twice their number is predicted from each of 14 recordings of 16 s, and compared with the mean of three
recordings.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from thinktime.log import Log
from thinktime.models.sizing import fit
from thinktime.predictions.size.measured import Measured, measured
from thinktime.sources.simulated import simulate

THINK_S, SERVICE_S, LENGTH_S = 0.4, 0.04, 16
RECORDINGS, REPETITIONS, TRUTH_SEED = 14, 3, 9000
RESPONSE, THROUGHPUT = 0.15, 0.05
"""Relative errors to stay within, as in validate.py."""


def recorded(users: int, cpus: int, seeds: list[int]) -> Measured:
    """What recordings of so many users say."""
    station = {"name": "cpu", "discipline": "processor_sharing", "servers": cpus}
    given = {
        "users": users,
        "think": f"exponential(mean={THINK_S})",
        "length": LENGTH_S,
        "interval": 1.0,
        "stations": [station | {"service": f"exponential(mean={SERVICE_S})"}],
    }
    with tempfile.TemporaryDirectory() as folder:
        logs = []
        for seed in seeds:
            path = Path(folder) / str(seed)
            simulate("network", given, seed=seed, threads=1).record(path, trace=True)
            logs.append(Log.open(path))
        found = measured(logs, [str(seed) for seed in seeds])
    assert isinstance(found, Measured)
    return found


def main() -> int:
    """Status 0 when the counts were printed."""
    rows = []
    for cpus in (2, 1):
        for users in (5, 10, 20):
            seeds = [TRUTH_SEED + 100 * users + number for number in range(REPETITIONS)]
            truth = recorded(2 * users, cpus, seeds).stretches[0]
            for number in range(RECORDINGS):
                found = recorded(users, cpus, [1000 * number + users])
                courses = fit(found.levels(), found.machine).courses(found.machine, 2 * users)
                predicted = courses.response_s[:, -1], courses.throughput_per_s[:, -1]
                errors = [
                    float(np.median(ours)) / theirs.value - 1.0
                    for ours, theirs in zip(predicted, (truth.response, truth.throughput), strict=True)
                ]
                rows.append([users, *errors, found.stretches[0].think.value / THINK_S - 1.0])
    found_ = np.array(rows)
    response, throughput = np.abs(found_[:, 1]) <= RESPONSE, np.abs(found_[:, 2]) <= THROUGHPUT
    print(f"{len(rows)} doublings: {response.sum()} mean responses, {throughput.sum()} throughputs reached")
    few = found_[found_[:, 0] == 5]
    together = np.corrcoef(few[:, 2], few[:, 3])[0, 1]
    print(
        f"from 5 users: think times {100 * few[:, 3].std():.0f} % off; correlation of the errors of the "
        f"throughput with them {together:.2f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
