"""Consistency of the printed numbers, and what they imply where they are doubtful: nothing is simulated."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from thinktime.documents.document import Col, Table
from thinktime.models.swapping.disk_bound import LeftOut, leave_one_out, predict
from thinktime.models.swapping.swap_disk import Configuration, Drive
from thinktime.studies.brachman_1983.runs import (
    APPLICATIONS,
    BLOCK_TIME,
    BY_TIME,
    CASES,
    DISK,
    FACTORIAL,
    FACTORS,
    INTERACTIONS,
    LOOPS,
    MIXED,
    PAPER,
    PREDICTIONS,
    SWAP_SIZES,
    SWAP_TIMES,
    TWELVE,
    Case,
    block_ms,
    blocks_per_interaction,
    measured,
    printed,
    swap_ms,
)
from thinktime.studies.cells import Cell, Row, Tolerance
from thinktime.studies.common_sections import doubtful
from thinktime.studies.estimates import exact
from thinktime.studies.study import Chapter

COUNTS = (5, 20, 200, 5000)
"""Iterations that Table III names."""
PREDICTED_WITH_MS = 40.0
"""Tblock with which Table VIII comes out to its last digit; Table V has 39.8 ms."""
ERROR = 0.05
"""Largest relative difference between the elapsed times of identical runs of the thesis."""
EXCHANGED_S = 648.2
"""The first mean prediction of Table VIII, if two of its digits are exchanged."""


def chapter(_: object) -> Chapter:
    """Every printed number that follows from other printed numbers."""
    return Chapter(
        cells=(*_disk(), *_factors(), *_calculated(), *_facts()),
        summary=(
            "A recomputed value agrees where it is the printed one to the last printed digit.",
            "Equation 3.1, its leave-one-out predictions (Table VIII) and the five applications are "
            "recomputed in a section of their own.",
        ),
        tables=(_throughput(),),
        method=(
            "Access time = mean seek + mean latency (Table I). Calculated times are access + bytes × "
            "transfer time + 15 ms for each cylinder crossed, with the fewest and most crossings of whole "
            "blocks in cylinders of 40 (Tables IV and V). Blocks per interaction = (U T − Nswaps Tswap) / "
            "Tblock / (200 PN)."
        ),
    )


def _drive(characteristic: str) -> float:
    return printed(DISK, "value", characteristic=characteristic)


def drive() -> Drive:
    """Drive of Table I, as the model takes it."""
    return Drive(
        access_s=_drive("average_access") / 1000.0,
        transfer_s_per_byte=_drive("transfer_time_average") / 1e6,
        track_to_track_s=_drive("track_to_track_seek") / 1000.0,
        cylinder_blocks=int(_drive("blocks_512_byte_per_track") * _drive("surfaces")),
    )


def loop_ms(pc_ms: int, cumulative: bool = True) -> float:
    """Time of one iteration that Table III implies: PC over the mean number of iterations [ms].

    Parameters
    ----------
    pc_ms : int
    cumulative : bool
        True if a percentage counts all loops of at most a number of iterations, False if those of exactly it.
    """
    percents = [printed(LOOPS, f"iterations_{count}_percent", pc_ms=pc_ms) for count in COUNTS]
    shares = np.diff(percents, prepend=0.0) if cumulative else np.asarray(percents)
    return pc_ms / (float(shares @ np.asarray(COUNTS)) / 100.0)


def _disk() -> Iterator[Cell]:
    ours = exact(_drive("average_seek") + _drive("average_latency"), "ms", 2)
    yield PAPER.recomputed(DISK, {"characteristic": "average_access"}, "value", ours)


def _factors() -> Iterator[Cell]:
    """Levels of Table II as the rows of Table VI have them."""
    table = PAPER.tables[FACTORS]
    keys = {"MM": "mm_clicks", "PN": "pn", "PS": "ps_clicks", "PC": "pc_ms"}
    for row in table.rows:
        printed_levels = [float(level) for level in table.remark(row, "levels").split(";")]
        values = [float(case.row[keys[str(row["factor"])]]) for case in CASES if case.table == FACTORIAL]
        levels = zip(printed_levels, sorted(set(values)), strict=True)
        for number, (level, ours) in enumerate(levels, start=1):
            yield Cell(
                study=PAPER.study,
                table=FACTORS,
                row={**row, "level": number},
                quantity="levels",
                unit=table.remark(row, "unit"),
                published=level,
                ours=ours,
                low=None,
                high=None,
                n=values.count(ours),
                kind="arithmetic",
                tolerance=Tolerance("digits", 0.5),
                places=0,
                label=f"{row['factor']}, level {number}",
            )


def _calculated() -> Iterator[Cell]:
    """Times of Tables IV and V, calculated from the drive."""
    for row in PAPER.rows(SWAP_TIMES):
        time_s = drive().swap_time_s(int(row["ps_clicks"]))
        for quantity, end in (("calculated_min_ms", time_s.low), ("calculated_max_ms", time_s.high)):
            ours = exact(1000.0 * (math.nan if end is None else end), "ms", 4)
            yield PAPER.recomputed(SWAP_TIMES, row, quantity, ours)
    ours = exact(1000.0 * drive().block_time_s(), "ms", 2)
    yield PAPER.recomputed(BLOCK_TIME, {"quantity": "Tblock"}, "calculated_ms", ours)


def _facts() -> Iterator[Cell]:
    implied = [blocks_per_interaction(case) for case in CASES if case.table == FACTORIAL]
    present = [value for value in implied if value is not None]
    yield PAPER.recomputed_fact("blocks-per-interaction", exact(float(np.mean(present)), "", len(present)))
    yield PAPER.recomputed_fact("mixed-sizes-loaded", exact(float(MIXED.nl), "", 3))
    taken, fewest, most = (
        float(np.mean([printed(SWAP_TIMES, column, ps_clicks=size) for size in SWAP_SIZES]))
        for column in ("measured_ms", "calculated_min_ms", "calculated_max_ms")
    )
    yield PAPER.recomputed_fact("block-time-saved", exact((fewest + most) / 2.0 - taken, "ms", 12))
    yield PAPER.recomputed_fact("swaps-by-doubling-loaded", exact(_work_between_swaps(), "", 6))


def _work_between_swaps() -> float:
    """Disk time of files per swap with 8 loaded processes of 157 clicks, over that with 4, both of 12."""
    by_loaded = {}
    for case in TWELVE:
        times, swaps = measured(case), case.published("nswaps")
        if times is not None and swaps and case.sizes_clicks == (157,):
            by_loaded[case.nl] = times.files_s / swaps
    return by_loaded[8] / by_loaded[4]


def _throughput() -> Table:
    """Throughput and response time of the measured runs."""
    runs = [
        (case, elapsed, implied)
        for case in CASES
        if (elapsed := case.published("elapsed_s")) is not None
        and (implied := blocks_per_interaction(case)) is not None
    ]
    return Table.of(
        runs,
        Col("run", lambda run: run[0].words),
        Col("elapsed, s", lambda run: f"{run[1]:.0f}", scaled=False),
        Col("interactions/s", lambda run: f"{INTERACTIONS * run[0].pn / run[1]:.2f}", scaled=False),
        Col("R + Z, s", lambda run: f"{run[1] / INTERACTIONS:.2f}", scaled=False),
        Col("file transfers per interaction", lambda run: f"{run[2]:.2f}", scaled=False),
        name="measured-throughput",
        caption="What the measured runs imply",
        notes=(
            "Throughput X = C / T with C = 200 PN interactions; response and think time together "
            "R + Z = PN T / C by the response time law; transfers follow from utilisation, swaps and Tblock.",
        ),
        folded=True,
    )


# Equation 3.1 on printed numbers: Table VIII and section 5.4.


def configuration(case: Case, block_s: float, swap_s: float, elapsed_s: float) -> Configuration:
    """One run as the model of equation 3.1 takes it."""
    return Configuration(
        block_time_s=block_s,
        swap_time_s=swap_s,
        memory=case.mm_clicks,
        size=case.sizes_clicks,
        processes=case.pn,
        burst_s=case.pc_ms / 1000.0,
        elapsed_s=elapsed_s,
    )


def published_runs(block_time_ms: float) -> list[Configuration]:
    """The runs of Table VIII as measured, with the measured swap times of Table IV."""
    return [
        configuration(
            case,
            block_time_ms / 1000.0,
            swap_ms(*case.sizes_clicks) / 1000.0,
            printed(case.table, "elapsed_s", **case.row),
        )
        for case in BY_TIME
    ]


def table_viii(outs: Sequence[LeftOut]) -> Iterator[Cell]:
    """Table VIII from its own measured times, cell by cell."""
    for row, out in zip(PAPER.rows(PREDICTIONS), outs, strict=True):
        for quantity, value in (
            ("measured_plus_minus_s", ERROR * out.measured_s),
            ("mean_prediction_s", out.mean_s),
            ("standard_deviation_s", out.standard_deviation_s),
        ):
            yield PAPER.recomputed(PREDICTIONS, row, quantity, exact(value, "s", len(out.predictions_s)))


def applications() -> Iterator[Cell]:
    """Section 5.4, and numbers of the text about it."""
    for row in PAPER.rows(APPLICATIONS):
        value = predict(*_sides(row)).number("ratio_as_printed")
        ratio, change = exact(value, "", 6), exact(100.0 * (value - 1.0), "%", 6)
        yield PAPER.recomputed(APPLICATIONS, row, "ratio_printed", ratio)
        yield PAPER.recomputed(APPLICATIONS, row, "change_percent_printed", change)
        fact = f"application-{row['example']}"
        yield PAPER.recomputed_fact(fact, change if PAPER.facts[fact].unit == "percent" else ratio)


def _sides(row: Row) -> tuple[Configuration, Configuration]:
    """Both machines of an application; an extra factor is one of processes, or of queue lengths."""
    table = PAPER.tables[APPLICATIONS]

    def number(name: str) -> float | None:
        text = table.remark(row, name)
        return float(text) if text else None

    over, under = number("extra_factor_numerator"), number("extra_factor_denominator")
    # With PN of machine B over that of A, or Q of A over that of B.
    queues = over is not None and under is not None and over < under
    sides = []
    for side, extra in (("a", over if queues else under), ("b", under if queues else over)):
        sides.append(
            Configuration(
                block_time_s=number(f"tblock_{side}_s") or 0.0,
                swap_time_s=number(f"tswap_{side}_s") or 0.0,
                loaded=number(f"nl_{side}"),
                processes=None if queues or extra is None else int(extra),
                queue_length=extra if queues else None,
            )
        )
    return sides[0], sides[1]


# Doubtful numbers, and what other printed numbers imply.


def doubts(_: object) -> Chapter:
    """Every doubtful number as printed, with what the other printed numbers imply."""
    return doubtful(
        ("Tblock of Table VIII", "39.8 ms in Table V", _block_time),
        ("first mean prediction of Table VIII", "684.2 s", _exchanged),
        ("NL = ⌈MM / PS⌉", "brackets of the ceiling", _floor),
        ("largest calculated swap time of 157 clicks", "118.6 ms", _latency),
        ("elapsed time of (314, 12, 8, 4), MM 1280", "669 s, utilisation 87 %", _odd_run),
        ("Table III", "percentages of loops by number of iterations", _cumulative),
        ("response time", "R = T / C − Z", _response),
        ("last row of Table VII", "PS 157/314, NL ~5", _mixed),
    )


def _left_out(block_time_ms: float) -> tuple[LeftOut, ...]:
    return leave_one_out(published_runs(block_time_ms))


def _deviations(block_time_ms: float, population: bool) -> tuple[float, float]:
    """Largest difference from the printed means (the first left out) and standard deviations [s]."""
    means, deviations = [], []
    for index, (row, out) in enumerate(zip(PAPER.rows(PREDICTIONS), _left_out(block_time_ms), strict=True)):
        mean, deviation = (
            PAPER.printed(PREDICTIONS, row, name).value
            for name in ("mean_prediction_s", "standard_deviation_s")
        )
        count = len(out.predictions_s)
        ours = out.standard_deviation_s * (math.sqrt((count - 1) / count) if population else 1.0)
        if index:
            means.append(abs(out.mean_s - mean))
        deviations.append(abs(ours - deviation))
    return max(means), max(deviations)


def _block_time() -> str:
    listed = []
    for time_ms, population in product((block_ms(), PREDICTED_WITH_MS), (False, True)):
        mean, deviation = _deviations(time_ms, population)
        divisor = "n" if population else "n − 1"
        listed.append(
            f"{time_ms:.1f} ms and {divisor}: means within {mean:.3f} s, deviations within {deviation:.3f} s"
        )
    return "; ".join(listed)


def _exchanged() -> str:
    rows = PAPER.rows(PREDICTIONS)
    sums = []
    for first in (None, EXCHANGED_S):
        total = 0.0
        for index, row in enumerate(rows):
            time = float(row["measured_elapsed_s"])
            mean = PAPER.printed(PREDICTIONS, row, "mean_prediction_s").value
            total += time / (time + (len(rows) - 1) * (first if first and not index else mean))
        sums.append(total)
    ours = _left_out(PREDICTED_WITH_MS)[0].mean_s
    return (
        f"equation 3.1 gives {ours:.1f} s; the sum of T / (T + 5 P) over the six rows, which is 1 for any "
        f"model of the form T_B / T_A = g_B / g_A, is {sums[0]:.4f} as printed and {sums[1]:.4f} with "
        f"{EXCHANGED_S} s"
    )


def _floor() -> str:
    loaded = []
    for case in CASES:
        fit = case.mm_clicks / case.sizes_clicks[0]
        floor, ceiling = (min(case.pn, limit) for limit in (math.floor(fit), math.ceil(fit)))
        if case is not MIXED and floor != ceiling:
            loaded.append((floor, ceiling, case.row["nl"]))
    floors, ceilings = (sum(item[index] == item[2] for item in loaded) for index in (0, 1))
    return (
        f"of {len(loaded)} rows in which they differ, {floors} have the floor and {ceilings} the ceiling of "
        "MM / PS"
    )


def _latency() -> str:
    differences = []
    for size in SWAP_SIZES:
        time_s = drive().swap_time_s(size)
        for column, end in (("calculated_min_ms", time_s.low), ("calculated_max_ms", time_s.high)):
            differences.append(printed(SWAP_TIMES, column, ps_clicks=size) - 1000.0 * (end or 0.0))
    largest = max(differences, key=abs)
    rest = max(abs(item) for item in differences if item != largest)
    return (
        f"the rule of the other seven, which they follow within {rest:.2f} ms, gives {largest:.1f} ms less; "
        f"a mean latency is {_drive('average_latency')} ms"
    )


def _odd_run() -> str:
    group = [
        case for case in CASES if (case.table, case.sizes_clicks, case.mm_clicks) == (FACTORIAL, (314,), 1280)
    ]
    odd = next(case for case in group if case.pn == 8)
    rest = [case for case in group if case is not odd]
    x = np.array([case.pn for case in rest], dtype=np.float64)
    y = np.array([case.published("elapsed_s") for case in rest], dtype=np.float64)
    slope, constant = np.polyfit(x, y, 1)
    expected, residual = float(slope * odd.pn + constant), float(np.abs(slope * x + constant - y).max())
    elapsed = odd.published("elapsed_s") or math.nan
    return (
        f"the line through the other {len(rest)} runs of its group, which lie within {residual:.0f} s of it, "
        f"has {expected:.0f} s at 8 processes: {elapsed - expected:.0f} s less"
    )


def _cumulative() -> str:
    bursts = [int(row["pc_ms"]) for row in PAPER.rows(LOOPS)]
    times = [[loop_ms(pc, way) for pc in bursts] for way in (True, False)]
    ranges = [f"{min(values):.3f} to {max(values):.3f} ms" for values in times]
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
    mean = sum(MIXED.sizes_clicks) / len(MIXED.sizes_clicks)
    fit = MIXED.mm_clicks / mean
    return f"{MIXED.mm_clicks} clicks hold {fit:.2f} processes of the mean size, {mean:g} clicks"
