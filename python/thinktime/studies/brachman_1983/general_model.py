"""The general model of the runs of Tables VI and VII: what is calibrated, and what it predicts.

Of what is calibrated:

* A file transfer takes Tblock (Table V). One swap takes an access for every track that a process fills and
  the transfer of all of it; the access is what Table IV leaves of the measured time of a process that fills
  one track. That a longer one takes more accesses was chosen after the rows of 314 clicks had been seen,
  whose utilisation and swaps imply such a time: with Table IV alone, which has about one access at every
  size, nearly all of their elapsed times come out 4 to 16 % short. The simulated machine loses nearly as much
  under load, to revolutions where images cross cylinders.
* Four numbers are fitted to the measurements of ten runs, those of 157 clicks with 650 and 1280 clicks of
  memory in Table VI: the mean pause, the file transfers per interaction, the fraction of them that nobody
  waits for, and the time between two requests at the controller. `fitted` fits them anew.
* The system's CPU time per interaction is set: the ten runs do as well with 0.04 as with 0.08 s. Of the
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from thinktime.documents.document import Col, Cols, Table
from thinktime.models.prediction import Prediction
from thinktime.models.swapping import disk_bound
from thinktime.models.swapping.response_time import Swapping, predict
from thinktime.models.swapping.swap_disk import CLICK_BYTES, Configuration
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983.recomputed import COUNTS
from thinktime.studies.brachman_1983.runs import (
    CASES,
    DISK,
    FACTORIAL,
    INTERACTIONS,
    LOOPS,
    PAPER,
    RESPONSES,
    Case,
    block_ms,
    find,
    printed,
    swap_ms,
)
from thinktime.studies.study import Chapter

LEVEL = 0.95
BLOCK_CLICKS = 8
"""Clicks of 64 bytes in a block of 512."""
ONE_TRACK = 157
"""Clicks of the process that fills one track: 20 blocks."""
WEIGHTS = {"elapsed_s": 0.05, "controller_utilization_percent": 4.0, "qdisk": 0.8, "nswaps": 0.20}
"""Allowed error of a run: fractions of elapsed time (the error of the thesis) and swaps, points, requests."""
FITTED = 4
"""Numbers that are fitted."""
SWAPS_LEAST = 500.0
"""The fit leaves out the swaps of runs with fewer: they say little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """Parameters that no table of the thesis gives."""

    think_s: float
    """Mean pause [s]."""
    blocks: float
    """File transfers per interaction."""
    behind: float
    """Fraction of them that nobody waits for: delayed writes and blocks read ahead."""
    gap_s: float
    """From the end of a request at the controller to the start of the next that waits [s]."""
    system_s: float
    """CPU time of the system per interaction [s]."""


CALIBRATED = Calibrated(think_s=0.960, blocks=5.18, behind=0.457, gap_s=0.0027, system_s=0.06)
"""As `fitted` finds them; `system_s` is set."""


def swap_time_s(clicks: int) -> float:
    """Time of one swap, one way: an access for each track, and the transfer [s]."""
    byte_s = 1e-6 * printed(DISK, "value", characteristic="transfer_time_average")
    track = printed(DISK, "value", characteristic="blocks_512_byte_per_track")
    one_s = 1e-3 * swap_ms(ONE_TRACK)
    access_s = one_s - ONE_TRACK * CLICK_BYTES * byte_s
    tracks = math.ceil(math.ceil(clicks / BLOCK_CLICKS) / track)
    return tracks * access_s + clicks * CLICK_BYTES * byte_s


def _compute_variation(pc_ms: int) -> float:
    """Coefficient of variation of the compute loop, from Table III."""
    cumulative = [printed(LOOPS, f"iterations_{count}_percent", pc_ms=pc_ms) / 100.0 for count in COUNTS]
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
    run = Swapping(
        processes=case.pn,
        memory=case.mm_clicks,
        size=case.sizes_clicks,
        blocks=calibrated.blocks,
        block_time_s=1e-3 * block_ms(),
        swap_time_s=tuple(swap_time_s(size) for size in case.sizes_clicks),
        compute_s=1e-3 * case.pc_ms,
        system_s=calibrated.system_s,
        think_s=calibrated.think_s,
        interactions=INTERACTIONS,
        behind=calibrated.behind,
        gap_s=calibrated.gap_s,
        compute_variation=_compute_variation(case.pc_ms),
    )
    return replace(run, **changes)


def predicted(case: Case, calibrated: Calibrated = CALIBRATED) -> Prediction:
    """Prediction of one run of Table VI or VII."""
    return predict(system(case, calibrated))


def columns(prediction: Prediction) -> dict[str, float]:
    """A prediction in the columns of Tables VI and VII."""
    return {column: factor * float(prediction[response]) for column, (response, factor) in RESPONSES.items()}


