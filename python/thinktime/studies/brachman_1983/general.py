"""The general model beside the runs of Tables VI and VII and beside equation 3.1; nothing is simulated."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from thinktime.documents.document import Cell, Column, Table
from thinktime.models.swapping import disk_bound
from thinktime.models.swapping.response_time import predict
from thinktime.models.swapping.swap_disk import Configuration
from thinktime.studies.brachman_1983 import other_machines
from thinktime.studies.brachman_1983.calibration import (
    CALIBRATED,
    block_time_s,
    elapsed,
    every,
    measures,
    predicted,
    system,
)
from thinktime.studies.brachman_1983.machine import INTERACTIONS
from thinktime.studies.brachman_1983.recomputed import printed
from thinktime.studies.brachman_1983.tables import CASES, FACTORIAL, NAME, SWAP_TIMES, Case
from thinktime.studies.cells import Claim
from thinktime.studies.study import Chapter

__all__ = ["GOOD", "chapter", "equation"]

GOOD = 0.12
"""A prediction within this part of the measured time is called good."""


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
    """Every run by the general model, and what it says of machines that were not measured."""
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
        "A closed network of disk, CPU and pauses, in which only so many processes as fit into memory can be "
        "at work; it asks for no saturated disk, and says when processes are swapped instead of being told.",
        f"{good} of {len(errors)} measured elapsed times are within {100 * GOOD:.0f} %; those of the "
        f"{len(new)} runs that nothing was fitted to are off by {100 * mean:+.1f} % on the mean, with a root "
        f"mean square of {100 * square:.1f} %.",
        f"Worst: {worst.words}, {100 * worst_error:+.1f} %. {_why(worst)}",
    )
    return Chapter(
        cells=(),
        claims=(_finding(errors),),
        summary=summary,
        tables=(_runs(), _choices(), other_machines.table()),
        method=_method(),
    )


def _method() -> str:
    known = CALIBRATED
    return (
        "Decomposition: mean value analysis of the loaded processes with each number of them at work, then "
        "the balance of a Markov chain over where the processes are. Fitted to the ten runs of 157 clicks "
        f"with 650 and 1280 clicks of memory: a mean pause of {known.think_s:g} s, {known.blocks:g} file "
        f"transfers an interaction, of which nobody waits for {100 * known.behind:.0f} %, and "
        f"{1e3 * known.gap_s:.1f} ms between two requests; set: {1e3 * known.system_s:g} ms of CPU time of "
        "the system. Tables III to V give the rest. Intervals are those of a further run, from how far the "
        "ten are off."
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


def _finding(errors: Sequence[tuple[Case, float]]) -> Claim:
    beyond = [f"{case.words} {100 * error:+.1f} %" for case, error in errors if abs(error) > GOOD]
    return Claim(
        study=NAME,
        id="general-model",
        source="asked for in the conclusions",
        holds=not beyond,
        statistic=f"{len(errors) - len(beyond)} of {len(errors)} measured runs within {100 * GOOD:.0f} %"
        + (f"; beyond: {'; '.join(beyond)}" if beyond else ""),
        text="a model that does not need a saturated disk predicts every elapsed time of Tables VI and VII",
    )


def _runs() -> Table:
    rows: list[tuple[Cell, ...]] = []
    for case, ours in every():
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
    """Show what the choices that were made in sight of the runs do to the errors."""
    rows: list[tuple[Cell, ...]] = []
    for name, change in _CHOICES.items():
        errors: dict[str, list[float]] = {"fitted": [], "predicted": []}
        for case in CASES:
            published = case.published("elapsed_s")
            if published is not None:
                found = predict(system(case, **change(case)))
                errors[case.kind].append(100.0 * (float(found["elapsed_s"]) / published - 1.0))
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
    return {"swap_time_s": tuple(1e-3 * each for each in times)}


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
