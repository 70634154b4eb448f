"""The general model for the runs of Tables VI and VII, against equation 3.1, and for other machines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from thinktime.documents.document import Cell, Column, Table
from thinktime.models.prediction import Prediction
from thinktime.models.swapping import disk_bound
from thinktime.models.swapping.response_time import predict
from thinktime.models.swapping.swap_disk import Configuration
from thinktime.studies.brachman_1983 import calibration
from thinktime.studies.brachman_1983.calibration import (
    CALIBRATED,
    block_time_s,
    elapsed,
    every,
    measures,
    predicted,
    system,
)
from thinktime.studies.brachman_1983.recomputed import printed
from thinktime.studies.brachman_1983.runs import CASES, FACTORIAL, INTERACTIONS, PAPER, SWAP_TIMES, Case
from thinktime.studies.cells import Claim
from thinktime.studies.study import Chapter

GOOD = 0.12
"""A prediction within this part of the measured time is called good."""


def equation(case: Case) -> float | None:
    """Elapsed time by equation 3.1 and its extensions, from the run (157, 12, 12, 4) with the least memory.

    Table IV's swap times, no swaps where all fit. None where another burst asks for a queue length that was
    not measured.
    """
    base = next(item for item in CASES if (item.table, item.sizes_clicks, item.pn) == (FACTORIAL, (157,), 12))
    burst = case.pc_ms != base.pc_ms
    if burst and case.published("qdisk") is None:
        return None
    try:
        return float(disk_bound.predict(_machine(base, burst), _machine(case, burst))["elapsed_b_s"])
    except KeyError:
        return None


def _machine(case: Case, burst: bool) -> Configuration:
    swaps = [1e-3 * printed(SWAP_TIMES, "ps_clicks", size, "measured_ms") for size in case.sizes_clicks]
    return Configuration(
        block_time_s=block_time_s(),
        swap_time_s=0.0 if case.nl == case.pn else sum(swaps) / len(swaps),
        loaded=case.nl,
        processes=case.pn,
        burst_s=1e-3 * case.pc_ms,
        queue_length=case.published("qdisk") if burst else None,
        elapsed_s=case.published("elapsed_s"),
    )


def chapter(_: object) -> Chapter:
    """Every run by the general model, and its predictions of machines that were not measured."""
    errors = [
        (case, ours["elapsed_s"] / published - 1.0)
        for case, ours in every()
        if (published := case.published("elapsed_s")) is not None
    ]
    worst, worst_error = max(errors, key=lambda each: abs(each[1]))
    good = sum(abs(error) <= GOOD for _, error in errors)
    new = [error for case, error in errors if case.kind == "predicted"]
    mean, square = sum(new) / len(new), math.sqrt(sum(error**2 for error in new) / len(new))
    summary = (
        "A closed network of disk, CPU and pauses, in which only the processes that fit into memory can be "
        "at work; it needs no saturated disk, and predicts when processes are swapped.",
        f"{good} of {len(errors)} measured elapsed times are within {100 * GOOD:.0f} %; those of the "
        f"{len(new)} runs that nothing was fitted to are off by {100 * mean:+.1f} % on the mean, with a root "
        f"mean square of {100 * square:.1f} %.",
        f"Worst: {worst.words}, {100 * worst_error:+.1f} %. {_why(worst)}",
    )
    return Chapter(
        claims=(_finding(errors),),
        summary=summary,
        tables=(_runs(), _choices(), other_machines()),
        method=_method(),
    )


def _method() -> str:
    present = CALIBRATED
    return (
        "Decomposition: mean value analysis of the loaded processes with each number of them at work, then "
        "the balance of a Markov chain over where the processes are. Fitted to the ten runs of 157 clicks "
        f"with 650 and 1280 clicks of memory: a mean pause of {present.think_s:g} s, {present.blocks:g} file "
        f"transfers an interaction, of which nobody waits for {100 * present.behind:.0f} %, and "
        f"{1e3 * present.gap_s:.1f} ms between two requests; set: {1e3 * present.system_s:g} ms of "
        f"CPU time of "
        "the system. Tables III to V give the rest. Intervals are those of a further run, from how far the "
        "ten are off."
    )


def _why(case: Case) -> str:
    """Comparison of the disk time that the published numbers of a run imply with the model's."""
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