@cache
def all_runs() -> tuple[tuple[Case, dict[str, float]], ...]:
    """All 46 runs with what the model predicts of them, in the columns of the tables."""
    return tuple((case, columns(predicted(case))) for case in CASES)


def weighted_error(case: Case, ours: dict[str, float], quantity: str) -> float | None:
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
    """Calibration of all but the system's CPU time to ten runs, by least squares of `weighted_error`."""
    import numpy as np
    from scipy.optimize import least_squares

    runs = [case for case in CASES if case.kind == "fitted"]

    def residuals(values: Any) -> Any:
        calibrated = _calibrated(values)
        predictions = [(case, columns(predicted(case, calibrated))) for case in runs]
        errors = (weighted_error(case, ours, column) for case, ours in predictions for column in RESPONSES)
        return np.array([error for error in errors if error is not None])

    return _calibrated(least_squares(residuals, [1.0, 5.0, 0.5, 0.002], diff_step=1e-3, x_scale="jac").x)


def _calibrated(values: Any) -> Calibrated:
    think_s, blocks, behind, gap_s = (float(value) for value in values)
    return Calibrated(
        think_s=think_s, blocks=blocks, behind=behind, gap_s=gap_s, system_s=CALIBRATED.system_s
    )


@cache
def half_width() -> float:
    r"""Half the width of the interval of a predicted elapsed time, as a difference of logarithms.

    .. math:: t_{n-4}\, s \sqrt{1 + 1/n}

    with s the deviation of :math:`\ln(T / T_{measured})` over the n runs that four numbers were fitted to:
    how far a further run is off if the model is as good there.
    """
    from scipy.stats import t

    runs = [(case, ours) for case, ours in all_runs() if case.kind == "fitted"]
    errors = [weighted_error(case, ours, "elapsed_s") or 0.0 for case, ours in runs]
    n = len(errors)
    deviation = WEIGHTS["elapsed_s"] * math.sqrt(sum(error**2 for error in errors) / (n - FITTED))
    return float(t.ppf(0.5 + LEVEL / 2.0, n - FITTED)) * deviation * math.sqrt(1.0 + 1.0 / n)


def with_interval(value: float, unit: str) -> Estimate:
    """Estimate of a time or a throughput of the model, with the interval of `half_width`."""
    factor = math.exp(half_width())
    return Estimate(
        value=value,
        unit=unit,
        n=sum(case.kind == "fitted" for case in CASES),
        method="general model",
        low=value / factor,
        high=value * factor,
        level=LEVEL,
    )


def chapter(_: object) -> Chapter:
    """Every run by the general model, and its predictions of machines that were not measured."""
    errors = [
        (case, ours["elapsed_s"] / published - 1.0)
        for case, ours in all_runs()
        if (published := case.published("elapsed_s")) is not None
    ]
    worst, worst_error = max(errors, key=lambda item: abs(item[1]))
    good = PAPER.amount("general-model")
    beyond = [f"{case.words} {100 * error:+.1f} %" for case, error in errors if abs(error) > good]
    within = f"{len(errors) - len(beyond)} of {len(errors)} measured"
    new = [error for case, error in errors if case.kind == "predicted"]
    mean, square = sum(new) / len(new), math.sqrt(sum(error**2 for error in new) / len(new))
    return Chapter(
        claims=(
            PAPER.claim(
                "general-model",
                {"errors": [error for _, error in errors]},
                f"{within} runs within {100 * good:.0f} %"
                + (f"; beyond: {'; '.join(beyond)}" if beyond else ""),
            ),
        ),
        summary=(
            "A closed network of disk, CPU and pauses, in which only the processes that fit into memory "
            "can be at work; it needs no saturated disk, and predicts when processes are swapped.",
            f"{within} elapsed times are within {100 * good:.0f} %; those of the {len(new)} runs that "
            f"nothing was fitted to are off by {100 * mean:+.1f} % on the mean, with a root mean square of "
            f"{100 * square:.1f} %.",
            f"Worst: {worst.words}, {100 * worst_error:+.1f} %. {_disk_time(worst)}",
        ),
        tables=(_runs(), _choices(), _other_machines()),
        method=(
            "Decomposition: mean value analysis of the loaded processes with each number of them at work, "
            "then the balance of a Markov chain over where the processes are. Fitted to the ten runs of "
            f"157 clicks with 650 and 1280 clicks of memory: a mean pause of {CALIBRATED.think_s:g} s, "
            f"{CALIBRATED.blocks:g} file transfers per interaction, of which nobody waits for "
            f"{100 * CALIBRATED.behind:.0f} %, and {1e3 * CALIBRATED.gap_s:.1f} ms between two requests; "
            f"set: {1e3 * CALIBRATED.system_s:g} ms of CPU time of the system. Tables III to V give the "
            "rest. Intervals are those of a further run, by the errors of the ten."
        ),
    )


