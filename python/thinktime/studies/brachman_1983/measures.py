"""Claims of the thesis: what each is judged by, measured on the simulated machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations

import numpy as np

from thinktime.models.swapping.disk_bound import LeftOut, leave_one_out, predict, swaps
from thinktime.studies.brachman_1983 import equation
from thinktime.studies.brachman_1983.components import block_time_s, quiet_swap_time_s, swap_time_s
from thinktime.studies.brachman_1983.recomputed import (
    PREDICTED_WITH_MS,
    configuration,
    drive,
    published_runs,
)
from thinktime.studies.brachman_1983.runs import (
    BY_TIME,
    CASES,
    DISK,
    FACTORIAL,
    MIXED,
    PAPER,
    SIZES,
    SWAP_SIZES,
    TWELVE,
    Case,
    block_ms,
    by_memory,
    column_of,
    find,
    mean_of,
    measured,
    of_case,
    printed,
    spread,
    swap_ms,
)
from thinktime.studies.cells import Claim, held
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

BURSTS_MS = (12, 30, 60, 186, 354)
NEAR_SWAP_MS = 60
"""Longest burst of the thesis that is about as long as a swap."""


def chapter(laboratory: Laboratory) -> Chapter:
    """Every claim of the thesis, with the statistic by which it is judged."""
    claims = (
        _runs_agree(laboratory),
        _good("measured", leave_one_out(published_runs(PREDICTED_WITH_MS))),
        _good("simulated", leave_one_out(equation.simulated_runs(laboratory, as_measured=True))),
        _saturated(laboratory),
        _needs_saturation(laboratory),
        _linear(laboratory),
        _queue(laboratory),
        *_queue_by_burst(laboratory),
        _swap_rate(laboratory),
        _work_between_swaps(laboratory),
        _seek_saved(laboratory),
        _block_time(laboratory),
        _mixed(laboratory),
    )
    summary = (f"Of {len(claims)} claims of the thesis, {held(claims)} hold on the simulated machine.",)
    return Chapter(claims=claims, summary=summary)


def _runs_agree(laboratory: Laboratory) -> Claim:
    """Claim that the elapsed times of repeated runs differ by about 5 % or less."""
    spreads = {case.words: spread(laboratory, case) for case in CASES}
    differences = [
        abs(one - two) / ((one + two) / 2.0)
        for case in CASES
        for one, two in combinations(of_case(laboratory, case, "elapsed_s").tolist(), 2)
    ]
    return PAPER.claim(
        "runs-agree",
        {"spreads": spreads, "worst": max(spreads, key=spreads.__getitem__), "differences": differences},
    )


def _good(whose: str, outs: Sequence[LeftOut]) -> Claim:
    """Claim that the mean of the predictions of each run comes near it."""
    return PAPER.claim(f"model-{whose}", {"errors": [out.error for out in outs]})


def _saturated(laboratory: Laboratory) -> Claim:
    busy = {case.words: 100.0 * mean_of(laboratory, case, "controller_utilisation") for case in TWELVE}
    least, most = (
        interval(100.0 * of_case(laboratory, case, "controller_utilisation"))
        for pick in (min, max)
        for case in (pick(TWELVE, key=lambda case: busy[case.words]),)
    )
    ends = {"least": least, "most": most}
    return PAPER.claim("saturated", {"busy": busy, "least": min(busy, key=busy.__getitem__), "ends": ends})


def _needs_saturation(laboratory: Laboratory) -> Claim:
    saturated = PAPER.amount("needs-saturation", "busy")

    def median_errors(
        block_s: float,
        swap_s: Callable[[Case], float],
        elapsed_s: Callable[[Case], float | None],
        busy: Callable[[Case], float | None],
    ) -> dict[str, float]:
        """Median error of equation 3.1 between two runs of Table VI that are saturated, and other two."""
        runs = []
        for case in CASES:
            time_s, share = elapsed_s(case), busy(case)
            if case.table == FACTORIAL and time_s is not None and share is not None:
                runs.append((configuration(case, block_s, swap_s(case), time_s), time_s, share > saturated))
        errors: dict[str, list[float]] = {"saturated": [], "other": []}
        for (one, _, one_busy), (other, time_s, other_busy) in permutations(runs, 2):
            expected = float(predict(one, other)["elapsed_b_s"])
            errors["saturated" if one_busy and other_busy else "other"].append(abs(expected / time_s - 1.0))
        return {name: 100.0 * float(np.median(values or np.nan)) for name, values in errors.items()}

    def published_share(case: Case) -> float | None:
        percent = case.published("controller_utilization_percent")
        return None if percent is None else percent / 100.0

    return PAPER.claim(
        "needs-saturation",
        {
            "measured": median_errors(
                block_ms() / 1000.0,
                lambda case: swap_ms(*case.sizes_clicks) / 1000.0,
                lambda case: case.published("elapsed_s"),
                published_share,
            ),
            "simulated": median_errors(
                float(block_time_s(laboratory).mean()),
                lambda case: float(swap_time_s(laboratory, case.sizes_clicks[0]).mean()),
                lambda case: mean_of(laboratory, case, "elapsed_s"),
                lambda case: mean_of(laboratory, case, "controller_utilisation"),
            ),
        },
    )


def _linear(laboratory: Laboratory) -> Claim:
    """Claim that elapsed time is linear in the number of processes, down to the lowest."""
    explained, listed = [], []
    for size in SIZES:
        for memory, cases in by_memory(size).items():
            ours = _explained(cases, [mean_of(laboratory, case, "elapsed_s") for case in cases])
            times = [(case, time_s) for case in cases if (time_s := case.published("elapsed_s")) is not None]
            theirs = _explained([case for case, _ in times], [time_s for _, time_s in times])
            explained.append(ours)
            listed.append(f"{size}/{memory} {ours:.3f}{f', measured {theirs:.3f}' if len(times) > 2 else ''}")
    return PAPER.claim("linear-in-pn", {"explained": explained, "listed": "; ".join(listed)})


def _explained(cases: Sequence[Case], times_s: Sequence[float]) -> float:
    """R² of the least-squares line of times on numbers of processes; 1 for two points and fewer."""
    if len(cases) < 3:
        return 1.0
    x, y = np.array([case.pn for case in cases], dtype=np.float64), np.array(times_s)
    slope, constant = np.polyfit(x, y, 1)
    rest = y - slope * x - constant
    return 1.0 - float(rest @ rest) / float((y - y.mean()) @ (y - y.mean()))


def _queue(laboratory: Laboratory) -> Claim:
    excess = {case.words: mean_of(laboratory, case, "queue_length") - case.nl - 1.0 for case in TWELVE}
    farthest = max(excess, key=lambda words: abs(excess[words]))
    return PAPER.claim("queue-loaded", {"excess": list(excess.values()), "farthest": farthest})


def _queue_by_burst(laboratory: Laboratory) -> Iterator[Claim]:
    """Claims about the queue as bursts grow, and elapsed times as their queues compare."""
    cases = {burst_ms: find(pc_ms=burst_ms, size=157, mm=1280, pn=12) for burst_ms in BURSTS_MS}
    queue = {burst_ms: mean_of(laboratory, case, "queue_length") for burst_ms, case in cases.items()}
    time_s = {burst_ms: mean_of(laboratory, case, "elapsed_s") for burst_ms, case in cases.items()}
    shortest, *longer = BURSTS_MS
    yield PAPER.claim(
        "queue-falls",
        {
            "queue": queue,
            "early": queue[shortest] - queue[NEAR_SWAP_MS],
            "total": queue[shortest] - queue[BURSTS_MS[-1]],
        },
    )
    excess = {
        burst_ms: queue[shortest] / queue[burst_ms] / (time_s[burst_ms] / time_s[shortest]) - 1.0
        for burst_ms in longer
    }
    yield PAPER.claim(
        "queue-ratio",
        {
            "excess": excess,
            "near": [value for burst_ms, value in excess.items() if burst_ms <= NEAR_SWAP_MS],
        },
    )
    yield PAPER.claim("queue-ratio-breaks", {"excess": excess[BURSTS_MS[-1]]})


def _swap_rate(laboratory: Laboratory) -> Claim:
    """Claim about the swaps of each run of twelve processes against those of the model."""

    def published(case: Case) -> float:
        times = measured(case)
        assert times is not None
        transfers = times.files_s / (block_ms() / 1000.0)
        return printed(case.table, "nswaps", **case.row) / swaps(transfers, case.nl) - 1.0

    def ours(case: Case) -> float:
        transfers = mean_of(laboratory, case, "file_transfers")
        return mean_of(laboratory, case, "swaps") / swaps(transfers, case.nl) - 1.0

    return PAPER.claim(
        "swap-rate",
        {
            "measured": [100.0 * published(case) for case in BY_TIME],
            "simulated": [100.0 * ours(case) for case in BY_TIME],
        },
    )


def _work_between_swaps(laboratory: Laboratory) -> Claim:
    four, eight = (
        of_case(laboratory, case, "file_transfers") / of_case(laboratory, case, "swaps")
        for case in (find(pc_ms=12, size=157, mm=memory, pn=12) for memory in (650, 1280))
    )
    before, after = (
        of_case(laboratory, find(pc_ms=12, size=157, mm=memory, pn=12), "elapsed_s") for memory in (650, 1280)
    )
    gain = interval(100.0 * (after / before - 1.0))
    return PAPER.claim("work-between-swaps", {"ratio": interval(eight / four), "gain": gain})


def _seek_saved(laboratory: Laboratory) -> Claim:
    """Claim that swaps take about a mean seek less than calculated."""
    saved = {
        where: [1000.0 * (drive().swap_time_s(size).value - taken_s(laboratory, size)) for size in SWAP_SIZES]
        for where, taken_s in (("quiet_machine", quiet_swap_time_s), ("runs", swap_time_s))
    }
    return PAPER.claim(
        "swap-time",
        {
            "saved": {where: interval(np.mean(values, axis=0)) for where, values in saved.items()},
            "by_size": {
                where: {f"{size} clicks": item.mean() for size, item in zip(SWAP_SIZES, values, strict=True)}
                for where, values in saved.items()
            },
            "seek": printed(DISK, "value", characteristic="average_seek"),
        },
    )


def _block_time(laboratory: Laboratory) -> Claim:
    """Claim that a block takes less than calculated because LOOK serves files that lie near each other."""
    case = find(pc_ms=12, size=157, mm=1280, pn=12)
    look, fcfs = (
        interval(1000.0 * of_case(laboratory, case, "block_time_s", disk_policy=policy))
        for policy in ("look", "fcfs")
    )
    measures = {"calculated": 1000.0 * drive().block_time_s(), "look": look, "fcfs": fcfs, "run": case.words}
    return PAPER.claim("block-time", measures)


def _mixed(laboratory: Laboratory) -> Claim:
    """Claim that the simulated mixed run is near what equation 3.1 makes of the other simulated runs."""
    block_s = float(block_time_s(laboratory).mean())
    swap_s = float(sum(swap_time_s(laboratory, size).mean() for size in MIXED.sizes_clicks) / 2.0)
    ours = interval(column_of(laboratory, MIXED, "elapsed_s"))
    mixed = configuration(MIXED, block_s, swap_s, ours.value)
    predictions = [
        float(predict(one, mixed)["elapsed_b_s"])
        for one in equation.simulated_runs(laboratory, as_measured=False)
    ]
    return PAPER.claim(
        "mixed-sizes",
        {
            "simulated": ours,
            "expected": sum(predictions) / len(predictions),
            "predictions": predictions,
        },
    )
