"""The general model of the runs of Tables VI and VII: what is calibrated, and what comes out.

Of what is calibrated:

* A file transfer takes Tblock (Table V). One swap takes an access for every track that a process fills and
  the transfer of all of it; the access is what Table IV leaves of the measured time of a process that fills
  one track. That a longer one takes more accesses is a choice made with the rows of 314 clicks in sight,
  whose utilisation and swaps imply such a time: with Table IV alone, which has about one access at every
  size, nearly all of their elapsed times come out 4 to 16 % short. The simulated machine loses nearly as much
  under load, to revolutions where images cross cylinders.
* Four numbers are fitted to what was measured of ten runs, those of 157 clicks with 650 and 1280 clicks of
  memory in Table VI: the mean pause, the file transfers of an interaction, the part of them that nobody waits
  for, and the time between two requests at the controller. `fitted` fits them anew.
* The system's CPU time in an interaction is set: the ten runs do as well with 0.04 as with 0.08 s. Of the
  rows that are predicted, (157, 354, 12, 8) says that it is less than 0.073 s, for the CPU is then always
  busy.
* That a process which comes back from the disk waits for those that compute follows from how Sixth Edition
  sets priorities; it was put in after rows with PC from 186 ms had come out 3 to 18 % short without it.
* Tried and left out: a block time that falls with the queue, as seeks do under LOOK. The ten runs are
  described worse the more it falls, while the predicted ones with the shortest queues would come out better.

All else is prediction, in the sense that no number was fitted to it; every row was seen before the model was
complete.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from thinktime.models.prediction import Prediction
from thinktime.models.swapping.response_time import Swapping, predict
from thinktime.models.swapping.swap_disk import CLICK_BYTES
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983.recomputed import COUNTS, printed
from thinktime.studies.brachman_1983.runs import (
    BLOCK_TIME,
    CASES,
    DISK,
    INTERACTIONS,
    LOOPS,
    RESPONSES,
    SWAP_TIMES,
    Case,
)

LEVEL = 0.95
BLOCK_CLICKS = 8
ONE_TRACK = 157
"""Clicks of the process that fills one track: 20 blocks."""
WEIGHTS = {"elapsed_s": 0.05, "controller_utilization_percent": 4.0, "qdisk": 0.8, "nswaps": 0.20}
"""Allowed error of a run: parts of elapsed time (the thesis's own error) and swaps, points, requests."""
FITTED = 4
"""Numbers that are fitted."""
SWAPS_LEAST = 500.0
"""Runs with fewer swaps say little of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """Parameters that no table of the thesis gives."""

    think_s: float
    """Mean pause."""
    blocks: float
    """File transfers of an interaction."""
    behind: float
    """Part of them that nobody waits for: delayed writes and blocks read ahead."""
    gap_s: float
    """From the end of a request at the controller to the start of the next that waits."""
    system_s: float
    """CPU time of the system in an interaction."""


CALIBRATED = Calibrated(think_s=0.960, blocks=5.18, behind=0.457, gap_s=0.0027, system_s=0.06)
"""As `fitted` finds them; `system_s` is set."""


def block_time_s() -> float:
    """Time of one file transfer: Tblock of Table V."""
    return 1e-3 * printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms")


def swap_time_s(clicks: int) -> float:
    """Time of one swap, one way: an access for each track, and the transfer."""
    byte_s = 1e-6 * printed(DISK, "characteristic", "transfer_time_average", "value")
    track = printed(DISK, "characteristic", "blocks_512_byte_per_track", "value")
    one_s = 1e-3 * printed(SWAP_TIMES, "ps_clicks", ONE_TRACK, "measured_ms")
    access_s = one_s - ONE_TRACK * CLICK_BYTES * byte_s
    tracks = math.ceil(math.ceil(clicks / BLOCK_CLICKS) / track)
    return tracks * access_s + clicks * CLICK_BYTES * byte_s


def _compute_variation(pc_ms: int) -> float:
    """Coefficient of variation of the compute loop, from Table III."""
    cumulative = [printed(LOOPS, "pc_ms", pc_ms, f"iterations_{count}_percent") / 100.0 for count in COUNTS]
    parts = [high - low for low, high in zip((0.0, *cumulative), cumulative, strict=False)]
    mean = sum(part * count for part, count in zip(parts, COUNTS, strict=True))
    square = sum(part * count**2 for part, count in zip(parts, COUNTS, strict=True))
    return math.sqrt(square / mean**2 - 1.0)


def system(case: Case, calibrated: Calibrated = CALIBRATED, **changes: Any) -> Swapping:
    """One run as the model takes it.

    Parameters
    ----------
    case : Case
    calibrated : Calibrated
    changes
        Fields of `Swapping` that differ.
    """
    result = Swapping(
        processes=case.pn,
        memory=case.mm_clicks,
        size=case.sizes_clicks,
        blocks=calibrated.blocks,
        block_time_s=block_time_s(),
        swap_time_s=tuple(swap_time_s(size) for size in case.sizes_clicks),
        compute_s=1e-3 * case.pc_ms,
        system_s=calibrated.system_s,
        think_s=calibrated.think_s,
        interactions=INTERACTIONS,
        behind=calibrated.behind,
        gap_s=calibrated.gap_s,
        compute_variation=_compute_variation(case.pc_ms),
    )
    return replace(result, **changes)


def predicted(case: Case, calibrated: Calibrated = CALIBRATED) -> Prediction:
    """Predict one run of Table VI or VII."""
    return predict(system(case, calibrated))


def measures(found: Prediction) -> dict[str, float]:
    """A prediction in the columns of Tables VI and VII."""
    return {
        "qdisk": float(found["queue_length"]),
        "nswaps": float(found["swaps"]),
        "controller_utilization_percent": 100.0 * float(found["controller_utilisation"]),
        "elapsed_s": float(found["elapsed_s"]),
    }


@cache
def every() -> tuple[tuple[Case, dict[str, float]], ...]:
    """All 46 runs with what the model predicts of them, in the columns of the tables."""
    return tuple((case, measures(predicted(case))) for case in CASES)


def off(case: Case, ours: dict[str, float], quantity: str) -> float | None:
    """Error of the model in units of `WEIGHTS`; None where nothing is printed."""
    published = case.published(quantity)
    if published is None:
        return None
    if quantity in ("qdisk", "controller_utilization_percent"):
        return (ours[quantity] - published) / WEIGHTS[quantity]
    if quantity == "nswaps" and published <= SWAPS_LEAST:
        return None
    return math.log(ours[quantity] / published) / WEIGHTS[quantity]


def fitted() -> Calibrated:
    """Calibration of all but the system's CPU time to ten runs, by least squares of `off`."""
    import numpy as np
    from scipy.optimize import least_squares

    runs = [case for case in CASES if case.kind == "fitted"]

    def residuals(values: Any) -> Any:
        tried = _of(values)
        result = [(case, measures(predicted(case, tried))) for case in runs]
        distances = (off(case, ours, quantity) for case, ours in result for quantity in RESPONSES)
        return np.array([distance for distance in distances if distance is not None])

    return _of(least_squares(residuals, [1.0, 5.0, 0.5, 0.002], diff_step=1e-3, x_scale="jac").x)


def _of(values: Any) -> Calibrated:
    think_s, blocks, behind, gap_s = (float(value) for value in values)
    return Calibrated(
        think_s=think_s, blocks=blocks, behind=behind, gap_s=gap_s, system_s=CALIBRATED.system_s
    )


@cache
def interval_part() -> float:
    r"""Half the interval of a predicted elapsed time, as a difference of logarithms.

    .. math:: t_{n-4}\, s \sqrt{1 + 1/n}

    with s the deviation of :math:`\ln(T / T_{measured})` over the n runs that four numbers were fitted to:
    how far a further run is off if the model is as good there.
    """
    from scipy.stats import t

    runs = [(case, ours) for case, ours in every() if case.kind == "fitted"]
    distances = [off(case, ours, "elapsed_s") or 0.0 for case, ours in runs]
    n = len(distances)
    deviation = WEIGHTS["elapsed_s"] * math.sqrt(sum(item**2 for item in distances) / (n - FITTED))
    return float(t.ppf(0.5 + LEVEL / 2.0, n - FITTED)) * deviation * math.sqrt(1.0 + 1.0 / n)


def elapsed(case: Case) -> Estimate:
    """Elapsed time of a run by the general model, with the interval of `interval_part`."""
    return known_to(float(predicted(case)["elapsed_s"]), "s")


def known_to(value: float, unit: str) -> Estimate:
    """A time or a throughput of the model its interval."""
    factor = math.exp(interval_part())
    runs = sum(case.kind == "fitted" for case in CASES)
    return Estimate(
        value=value,
        unit=unit,
        n=runs,
        method="general model",
        low=value / factor,
        high=value * factor,
        level=LEVEL,
    )
