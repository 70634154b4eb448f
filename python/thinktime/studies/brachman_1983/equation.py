"""Equation 3.1 on measured and on simulated runs: Table VIII, section 5.4, Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from thinktime.documents import charts, document
from thinktime.documents.charts import Axis
from thinktime.documents.document import Column, Key, Table
from thinktime.models.swapping.disk_bound import LeftOut, leave_one_out, predict, swaps
from thinktime.models.swapping.swap_disk import Configuration
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983.components import block_time_s, swap_time_s
from thinktime.studies.brachman_1983.elapsed_by_users import figure_2
from thinktime.studies.brachman_1983.experiment import spread
from thinktime.studies.brachman_1983.recomputed import printed
from thinktime.studies.brachman_1983.runs import (
    APPLICATIONS,
    BLOCK_TIME,
    PAPER,
    PREDICTIONS,
    SWAP_TIMES,
    Case,
    fullest,
    mean_of,
)
from thinktime.studies.cells import Cell, Claim, Row
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter

PREDICTED_WITH_MS = 40.0
"""Tblock with which Table VIII comes out to its last digit; Table V has 39.8 ms."""
ERROR = 0.05
"""Error of measured elapsed times: what identical runs may differ by."""
GOOD = 0.10
"""A prediction within this part of the measured time is called good."""
KEYS = (
    Key("measured", colour="plain", shape="diamond"),
    Key("equation 3.1 on measured runs", colour="system", shape="circle"),
    Key("simulated", colour="user", shape="circle"),
    Key("equation 3.1 on simulated runs", colour="memory", shape="circle"),
)


def chapter(laboratory: Laboratory) -> Chapter:
    """Table VIII on measured and on simulated runs, the five applications, Figures 1 and 2."""
    theirs = leave_one_out(published_runs(PREDICTED_WITH_MS))
    ours = leave_one_out(simulated_runs(laboratory, own_times=False))
    selected = leave_one_out(simulated_runs(laboratory, own_times=True))
    figures = (*of_printed(theirs), *_simulated(laboratory, ours), *applications())
    errors = [
        f"{100 * min(off):+.1f} % to {100 * max(off):+.1f} %"
        for item in (theirs, ours, selected)
        if (off := [out.error for out in item])
    ]
    summary = (
        "Each run of twelve processes is predicted from each of the other five by equation 3.1: one swap "
        "goes with NL file requests, so times compare as Tblock + Tswap / NL. The mean of the five "
        f"predictions is off by {errors[0]} on measured runs and by {errors[1]} on simulated ones, both with "
        "the measured times of Tables IV and V.",
        f"With the times that blocks and swaps take in the simulated runs it is off by {errors[2]}: "
        f"{_ranges(laboratory)}.",
        f"Table VIII comes out to the printed digit with Tblock = {PREDICTED_WITH_MS} ms.",
    )
    method = (
        "NL = floor(MM / PS). Simulated runs are predicted with the measured times of Tables IV and V, as "
        "the thesis does with its own. Standard deviations of the five predictions have n − 1."
    )
    return Chapter(
        cells=figures,
        summary=summary,
        charts=(_figure_1(laboratory, theirs, ours), *figure_2(laboratory)),
        tables=(_table(theirs, ours, selected), _assumed(laboratory)),
        method=method,
    )


def _factors(laboratory: Laboratory, case: Case) -> tuple[float, float]:
    """Swaps with those of the model, and the time of a swap with Table IV, in a simulated run."""
    expected = swaps(mean_of(laboratory, case, "file_transfers"), case.nl)
    printed_s = printed(SWAP_TIMES, "ps_clicks", case.sizes_clicks[0], "measured_ms") / 1000.0
    return mean_of(laboratory, case, "swaps") / expected, mean_of(laboratory, case, "swap_time_s") / printed_s


def _ranges(laboratory: Laboratory) -> str:
    counts, times = zip(*(_factors(laboratory, case) for case in in_order()), strict=True)
    return (
        f"there a swap takes {min(times):.2f} to {max(times):.2f} times as long as in Table IV, and there "
        f"are {min(counts):.2f} to {max(counts):.2f} times as many swaps as the equation counts"
    )


def _assumed(laboratory: Laboratory) -> Table:
    """Swaps and their times, relative to those that the equation assumes."""
    rows: list[tuple[document.Cell, ...]] = []
    for case in in_order():
        count, time = _factors(laboratory, case)
        rows.append((case.words, f"{count:.2f}", f"{time:.2f}", f"{count * time:.2f}"))
    columns = (
        Column("run"),
        *(
            Column(name, scaled=False)
            for name in ("swaps over transfers / NL", "time over Table IV", "both together")
        ),
    )
    caption = "Swaps of the simulated runs against those that equation 3.1 counts, and their times"
    return Table(name="swaps-assumed", caption=caption, columns=columns, rows=tuple(rows))


def in_order() -> list[Case]:
    """The runs of twelve processes in the order of Table VIII: by their measured elapsed times."""
    return sorted(fullest(), key=lambda case: case.published("elapsed_s") or 0.0)


def configuration(
    case: Case, block_s: float, swap_s: float, elapsed_s: float, utilisation: float | None = None
) -> Configuration:
    """One run as the model takes it."""
    return Configuration(
        block_time_s=block_s,
        swap_time_s=swap_s,
        memory=case.mm_clicks,
        size=case.sizes_clicks,
        processes=case.pn,
        burst_s=case.pc_ms / 1000.0,
        utilisation=utilisation,
        elapsed_s=elapsed_s,
    )


def published_runs(block_ms: float) -> list[Configuration]:
    """The runs of Table VIII as measured, with the measured swap times of Table IV."""
    result = []
    for case in in_order():
        swap_ms = printed(SWAP_TIMES, "ps_clicks", case.sizes_clicks[0], "measured_ms")
        elapsed = case.published("elapsed_s")
        assert elapsed is not None
        result.append(configuration(case, block_ms / 1000.0, swap_ms / 1000.0, elapsed))
    return result


def simulated_runs(laboratory: Laboratory, own_times: bool) -> list[Configuration]:
    """The runs of Table VIII as simulated.

    Parameters
    ----------
    machine : Machine
    own_times : bool
        Whether swaps and blocks take what they take in the runs, or what Tables IV and V measured.
    """
    block_s = float(block_time_s(laboratory).mean())
    if not own_times:
        block_s = printed(BLOCK_TIME, "quantity", "Tblock", "measured_ms") / 1000.0
    result = []
    for case in in_order():
        swap_s = float(swap_time_s(laboratory, case.sizes_clicks[0]).mean())
        if not own_times:
            swap_s = printed(SWAP_TIMES, "ps_clicks", case.sizes_clicks[0], "measured_ms") / 1000.0
        result.append(configuration(case, block_s, swap_s, mean_of(laboratory, case, "elapsed_s")))
    return result


def _rows() -> Sequence[Row]:
    return PAPER.tables[PREDICTIONS].rows


def _exact(value: float, inputs: int, method: str, unit: str = "") -> Estimate:
    return Estimate(value=value, unit=unit, n=inputs, method=method)


def of_printed(outs: Sequence[LeftOut]) -> Iterator[Cell]:
    """Table VIII from its own measured times, cell by cell."""
    method = "equation 3.1 on printed numbers"
    for row, out in zip(_rows(), outs, strict=True):
        for quantity, value in (
            ("measured_plus_minus_s", ERROR * out.measured_s),
            ("mean_prediction_s", out.mean_s),
            ("standard_deviation_s", out.standard_deviation_s),
        ):
            ours = _exact(value, len(out.predictions_s), method, "s")
            yield PAPER.recomputed(PREDICTIONS, row, quantity, ours)


def _simulated(laboratory: Laboratory, outs: Sequence[LeftOut]) -> Iterator[Cell]:
    method = "equation 3.1 on simulated runs"
    for row, case, out in zip(_rows(), in_order(), outs, strict=True):
        for quantity, value in (
            ("measured_plus_minus_s", spread(laboratory, case) * out.measured_s),
            ("mean_prediction_s", out.mean_s),
            ("standard_deviation_s", out.standard_deviation_s),
        ):
            ours = _exact(value, len(out.predictions_s), method, "s")
            yield PAPER.simulated(PREDICTIONS, row, quantity, ours)


def applications() -> Iterator[Cell]:
    """Section 5.4, and numbers of the text about it."""
    for row in PAPER.tables[APPLICATIONS].rows:
        result = predict(*_sides(row))["ratio_as_printed"]
        ratio = _exact(result, 6, "equation 3.1 on printed numbers")
        change = _exact(100.0 * (result - 1.0), 6, "equation 3.1 on printed numbers", "%")
        yield PAPER.recomputed(APPLICATIONS, row, "ratio_printed", ratio)
        yield PAPER.recomputed(APPLICATIONS, row, "change_percent_printed", change)
        fact = f"application-{row['example']}"
        stated = change if PAPER.facts[fact].unit == "percent" else ratio
        yield PAPER.recomputed_fact(fact, stated)


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


def good(outs: Sequence[LeftOut], whose: str) -> Claim:
    """Claim that the mean of the predictions of each run comes near it."""
    errors = [out.error for out in outs]
    worst = max(errors, key=abs)
    listed = ", ".join(f"{100 * error:+.1f} %" for error in errors)
    return PAPER.claim(
        f"model-{whose}",
        abs(worst) <= GOOD,
        f"mean of five predictions against the {whose} time: {listed}; within {100 * GOOD:.0f} % is good",
    )


def _table(theirs: Sequence[LeftOut], *ours: Sequence[LeftOut]) -> Table:
    """Predictions from measured and from simulated runs, with the run itself."""
    rows = []
    for case, *outs in zip(in_order(), theirs, *ours, strict=True):
        cells: list[str] = []
        for out in outs:
            off = f"{100 * out.error:+.1f} %".replace("-", "−")
            cells.extend((f"{out.mean_s:.0f} ± {out.standard_deviation_s:.0f}", off))
        measured, simulated = (f"{out.measured_s:.0f}" for out in outs[:2])
        rows.append((case.words, measured, *cells[:2], simulated, *cells[2:]))
    columns = (
        Column("run"),
        *(
            Column(name, scaled=False)
            for name in (
                "measured, s",
                "predicted, s",
                "off",
                "simulated, s",
                "predicted from simulated, s",
                "off from simulated",
                "with times of the runs, s",
                "off with times of the runs",
            )
        ),
    )
    caption = "Each run of twelve processes, predicted from the other five (mean ± standard deviation)"
    return Table(name="leave-one-out", caption=caption, columns=columns, rows=tuple(rows))


def _figure_1(laboratory: Laboratory, theirs: Sequence[LeftOut], ours: Sequence[LeftOut]) -> document.Figure:
    rows: list[dict[str, object]] = []
    for case, out, selected in zip(in_order(), theirs, ours, strict=True):
        reach = (
            ERROR * out.measured_s,
            out.standard_deviation_s,
            spread(laboratory, case) * selected.measured_s,
            selected.standard_deviation_s,
        )
        values = (out.measured_s, out.mean_s, selected.measured_s, selected.mean_s)
        for key, value, half in zip(KEYS, values, reach, strict=True):
            shown = f"{value:.0f} ± {half:.0f} s"
            ends = {"value": value, "low": value - half, "high": value + half}
            rows.append({"label": case.words, "series": key.name, "shown": shown, **ends})
    columns = (Column("run"), Column("which"), Column("elapsed time", scaled=False))
    data = tuple((str(row["label"]), str(row["series"]), str(row["shown"])) for row in rows)
    outside = sum(
        abs(out.mean_s - out.measured_s) > ERROR * out.measured_s + out.standard_deviation_s for out in theirs
    )
    return document.Figure(
        name="figure-1",
        title="What the model says, and what was measured (Figure 1)",
        chart=partial(
            charts.dots, rows, KEYS, Axis.from_zero("elapsed time, s", rows), ("run", "which", "time")
        ),
        data=Table(
            name="figure-1-data",
            caption="Elapsed time of the runs of twelve processes",
            columns=columns,
            rows=data,
        ),
        alt="Measured times within 5 %; predictions and simulated times with their standard "
        "deviations. The bars of measured and predicted time do not meet in "
        f"{outside} of {len(theirs)} runs.",
        keys=KEYS,
    )