def _finding(errors: Sequence[tuple[Case, float]]) -> Claim:
    beyond = [f"{case.words} {100 * error:+.1f} %" for case, error in errors if abs(error) > GOOD]
    return PAPER.claim(
        "general-model",
        not beyond,
        f"{len(errors) - len(beyond)} of {len(errors)} measured runs within {100 * GOOD:.0f} %"
        + (f"; beyond: {'; '.join(beyond)}" if beyond else ""),
    )


def _runs() -> Table:
    rows: list[tuple[Cell, ...]] = []
    for case, ours in every():
        selected = elapsed(case)
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
                selected,
                None if published is None else f"{100 * (selected.value / published - 1):+.1f}",
                None if by_equation is None else f"{by_equation:.0f}",
                *cells,
            )
        )
    columns = (
        Column("run"),
        Column("kind"),
        Column("measured", unit="s", scaled=False),
        Column("general model", unit="s", scaled=False),
        Column("off, %", scaled=False),
        Column("equation 3.1", unit="s", scaled=False),
        Column("swaps", scaled=False),
        Column("model", scaled=False),
        Column("controller, %", scaled=False),
        Column("model", scaled=False),
        Column("queue", scaled=False),
        Column("model", scaled=False),
    )
    notes = (
        "Equation 3.1 with its extensions is taken from the run (157, 12, 12, 4) of Table VI; where the "
        "compute loop differs it needs the measured queue length.",
    )
    return Table(
        name="general-runs",
        caption="The runs of Tables VI and VII by the general model",
        columns=columns,
        rows=tuple(rows),
        notes=notes,
    )


def _choices() -> Table:
    """Effect on the errors of the choices that were made with the runs in sight."""
    rows: list[tuple[Cell, ...]] = []
    for name, change in _CHOICES.items():
        errors: dict[str, list[float]] = {"fitted": [], "predicted": []}
        for case in CASES:
            published = case.published("elapsed_s")
            if published is not None:
                result = predict(system(case, **change(case)))
                errors[case.kind].append(100.0 * (float(result["elapsed_s"]) / published - 1.0))
        cells = (
            cell
            for kind in errors.values()
            for cell in (
                f"{sum(kind) / len(kind):+.1f}",
                f"{math.sqrt(sum(error**2 for error in kind) / len(kind)):.1f}",
                f"{max(kind, key=abs):+.1f}",
            )
        )
        rows.append((name, *cells))
    columns = (
        Column("model"),
        *(
            Column(f"{kind}: {figure}, %", scaled=False)
            for kind in ("fitted", "predicted")
            for figure in ("mean", "root mean square", "worst")
        ),
    )
    notes = (
        "Accesses by track, slices, and the system's CPU time were chosen when all rows had been seen; "
        "nothing is fitted anew for another choice.",
    )
    return Table(
        name="general-choices",
        caption="How far elapsed times are off by choice",
        columns=columns,
        rows=tuple(rows),
        notes=notes,
    )


def _measured_swaps(case: Case) -> dict[str, Any]:
    """Swap times as Table IV has them."""
    times = (printed(SWAP_TIMES, "ps_clicks", size, "measured_ms") for size in case.sizes_clicks)
    return {"swap_time_s": tuple(1e-3 * item for item in times)}


_CHOICES: dict[str, Callable[[Case], dict[str, Any]]] = {
    "as it is": lambda _: {},
    "swap times of Table IV": _measured_swaps,
    "CPU shared, not in slices": lambda _: {"dispatch": "sharing"},
    "system's CPU time two thirds": lambda _: {"system_s": CALIBRATED.system_s * 2.0 / 3.0},
    "system's CPU time four thirds": lambda _: {"system_s": CALIBRATED.system_s * 4.0 / 3.0},
    "memory for all": lambda case: {"memory": case.pn * max(case.sizes_clicks)},
}