def _disk_time(case: Case) -> str:
    """Comparison of the disk time that the published numbers of a run imply with the model's."""
    time_s, busy, swaps = (
        case.published(name) for name in ("elapsed_s", "controller_utilization_percent", "nswaps")
    )
    if time_s is None or busy is None or swaps is None:
        return ""
    ours = columns(predicted(case))
    work = INTERACTIONS * case.pn
    theirs_s = 0.01 * busy * time_s / work
    ours_s = 0.01 * ours["controller_utilization_percent"] * ours["elapsed_s"] / work
    return (
        f"Its printed numbers have the controller busy for {1e3 * theirs_s:.0f} ms per interaction with "
        f"{swaps / work:.2f} swaps in it, {busy:.0f} % of the time; the model has {1e3 * ours_s:.0f} ms, "
        f"{ours['nswaps'] / work:.2f} and {ours['controller_utilization_percent']:.0f} %."
    )


def _by_equation(case: Case) -> float | None:
    """Elapsed time by equation 3.1 and its extensions, from the run (157, 12, 12, 4) with the least memory.

    Table IV's swap times, no swaps where all fit. None where another burst asks for a queue length that was
    not measured.
    """
    base = next(item for item in CASES if (item.table, item.sizes_clicks, item.pn) == (FACTORIAL, (157,), 12))
    burst = case.pc_ms != base.pc_ms
    if burst and case.published("qdisk") is None:
        return None

    def machine(case: Case) -> Configuration:
        return Configuration(
            block_time_s=1e-3 * block_ms(),
            swap_time_s=0.0 if case.nl == case.pn else 1e-3 * swap_ms(*case.sizes_clicks),
            loaded=case.nl,
            processes=case.pn,
            burst_s=1e-3 * case.pc_ms,
            queue_length=case.published("qdisk") if burst else None,
            elapsed_s=case.published("elapsed_s"),
        )

    try:
        return float(disk_bound.predict(machine(base), machine(case))["elapsed_b_s"])
    except KeyError:
        return None


def _runs() -> Table:
    """Every run: measured, by the general model and by equation 3.1."""
    shown = {
        "nswaps": ("swaps", 0),
        "controller_utilization_percent": ("controller, %", 0),
        "qdisk": ("queue", 1),
    }

    def measured(case: Case, column: str) -> str | None:
        value = case.published(column)
        return None if value is None else f"{value:g}"

    def error(case: Case, elapsed_s: float) -> str | None:
        value = case.published("elapsed_s")
        return None if value is None else f"{100 * (elapsed_s / value - 1):+.1f}"

    def by_equation(case: Case) -> str | None:
        value = _by_equation(case)
        return None if value is None else f"{value:.0f}"

    return Table.of(
        all_runs(),
        Col("run", lambda run: run[0].words),
        Col("kind", lambda run: run[0].kind),
        Col("measured", lambda run: measured(run[0], "elapsed_s"), unit="s", scaled=False),
        Col("general model", lambda run: with_interval(run[1]["elapsed_s"], "s"), unit="s", scaled=False),
        Col("off, %", lambda run: error(run[0], run[1]["elapsed_s"]), scaled=False),
        Col("equation 3.1", lambda run: by_equation(run[0]), unit="s", scaled=False),
        Cols(
            (name for heading, _ in shown.values() for name in (heading, "model")),
            lambda run: (
                cell
                for column, (_, places) in shown.items()
                for cell in (measured(run[0], column), f"{run[1][column]:.{places}f}")
            ),
            scaled=False,
        ),
        name="general-runs",
        caption="The runs of Tables VI and VII by the general model",
        notes=(
            "Equation 3.1 with its extensions is taken from the run (157, 12, 12, 4) of Table VI; where the "
            "compute loop differs it needs the measured queue length.",
        ),
    )


CHOICES: dict[str, Callable[[Case], dict[str, Any]]] = {
    "as it is": lambda _: {},
    "swap times of Table IV": lambda case: {
        "swap_time_s": tuple(1e-3 * swap_ms(size) for size in case.sizes_clicks)
    },
    "CPU shared, not in slices": lambda _: {"dispatch": "sharing"},
    "system's CPU time two thirds": lambda _: {"system_s": CALIBRATED.system_s * 2.0 / 3.0},
    "system's CPU time four thirds": lambda _: {"system_s": CALIBRATED.system_s * 4.0 / 3.0},
    "memory for all": lambda case: {"memory": case.pn * max(case.sizes_clicks)},
}
"""Fields of the model's machine that differ, by the choice that was made otherwise."""


