"""Claims of the thesis, and whether they hold here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from thinktime.models.swapping.disk_bound import leave_one_out, predict, swaps
from thinktime.models.swapping.swap_disk import Configuration
from thinktime.studies.brachman_1983 import components, elapsed_by_users, equation, experiment, mixed_sizes
from thinktime.studies.brachman_1983.disk_time import measured
from thinktime.studies.brachman_1983.experiment import find
from thinktime.studies.brachman_1983.recomputed import printed
from thinktime.studies.brachman_1983.runs import (
    BLOCK_TIME,
    CASES,
    FACTORIAL,
    PAPER,
    SWAP_TIMES,
    Case,
    fullest,
    mean_of,
    of_case,
)
from thinktime.studies.cells import Claim
from thinktime.studies.estimates import interval
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

BURSTS_MS = (12, 30, 60, 186, 354)
NEAR_SWAP_MS = 60
"""Longest burst of the thesis that is about as long as a swap."""
MOSTLY = 0.25
"""Part of the fall of the queue that may come before bursts are longer than a swap."""
EQUAL = 0.10
SATURATED = 0.80
WORSE = 1.5
"""Times as large is worse."""


def chapter(laboratory: Laboratory) -> Chapter:
    """Every claim of the thesis, with the statistic by which it is judged."""
    theirs = leave_one_out(equation.published_runs(equation.PREDICTED_WITH_MS))
    ours = leave_one_out(equation.simulated_runs(laboratory, own_times=False))
    findings = (
        experiment.runs_agree(laboratory),
        equation.good(theirs, "measured"),
        equation.good(ours, "simulated"),
        *_saturation(laboratory),
        elapsed_by_users.linear(laboratory),
        *_queue(laboratory),
        *_swaps(laboratory),
        components.seek_saved(laboratory),
        components.near(laboratory),
        mixed_sizes.mixed_run(laboratory),
    )
    held = sum(finding.holds is True for finding in findings)
    summary = (f"Of {len(findings)} findings of the thesis, {held} hold on the simulated machine.",)
    return Chapter(claims=findings, summary=summary)


def _saturation(laboratory: Laboratory) -> Iterator[Claim]:
    busy = {case.words: 100.0 * mean_of(laboratory, case, "controller_utilisation") for case in fullest()}
    least = min(busy, key=busy.__getitem__)
    yield PAPER.claim(
        "saturated", [busy[least]], f"{busy[least]:.1f} % in the least busy of the six runs, {least}"
    )
    pairs = {"measured": _pairs(_measured_runs()), "simulated": _pairs(_simulated_runs(laboratory))}
    listed = [
        f"{whose} {100 * inside:.1f} %, of other pairs {100 * outside:.1f} %"
        for whose, (inside, outside) in pairs.items()
    ]
    yield PAPER.claim(
        "needs-saturation",
        all(outside >= WORSE * inside for inside, outside in pairs.values()),
        "median error of equation 3.1 between two runs of Table VI that both keep the controller busy for "
        f"more than {100 * SATURATED:.0f} %: {'; '.join(listed)}; {WORSE:g} times as much is worse",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """A run as the model takes it, and what it is compared with."""

    configuration: Configuration
    elapsed_s: float
    saturated: bool


def _measured_runs() -> list[Taken]:
    block_s = printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms") / 1000.0
    result = []
    for case in CASES:
        elapsed, busy = (case.published(name) for name in ("elapsed_s", "controller_utilization_percent"))
        if case.table == FACTORIAL and elapsed is not None and busy is not None:
            swap_s = printed(SWAP_TIMES, "ps_clicks", case.sizes_clicks[0], "measured_ms") / 1000.0
            selected = equation.configuration(case, block_s, swap_s, elapsed)
            result.append(
                Taken(configuration=selected, elapsed_s=elapsed, saturated=busy > 100.0 * SATURATED)
            )
    return result


def _simulated_runs(laboratory: Laboratory) -> list[Taken]:
    block_s = float(components.block_time_s(laboratory).mean())
    result = []
    for case in CASES:
        if case.table == FACTORIAL:
            swap_s = float(components.swap_time_s(laboratory, case.sizes_clicks[0]).mean())
            elapsed, busy = (
                mean_of(laboratory, case, name) for name in ("elapsed_s", "controller_utilisation")
            )
            selected = equation.configuration(case, block_s, swap_s, elapsed)
            result.append(Taken(configuration=selected, elapsed_s=elapsed, saturated=busy > SATURATED))
    return result


def _pairs(runs: Sequence[Taken]) -> tuple[float, float]:
    """Median error of equation 3.1 between two runs that are both saturated, and between other two."""
    result: tuple[list[float], list[float]] = ([], [])
    for one, other in permutations(runs, 2):
        expected = float(predict(one.configuration, other.configuration)["elapsed_b_s"])
        both = one.saturated and other.saturated
        result[0 if both else 1].append(abs(expected / other.elapsed_s - 1.0))
    inside, outside = (float(np.median(errors)) if errors else math.nan for errors in result)
    return inside, outside


def _burst(pc_ms: int, size: int = 157, mm: int = 1280) -> Case:
    return find(pc_ms=pc_ms, size=size, mm=mm, pn=12)


def _queue(laboratory: Laboratory) -> Iterator[Claim]:
    off = {case.words: mean_of(laboratory, case, "queue_length") - case.nl - 1.0 for case in fullest()}
    worst = max(off, key=lambda words: abs(off[words]))
    yield PAPER.claim(
        "queue-loaded",
        [abs(off[worst])],
        f"mean queue less NL + 1: {', '.join(f'{value:+.2f}' for value in off.values())}; within "
        f"{PAPER.amount('queue-loaded')} is "
        f"equal; farthest off is {worst}",
    )
    queue = {pc: mean_of(laboratory, _burst(pc), "queue_length") for pc in BURSTS_MS}
    early, total = queue[12] - queue[NEAR_SWAP_MS], queue[12] - queue[BURSTS_MS[-1]]
    yield PAPER.claim(
        "queue-falls",
        total > 1.0 and early <= MOSTLY * total,
        f"mean queue {', '.join(f'{value:.1f} at {pc} ms' for pc, value in queue.items())}: {early:.1f} of "
        f"the fall of {total:.1f} come up to {NEAR_SWAP_MS} ms",
    )
    yield from _queue_ratio(laboratory)


def _queue_ratio(laboratory: Laboratory) -> Iterator[Claim]:
    """Ratios of times with those of queues, against bursts of 12 ms."""
    short = _burst(12)
    excess = {}
    for pc in BURSTS_MS[1:]:
        queues = mean_of(laboratory, short, "queue_length") / mean_of(laboratory, _burst(pc), "queue_length")
        times = mean_of(laboratory, _burst(pc), "elapsed_s") / mean_of(laboratory, short, "elapsed_s")
        excess[pc] = queues / times - 1.0
    listed = ", ".join(f"{100 * value:+.0f} % at {pc} ms" for pc, value in excess.items())
    near = [abs(value) for pc, value in excess.items() if pc <= NEAR_SWAP_MS]
    yield PAPER.claim(
        "queue-ratio",
        [max(near)],
        f"Q(12 ms) / Q over T / T(12 ms), less one: {listed}; within "
        f"{100 * PAPER.amount('queue-ratio'):.0f} % is equal",
    )
    last = excess[BURSTS_MS[-1]]
    yield PAPER.claim(
        "queue-ratio-breaks",
        [last],
        f"at {BURSTS_MS[-1]} ms the time predicted from the queues is {100 * last:+.0f} % off",
    )


def _swaps(laboratory: Laboratory) -> Iterator[Claim]:
    def disagree(part: Callable[[Case], float]) -> tuple[float, str]:
        """Swaps with those of the model, in each run of twelve processes."""
        off = {case.nl * 1000 + case.sizes_clicks[0]: part(case) for case in equation.in_order()}
        listed = ", ".join(f"{100 * value:+.0f} %" for value in off.values())
        return max(abs(value) for value in off.values()), listed

    worst, theirs = disagree(_published_swaps)
    own_worst, ours = disagree(lambda case: _simulated_swaps(laboratory, case))
    yield PAPER.claim(
        "swap-rate",
        [min(worst, own_worst)],
        f"swaps against file transfers / NL, runs in the order of Table VIII: measured {theirs}; simulated "
        f"{ours}",
    )
    four, eight = find(pc_ms=12, size=157, mm=650, pn=12), find(pc_ms=12, size=157, mm=1280, pn=12)
    work = [
        of_case(laboratory, case, "file_transfers") / of_case(laboratory, case, "swaps")
        for case in (four, eight)
    ]
    ratio = interval(work[1] / work[0])
    yield PAPER.claim(
        "work-between-swaps",
        [abs(ratio.value / 2.0 - 1.0)],
        f"file transfers a swap with eight loaded over those with four: {ratio.value:.2f}; within "
        f"{100 * PAPER.amount('work-between-swaps'):.0f} % of 2 is twice",
    )


def _published_swaps(case: Case) -> float:
    spent, count = measured(case), case.published("nswaps")
    assert spent is not None
    assert count is not None
    block_s = printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms") / 1000.0
    return count / swaps(spent.files_s / block_s, case.nl) - 1.0


def _simulated_swaps(laboratory: Laboratory, case: Case) -> float:
    return (
        mean_of(laboratory, case, "swaps") / swaps(mean_of(laboratory, case, "file_transfers"), case.nl) - 1.0
    )
