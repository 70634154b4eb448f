"""A system whose effects are known, behind the signature of `simulated.simulate`: logs, seeds and all.

A simulated system does not do: the sizes of its effects are not known, and its cells end too soon to be
stopped within. The delay gives them a length.
"""

import time

import numpy as np
import polars as pl

from thinktime.log import LogWriter

UNITS = {"mean_response_s": "s", "completed": "interaction"}
SHIFT = {"modified": 0.4, "fb2": 0.3, "fb_infinity": 0.0}


class StandIn:
    """Replications: response time = scheduler + slice + workload of the replication + noise of the cell."""

    def __init__(self, system, parameters, seed, numbers):
        self.system, self.parameters, self.seed = system, parameters, seed
        rows = [self._one(number) for number in numbers]
        self.responses = pl.DataFrame(rows).with_columns(pl.Series("replication", list(numbers)))

    def _one(self, number):
        workload = np.random.default_rng([self.seed, number]).normal()
        address = f"{self.parameters['scheduler']}{self.parameters['time_slice']}".encode()
        noise = np.random.default_rng([self.seed, number, *address]).normal()
        mean = SHIFT[self.parameters["scheduler"]] + self.parameters["time_slice"]
        return {
            "mean_response_s": float(2.0 + mean + 0.3 * workload + 0.05 * noise),
            "completed": float(round(600 - 50 * mean - 20 * workload)),
        }

    def record(self, path, *, trace, mode, progress):
        for done, row in enumerate(self.responses.iter_rows(named=True)):
            self._session(path, row, trace, mode if done == 0 else "resume")
            progress(done + 1)

    def _session(self, path, row, trace, mode):
        options = {"seed": self.seed, "replication": row["replication"], "trace": trace}
        machine = {"system": self.system, "parameters": self.parameters}
        with LogWriter.open(path, mode=mode, source=self.system, machine=machine, options=options) as log:
            log.set("replication", self._facts(row))

    def _facts(self, row):
        described = [
            {"name": name, "value": row[name], "unit": unit, "description": name}
            for name, unit in UNITS.items()
        ]
        return {"number": row["replication"], "warm_up_s": 0.0, "responses": described}


def simulate(
    system,
    parameters,
    *,
    seed,
    replications,
    first_replication=0,
    threads=None,
    limits=None,
    progress=None,
    delay_s=0.0,
):
    for done in range(replications):
        time.sleep(delay_s)
        if progress is not None:
            progress(done)
    return StandIn(system, parameters, seed, range(first_replication, first_replication + replications))