def _choices() -> Table:
    """Effect on the errors of the choices that were made with the runs in sight."""

    def errors(change: Callable[[Case], dict[str, Any]]) -> Iterator[str]:
        for kind in ("fitted", "predicted"):
            percents = [
                100.0 * (float(predict(system(case, **change(case)))["elapsed_s"]) / published - 1.0)
                for case in CASES
                if case.kind == kind and (published := case.published("elapsed_s")) is not None
            ]
            yield f"{sum(percents) / len(percents):+.1f}"
            yield f"{math.sqrt(sum(percent**2 for percent in percents) / len(percents)):.1f}"
            yield f"{max(percents, key=abs):+.1f}"

    return Table.of(
        CHOICES.items(),
        Col("model", lambda item: item[0]),
        Cols(
            (
                f"{kind}: {name}, %"
                for kind in ("fitted", "predicted")
                for name in ("mean", "root mean square", "worst")
            ),
            lambda item: errors(item[1]),
            scaled=False,
        ),
        name="general-choices",
        caption="How far elapsed times are off by choice",
        notes=(
            "Accesses by track, slices, and the system's CPU time were chosen when all rows had been seen; "
            "nothing is fitted anew for another choice.",
        ),
    )


BASES = (
    find(pc_ms=12, size=157, mm=650, pn=12),
    find(pc_ms=12, size=314, mm=1280, pn=12),
    find(pc_ms=12, size=157, mm=1280, pn=6),
    find(pc_ms=354, size=157, mm=1280, pn=12),
)
"""Runs that are changed: much swapping, some, none; CPU bound."""


def changes(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """Fields of the model's machine that differ, by the name of the change for a reader."""
    (size,) = case.sizes_clicks
    disk = {"block_time_s": 0.75 * (1e-3 * block_ms()), "swap_time_s": 0.75 * swap_time_s(size)}
    yield "memory doubled", {"memory": 2 * case.mm_clicks}
    yield "memory for all", {"memory": case.pn * size}
    yield "disk a third faster", disk
    yield "swaps on a controller of their own", {"own_controller": True}
    yield "CPU twice as fast", {"compute_s": 0.5e-3 * case.pc_ms, "system_s": 0.5 * CALIBRATED.system_s}
    yield "half as many users again", {"processes": case.pn * 3 // 2}
    yield "pauses twice as long", {"think_s": 2.0 * CALIBRATED.think_s}
    text = size // 2
    yield f"{text} clicks of shared text", {"text": text, "swap_time_s": swap_time_s(size - text)}
    unequal = (size // 2, 2 * size - size // 2)
    times_s = tuple(swap_time_s(item) for item in unequal)
    yield f"sizes {unequal[0]} and {unequal[1]}", {"size": unequal, "swap_time_s": times_s}


def _other_machines() -> Table:
    """Every change of every base."""
    answers = []
    for case in BASES:
        base = predict(system(case))
        answers.append((case, "as measured", base, 0.0))
        for name, different in changes(case):
            answer = predict(system(case, **different))
            change = float(answer["throughput_per_s"]) / float(base["throughput_per_s"]) - 1
            answers.append((case, name, answer, change))
    return Table.of(
        answers,
        Col("run", lambda item: item[0].words),
        Col("machine", lambda item: item[1]),
        Col(
            "interactions",
            lambda item: with_interval(float(item[2]["throughput_per_s"]), "1/s"),
            unit="1/s",
            scaled=False,
        ),
        Col("change, %", lambda item: f"{100 * item[3]:+.0f}", scaled=False),
        Col("response, s", lambda item: f"{float(item[2]['response_s']):.2f}", scaled=False),
        Col(
            "swaps per interaction",
            lambda item: f"{float(item[2]['swaps_per_interaction']):.2f}",
            scaled=False,
        ),
        Col(
            "controller, %",
            lambda item: f"{100 * float(item[2]['controller_utilisation']):.0f}",
            scaled=False,
        ),
        Col("CPU, %", lambda item: f"{100 * float(item[2]['cpu_utilisation']):.0f}", scaled=False),
        Col("fit", lambda item: f"{float(item[2]['fitting']):.1f}", scaled=False),
        name="general-what-if",
        caption="Other machines, by the general model",
        notes=(
            f"A throughput has the interval of a further run, up to {100.0 * math.expm1(half_width()):.0f} % "
            "away; changes are better known, for errors are the same on both sides.",
            "A controller of their own for swaps bounds what overlapped seeks can bring: with those, "
            "transfers still wait for each other.",
            "A disk a third faster takes three quarters of the time for blocks and for swaps.",
        ),
    )
