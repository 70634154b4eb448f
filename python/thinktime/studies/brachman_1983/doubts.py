"""Where the printed numbers contradict each other, or can be read in two ways."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from thinktime.models.swapping.disk_bound import LeftOut, leave_one_out
from thinktime.studies.brachman_1983.equation import PREDICTED_WITH_MS, published_runs
from thinktime.studies.brachman_1983.recomputed import drive, loop_ms, printed
from thinktime.studies.brachman_1983.runs import (
    BLOCK_TIME,
    CASES,
    FACTORIAL,
    INTERACTIONS,
    LOOPS,
    PAPER,
    PREDICTIONS,
    SWAP_TIMES,
    Case,
)
from thinktime.studies.common_sections import doubtful
from thinktime.studies.study import Chapter

EXCHANGED_S = 648.2
"""The first mean prediction of Table VIII, if two of its digits are exchanged."""


def chapter(_: object) -> Chapter:
    """Every doubtful number as printed, with what the other printed numbers imply."""
    checks: tuple[tuple[str, str, Callable[[], str]], ...] = (
        ("Tblock of Table VIII", "39.8 ms in Table V", _block_time),
        ("first mean prediction of Table VIII", "684.2 s", _exchanged),
        ("NL = ⌈MM / PS⌉", "brackets of the ceiling", _floor),
        ("largest calculated swap time of 157 clicks", "118.6 ms", _latency),
        ("elapsed time of (314, 12, 8, 4), MM 1280", "669 s, utilisation 87 %", _odd_run),
        ("Table III", "percentages of loops by number of iterations", _cumulative),
        ("response time", "R = T / C − Z", _response),
        ("last row of Table VII", "PS 157/314, NL ~5", _mixed),
    )
    return doubtful(checks)


def _left_out(block_ms: float) -> tuple[LeftOut, ...]:
    return leave_one_out(published_runs(block_ms))


def _deviations(block_ms: float, population: bool) -> tuple[float, float]:
    """Largest difference from the printed means (the first left out) and standard deviations, s."""
    means, spreads = [], []
    for index, (row, out) in enumerate(zip(PAPER.tables[PREDICTIONS].rows, _left_out(block_ms), strict=True)):
        mean, sd = (
            printed(PREDICTIONS, "measured_elapsed_s", int(row["measured_elapsed_s"]), name)
            for name in ("mean_prediction_s", "standard_deviation_s")
        )
        count = len(out.predictions_s)
        ours = out.standard_deviation_s * (math.sqrt((count - 1) / count) if population else 1.0)
        if index:
            means.append(abs(out.mean_s - mean))
        spreads.append(abs(ours - sd))
    return max(means), max(spreads)


def _block_time() -> str:
    table_v = printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms")
    listed = []
    for block_ms, population in product((table_v, PREDICTED_WITH_MS), (False, True)):
        mean, sd = _deviations(block_ms, population)
        divisor = "n" if population else "n − 1"
        listed.append(
            f"{block_ms:.1f} ms and {divisor}: means within {mean:.3f} s, deviations within {sd:.3f} s"
        )
    return "; ".join(listed)


def _exchanged() -> str:
    rows = PAPER.tables[PREDICTIONS].rows
    result = []
    for first in (None, EXCHANGED_S):
        total = 0.0
        for index, row in enumerate(rows):
            measured = float(row["measured_elapsed_s"])
            mean = printed(PREDICTIONS, "measured_elapsed_s", int(measured), "mean_prediction_s")
            total += measured / (measured + (len(rows) - 1) * (first if first and not index else mean))
        result.append(total)
    ours = _left_out(PREDICTED_WITH_MS)[0].mean_s
    return (
        f"equation 3.1 gives {ours:.1f} s; the sum of T / (T + 5 P) over the six rows, which is 1 for any "
        f"model of the form T_B / T_A = g_B / g_A, is {result[0]:.4f} as printed and {result[1]:.4f} with "
        f"{EXCHANGED_S} s"
    )


def _floor() -> str:
    agree = dict.fromkeys(("floor", "ceiling"), 0)
    told = 0
    for case in CASES:
        part = case.mm_clicks / case.sizes_clicks[0]
        floor, ceiling = (min(case.pn, total) for total in (math.floor(part), math.ceil(part)))
        if len(case.sizes_clicks) == 1 and floor != ceiling:
            told += 1
            agree["floor"] += floor == case.row["nl"]
            agree["ceiling"] += ceiling == case.row["nl"]
    return (
        f"of {told} rows that tell them apart, {agree['floor']} have the floor and {agree['ceiling']} the "
        "ceiling of MM / PS"
    )


def _latency() -> str:
    others = []
    for row in PAPER.tables[SWAP_TIMES].rows:
        result = drive().swap_time_s(int(row["ps_clicks"]))
        for quantity, value in (("calculated_min_ms", result.low), ("calculated_max_ms", result.high)):
            shown = printed(SWAP_TIMES, "ps_clicks", int(row["ps_clicks"]), quantity)
            others.append(shown - 1000.0 * (value or 0.0))
    off = max(others, key=abs)
    rest = max(abs(item) for item in others if item != off)
    latency = printed("table01_rl01", "characteristic", "average_latency", "value")
    return (
        f"the rule of the other seven, which they follow within {rest:.2f} ms, gives {off:.1f} ms less; "
        f"a mean latency is {latency} ms"
    )


def _odd_run() -> str:
    group = [
        case for case in CASES if (case.table, case.sizes_clicks, case.mm_clicks) == (FACTORIAL, (314,), 1280)
    ]
    odd = next(case for case in group if case.pn == 8)
    rest = [case for case in group if case is not odd]
    expected, off = _line(rest, odd.pn)
    elapsed = odd.published("elapsed_s") or math.nan
    return (
        f"the line through the other {len(rest)} runs of its group, which lie within {off:.0f} s of it, has "
        f"{expected:.0f} s at 8 processes: {elapsed - expected:.0f} s less"
    )


def _line(cases: Sequence[Case], at: int) -> tuple[float, float]:
    """Least-squares line of elapsed time on PN: its value at `at`, and the largest residual, s."""
    x = np.array([case.pn for case in cases], dtype=np.float64)
    y = np.array([case.published("elapsed_s") for case in cases], dtype=np.float64)
    slope, constant = np.polyfit(x, y, 1)
    return float(slope * at + constant), float(np.abs(slope * x + constant - y).max())


def _cumulative() -> str:
    bursts = [int(row["pc_ms"]) for row in PAPER.tables[LOOPS].rows]
    read = [[loop_ms(pc, way) for pc in bursts] for way in (True, False)]
    ranges = [f"{min(values):.3f} to {max(values):.3f} ms" for values in read]
    return f"one iteration takes {ranges[0]} if the percentages are cumulative, {ranges[1]} if they are not"


def _response() -> str:
    case = CASES[0]
    elapsed = case.published("elapsed_s") or math.nan
    completed = INTERACTIONS * case.pn
    return (
        f"of {case.words} with C = {INTERACTIONS} PN interactions T / C is {elapsed / completed:.2f} s, less "
        f"than an interaction needs at the disk alone; the law for {case.pn} processes is R = PN T / C − Z, "
        f"and PN T / C is {case.pn * elapsed / completed:.2f} s"
    )


def _mixed() -> str:
    case = CASES[-1]
    mean = sum(case.sizes_clicks) / len(case.sizes_clicks)
    fit = case.mm_clicks / mean
    return f"{case.mm_clicks} clicks hold {fit:.2f} processes of the mean size, {mean:g} clicks"
