"""The general model on every run of Tables VI and VII: no saturation needed, nothing simulated.

What is calibrated, and against what:

* A file transfer takes Tblock (Table V). One swap takes an access for every track that a process fills and the
  transfer of all of it; the access is what Table IV leaves of the measured time of a process that fills one
  track. That a longer one takes more accesses (the controller does not transfer across the end of a track) is
  a choice made with the rows of 314 clicks in sight: Table IV alone, which has one access at every size, leaves
  their elapsed times 5 to 12 % short.
* Three numbers are fitted to what was measured of ten runs, those of 157 clicks with 650 and 1280 clicks of
  memory in Table VI: the mean pause, the file transfers of an interaction, and the part of them that nobody
  waits for. `fitted` fits them anew.
* The system's CPU time in an interaction is set: the ten runs do as well with 0.04 as with 0.08 s. Of the rows
  that are predicted, (157, 354, 12, 8) says that it is less than 0.073 s, for the CPU is then always busy.
* That a process which comes back from the disk waits for those that compute follows from how Sixth Edition
  sets priorities; it was put in after the rows with PC from 186 ms had come out 12 to 22 % short without it.

All else is prediction, in the sense that no number was fitted to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from thinktime.models import ratio
from thinktime.models.prediction import Prediction
from thinktime.models.swap_disk import CLICK_BYTES, Configuration
from thinktime.models.swapping import Swapping, predict
from thinktime.reports.compared import Finding
from thinktime.reports.document import Cell, Column, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983.machine import INTERACTIONS
from thinktime.studies.brachman_1983.recomputed import COUNTS, printed
from thinktime.studies.brachman_1983.tables import (
    BLOCK_TIME,
    CASES,
    DISK,
    FACTORIAL,
    LOOPS,
    MEASURED,
    NAME,
    SWAP_TIMES,
    Case,
)
from thinktime.studies.study import Chapter

__all__ = [
    "CALIBRATED",
    "GOOD",
    "Calibrated",
    "chapter",
    "elapsed",
    "equation",
    "fitted",
    "interval_part",
    "predicted",
    "swap_time_s",
    "system",
]

GOOD = 0.12
"""A prediction within this part of the measured time is called good."""
LEVEL = 0.95
BLOCK_CLICKS = 8
ONE_TRACK = 157
"""Clicks of the process that fills one track: 20 blocks."""
WEIGHTS = {"elapsed_s": 0.05, "controller_utilization_percent": 4.0, "qdisk": 0.8, "nswaps": 0.20}
"""What a run may be off by: parts of elapsed time (the thesis's own error) and swaps, points, requests."""
SWAPS_LEAST = 500.0
"""Runs with fewer swaps say little of them."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """What no table of the thesis says.

    Parameters
    ----------
    think_s : float
        Mean pause.
    blocks : float
        File transfers of an interaction.
    behind : float
        Part of them that nobody waits for: delayed writes and blocks read ahead.
    system_s : float
        CPU time of the system in an interaction.
    """

    think_s: float
    blocks: float
    behind: float
    system_s: float


CALIBRATED = Calibrated(think_s=1.053, blocks=5.41, behind=0.494, system_s=0.06)
"""As `fitted` finds them; `system_s` is set."""


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
    found = Swapping(
        processes=case.pn,
        memory=case.mm_clicks,
        size=case.sizes_clicks,
        blocks=calibrated.blocks,
        block_time_s=1e-3 * printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms"),
        swap_time_s=tuple(swap_time_s(size) for size in case.sizes_clicks),
        compute_s=1e-3 * case.pc_ms,
        system_s=calibrated.system_s,
        think_s=calibrated.think_s,
        interactions=INTERACTIONS,
        behind=calibrated.behind,
        compute_variation=_compute_variation(case.pc_ms),
    )
    return replace(found, **changes)


def predicted(case: Case, calibrated: Calibrated = CALIBRATED) -> Prediction:
    """Predict one run of Table VI or VII."""
    return predict(system(case, calibrated))


def measures(found: Prediction) -> dict[str, float]:
    """Give a prediction in the columns of Tables VI and VII."""
    return {
        "qdisk": float(found["queue_length"]),
        "nswaps": float(found["swaps"]),
        "controller_utilization_percent": 100.0 * float(found["controller_utilisation"]),
        "elapsed_s": float(found["elapsed_s"]),
    }


@cache
def _all() -> tuple[tuple[Case, dict[str, float]], ...]:
    return tuple((case, measures(predicted(case))) for case in CASES)


def off(case: Case, ours: dict[str, float], quantity: str) -> float | None:
    """How far the model is off in units of `WEIGHTS`; None where nothing is to compare with."""
    published = case.published(quantity)
    if published is None:
        return None
    if quantity in ("qdisk", "controller_utilization_percent"):
        return (ours[quantity] - published) / WEIGHTS[quantity]
    if quantity == "nswaps" and published <= SWAPS_LEAST:
        return None
    return math.log(ours[quantity] / published) / WEIGHTS[quantity]


def fitted() -> Calibrated:
    """Fit pause, transfers and the part behind to the ten calibration runs, by least squares of `off`."""
    import numpy as np
    from scipy.optimize import least_squares

    runs = [case for case in CASES if case.kind == "fitted"]

    def residuals(values: Any) -> Any:
        think_s, blocks, behind = (float(value) for value in values)
        tried = Calibrated(think_s, blocks, behind, CALIBRATED.system_s)
        found = [(case, measures(predicted(case, tried))) for case in runs]
        distances = (off(case, ours, quantity) for case, ours in found for quantity in MEASURED)
        return np.array([distance for distance in distances if distance is not None])

    solved = least_squares(residuals, [1.0, 5.0, 0.5], diff_step=1e-3)
    think_s, blocks, behind = (float(value) for value in solved.x)
    return Calibrated(think_s, blocks, behind, CALIBRATED.system_s)


@cache
def interval_part() -> float:
    r"""Half the interval of a predicted elapsed time, as a difference of logarithms.

    .. math:: t_{n-3}\, s \sqrt{1 + 1/n}

    with s the deviation of :math:`\ln(T / T_{measured})` over the n runs that three numbers were fitted to: how
    far a further run is off if the model is as good there.
    """
    from scipy.stats import t

    runs = [(case, ours) for case, ours in _all() if case.kind == "fitted"]
    distances = [off(case, ours, "elapsed_s") or 0.0 for case, ours in runs]
    n = len(distances)
    deviation = WEIGHTS["elapsed_s"] * math.sqrt(sum(each**2 for each in distances) / (n - 3))
    return float(t.ppf(0.5 + LEVEL / 2.0, n - 3)) * deviation * math.sqrt(1.0 + 1.0 / n)


def elapsed(case: Case) -> Estimate:
    """Elapsed time of a run by the general model, with the interval of `interval_part`."""
    value = float(predicted(case)["elapsed_s"])
    factor = math.exp(interval_part())
    runs = sum(each.kind == "fitted" for each in CASES)
    return Estimate(value, "s", runs, "general model", value / factor, value * factor, LEVEL)


def equation(case: Case) -> float | None:
    """Elapsed time by equation 3.1 and its extensions, from the run (157, 12, 12, 4) with the least memory.

    Table IV's swap times, no swaps where all fit. None where another burst asks for a queue length that was
    not measured.
    """
    base = next(each for each in CASES if (each.table, each.sizes_clicks, each.pn) == (FACTORIAL, (157,), 12))
    burst = case.pc_ms != base.pc_ms
    if burst and case.published("qdisk") is None:
        return None
    try:
        return float(ratio.predict(_machine(base, burst), _machine(case, burst))["elapsed_b_s"])
    except KeyError:
        return None


def _machine(case: Case, burst: bool) -> Configuration:
    swaps = [1e-3 * printed(SWAP_TIMES, "ps_clicks", size, "measured_ms") for size in case.sizes_clicks]
    return Configuration(
        block_time_s=1e-3 * printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms"),
        swap_time_s=0.0 if case.nl == case.pn else sum(swaps) / len(swaps),
        loaded=case.nl,
        processes=case.pn,
        burst_s=1e-3 * case.pc_ms,
        queue_length=case.published("qdisk") if burst else None,
        elapsed_s=case.published("elapsed_s"),
    )


def chapter(_: object) -> Chapter:
    """Every run by the general model, and what it says of machines that were not measured."""
    errors = {
        case: ours["elapsed_s"] / published - 1.0
        for case, ours in _all()
        if (published := case.published("elapsed_s")) is not None
    }
    worst = max(errors, key=lambda case: abs(errors[case]))
    good = sum(abs(error) <= GOOD for error in errors.values())
    new = {case: error for case, error in errors.items() if case.kind == "predicted"}
    summary = (
        "A closed network of disk, CPU and pauses, in which only so many processes as fit into memory can be "
        "at work; it asks for no saturated disk, and says when processes are swapped instead of being told.",
        f"{good} of {len(errors)} measured elapsed times are within {100 * GOOD:.0f} %; of the {len(new)} that "
        f"nothing was fitted to, the mean is off by {100 * sum(new.values()) / len(new):+.1f} %, and the root "
        f"mean square is {100 * math.sqrt(sum(e**2 for e in new.values()) / len(new)):.1f} %.",
        f"Worst: {worst.words}, {100 * errors[worst]:+.1f} %. {_why(worst)}",
    )
    return Chapter(
        (),
        (_finding(errors),),
        summary,
        tables=(_runs(), _what_if()),
        method=(
            "Decomposition: mean value analysis of the loaded processes with each number of them at work, then "
            "the balance of a Markov chain over where the processes are. Pause, transfers of an interaction and "
            f"the part of them behind ({CALIBRATED.think_s:g} s, {CALIBRATED.blocks:g}, {CALIBRATED.behind:g}) "
            "are fitted to the ten runs of 157 clicks with 650 and 1280 clicks of memory; the system's CPU time "
            f"in an interaction is set to {CALIBRATED.system_s:g} s. Intervals are those of a further run, from "
            "how far the ten are off."
        ),
    )


def _why(case: Case) -> str:
    """Set what the published figures of a run say of the disk against what the model has."""
    time_s, busy, swaps = (
        case.published(name) for name in ("elapsed_s", "controller_utilization_percent", "nswaps")
    )
    if time_s is None or busy is None or swaps is None:
        return ""
    ours = measures(predicted(case))
    work = INTERACTIONS * case.pn
    theirs_s = 0.01 * busy * time_s / work
    ours_s = 0.01 * ours["controller_utilization_percent"] * ours["elapsed_s"] / work
    return (
        f"Its printed figures have the controller busy for {1e3 * theirs_s:.0f} ms an interaction with "
        f"{swaps / work:.2f} swaps in it, {busy:.0f} % of the time; the model has {1e3 * ours_s:.0f} ms, "
        f"{ours['nswaps'] / work:.2f} and {ours['controller_utilization_percent']:.0f} %."
    )


def _finding(errors: dict[Case, float]) -> Finding:
    beyond = [f"{case.words} {100 * error:+.1f} %" for case, error in errors.items() if abs(error) > GOOD]
    return Finding(
        NAME,
        "general-model",
        "asked for in the conclusions",
        not beyond,
        f"{len(errors) - len(beyond)} of {len(errors)} measured runs within {100 * GOOD:.0f} %"
        + (f"; beyond: {'; '.join(beyond)}" if beyond else ""),
        "a model that does not need a saturated disk predicts every elapsed time of Tables VI and VII",
    )


def _runs() -> Table:
    rows: list[tuple[Cell, ...]] = []
    for case, ours in _all():
        own = elapsed(case)
        published = case.published("elapsed_s")
        cells = [
            cell
            for quantity in ("nswaps", "controller_utilization_percent", "qdisk")
            for cell in (_printed(case, quantity), f"{ours[quantity]:.{1 if quantity == 'qdisk' else 0}f}")
        ]
        by_equation = equation(case)
        rows.append(
            (
                case.words,
                case.kind,
                _printed(case, "elapsed_s"),
                own,
                None if published is None else f"{100 * (own.value / published - 1):+.1f}",
                None if by_equation is None else f"{by_equation:.0f}",
                *cells,
            )
        )
    columns = (
        Column("run"),
        Column("kind"),
        Column("measured", "s", scaled=False),
        Column("general model", "s", scaled=False),
        Column("off, %", scaled=False),
        Column("equation 3.1", "s", scaled=False),
        Column("swaps", scaled=False),
        Column("model", scaled=False),
        Column("controller, %", scaled=False),
        Column("model", scaled=False),
        Column("queue", scaled=False),
        Column("model", scaled=False),
    )
    notes = (
        "Equation 3.1 with its extensions is taken from the run (157, 12, 12, 4) of Table VI; where the compute "
        "loop differs it needs the measured queue length.",
    )
    return Table(
        "general-runs", "The runs of Tables VI and VII by the general model", columns, tuple(rows), notes
    )


def _printed(case: Case, quantity: str) -> str | None:
    value = case.published(quantity)
    return None if value is None else f"{value:g}"


def _bases() -> Iterator[Case]:
    """Runs that what-if begins with: much swapping, some, none; CPU bound."""
    for wanted in (
        ((157,), 12, 12, 650),
        ((314,), 12, 12, 1280),
        ((157,), 12, 6, 1280),
        ((157,), 354, 12, 1280),
    ):
        for case in CASES:
            if (case.sizes_clicks, case.pc_ms, case.pn, case.mm_clicks) == wanted:
                yield case


def _changes(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """Machines that were not measured, by what a reader calls them."""
    size = case.sizes_clicks[0]
    now = system(case)
    block_s = float(1e-3 * printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms"))
    yield "memory doubled", {"memory": 2 * case.mm_clicks}
    yield "memory for all", {"memory": case.pn * size}
    yield (
        "blocks and swaps in 3/4 of the time",
        {"block_time_s": 0.75 * block_s, "swap_time_s": 0.75 * swap_time_s(size)},
    )
    yield "swaps on a controller of their own", {"own_controller": True}
    yield "CPU twice as fast", {"compute_s": case.pc_ms / 2e3, "system_s": CALIBRATED.system_s / 2.0}
    yield "half as many users again", {"processes": case.pn * 3 // 2}
    half = size // 2
    yield f"{half} clicks of shared text", {"text": half, "swap_time_s": swap_time_s(size - half)}
    unequal = (size // 2, size + size - size // 2)
    if max(unequal) <= case.mm_clicks:
        times = tuple(swap_time_s(each) for each in unequal)
        yield f"sizes {unequal[0]} and {unequal[1]}", {"size": unequal, "swap_time_s": times}
    yield "pauses twice as long", {"think_s": 2.0 * float(CALIBRATED.think_s), "memory": now.memory}


def _what_if() -> Table:
    rows: list[tuple[Cell, ...]] = []
    for case in _bases():
        base = predict(system(case))
        rows.append((case.words, "as measured", *_answers(base, base)))
        for name, changes in _changes(case):
            rows.append((case.words, name, *_answers(predict(system(case, **changes)), base)))
    columns = (
        Column("run"),
        Column("machine"),
        Column("interactions", "1/s", scaled=False),
        Column("change, %", scaled=False),
        Column("response", "s", scaled=False),
        Column("swaps an interaction", scaled=False),
        Column("controller, %", scaled=False),
        Column("CPU, %", scaled=False),
        Column("fit", scaled=False),
    )
    notes = (
        f"Throughput has the interval of a further run, {100 * math.expm1(interval_part()):.0f} % either way; "
        "changes are better known, for what is off is off on both sides.",
        "A controller of their own for swaps bounds what overlapped seeks can bring: there transfers still "
        "wait for each other.",
    )
    return Table(
        "general-what-if", "What other machines would do, by the general model", columns, tuple(rows), notes
    )


def _answers(found: Prediction, base: Prediction) -> tuple[Cell, ...]:
    value = float(found["throughput_per_s"])
    factor = math.exp(interval_part())
    runs = sum(each.kind == "fitted" for each in CASES)
    rate = Estimate(value, "1/s", runs, "general model", value / factor, value * factor, LEVEL)
    return (
        rate,
        f"{100 * (value / float(base['throughput_per_s']) - 1):+.0f}",
        f"{float(found['response_s']):.2f}",
        f"{float(found['swaps_per_interaction']):.2f}",
        f"{100 * float(found['controller_utilisation']):.0f}",
        f"{100 * float(found['cpu_utilisation']):.0f}",
        f"{float(found['fitting']):.1f}",
    )