def _printed(case: Case, quantity: str) -> str | None:
    value = case.published(quantity)
    return None if value is None else f"{value:g}"


BASES = (
    ((157,), 12, 12, 650),
    ((314,), 12, 12, 1280),
    ((157,), 12, 6, 1280),
    ((157,), 354, 12, 1280),
)
"""Size, burst in ms, processes and memory of the runs that are changed: much swapping, some, none; CPU
bound."""


def _bases() -> list[Case]:
    return [
        case
        for wanted in BASES
        for case in CASES
        if (case.sizes_clicks, case.pc_ms, case.pn, case.mm_clicks) == wanted
    ]


def changes(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """Fields of the model's machine that differ, by what a reader calls the change."""
    (size,) = case.sizes_clicks
    present = calibration.CALIBRATED
    block_s, swap_s = calibration.block_time_s(), calibration.swap_time_s
    yield "memory doubled", {"memory": 2 * case.mm_clicks}
    yield "memory for all", {"memory": case.pn * size}
    yield "disk a third faster", {"block_time_s": 0.75 * block_s, "swap_time_s": 0.75 * swap_s(size)}
    yield "swaps on a controller of their own", {"own_controller": True}
    yield "CPU twice as fast", {"compute_s": 0.5e-3 * case.pc_ms, "system_s": 0.5 * present.system_s}
    yield "half as many users again", {"processes": case.pn * 3 // 2}
    yield "pauses twice as long", {"think_s": 2.0 * present.think_s}
    text = size // 2
    yield f"{text} clicks of shared text", {"text": text, "swap_time_s": swap_s(size - text)}
    unequal = (size // 2, 2 * size - size // 2)
    times = tuple(swap_s(item) for item in unequal)
    yield f"sizes {unequal[0]} and {unequal[1]}", {"size": unequal, "swap_time_s": times}


def other_machines() -> Table:
    """Every change of every base."""
    rows: list[tuple[Cell, ...]] = []
    for case in _bases():
        base = predict(calibration.system(case))
        rows.append((case.words, "as measured", *_answers(base, base)))
        for name, different in changes(case):
            result = predict(calibration.system(case, **different))
            rows.append((case.words, name, *_answers(result, base)))
    columns = (
        Column("run"),
        Column("machine"),
        Column("interactions", unit="1/s", scaled=False),
        Column("change, %", scaled=False),
        Column("response, s", scaled=False),
        Column("swaps an interaction", scaled=False),
        Column("controller, %", scaled=False),
        Column("CPU, %", scaled=False),
        Column("fit", scaled=False),
    )
    part = 100.0 * math.expm1(calibration.interval_part())
    notes = (
        f"A throughput has the interval of a further run, up to {part:.0f} % away; changes are better known, "
        "for what is off is off on both sides.",
        "A controller of their own for swaps bounds what overlapped seeks can bring: with those, transfers "
        "still wait for each other.",
        "A disk a third faster takes three quarters of the time for blocks and for swaps.",
    )
    caption = "What other machines would do, by the general model"
    return Table(name="general-what-if", caption=caption, columns=columns, rows=tuple(rows), notes=notes)


def _answers(found: Prediction, base: Prediction) -> tuple[Cell, ...]:
    value = float(found["throughput_per_s"])
    return (
        calibration.known_to(value, "1/s"),
        f"{100 * (value / float(base['throughput_per_s']) - 1):+.0f}",
        f"{float(found['response_s']):.2f}",
        f"{float(found['swaps_per_interaction']):.2f}",
        f"{100 * float(found['controller_utilisation']):.0f}",
        f"{100 * float(found['cpu_utilisation']):.0f}",
        f"{float(found['fitting']):.1f}",
    )
