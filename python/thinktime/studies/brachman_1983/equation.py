"""Equation 3.1 on measured and on simulated runs: Table VIII, section 5.4, Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from thinktime.models.ratio import LeftOut, leave_one_out, predict
from thinktime.models.swap_disk import Configuration
from thinktime.reports import charts, document
from thinktime.reports.charts import Axis
from thinktime.reports.compared import Figure, Finding, Row, Tolerance
from thinktime.reports.document import Column, Key, Table
from thinktime.stats.estimate import Estimate
from thinktime.studies.brachman_1983.devices import block_time_s, swap_time_s
from thinktime.studies.brachman_1983.experiment import spread
from thinktime.studies.brachman_1983.lines import figure_2
from thinktime.studies.brachman_1983.machine import Machine, fullest
from thinktime.studies.brachman_1983.recomputed import printed
from thinktime.studies.brachman_1983.tables import APPLICATIONS, NAME, PAPER, PREDICTIONS, SWAP_TIMES, Case
from thinktime.studies.study import Chapter

__all__ = [
    "PREDICTED_WITH_MS",
    "TABLES",
    "applications",
    "chapter",
    "configuration",
    "good",
    "in_order",
    "of_printed",
    "published_runs",
    "simulated_runs",
]

TABLES = (PREDICTIONS, APPLICATIONS, "facts")
DIGITS = Tolerance("digits")
PREDICTED_WITH_MS = 40.0
"""Tblock with which Table VIII comes out to its last digit; Table V has 39.8 ms."""
ERROR = 0.05
"""Error of measured elapsed times: what identical runs may differ by."""
GOOD = 0.10
"""A prediction within this part of the measured time is called good."""
KEYS = (
    Key("measured", "plain", "diamond"),
    Key("equation 3.1 on measured runs", "system", "circle"),
    Key("simulated", "user", "circle"),
    Key("equation 3.1 on simulated runs", "memory", "circle"),
)


def chapter(machine: Machine) -> Chapter:
    """Table VIII on measured and on simulated runs, the five applications, Figures 1 and 2."""
    theirs = leave_one_out(published_runs(PREDICTED_WITH_MS))
    ours = leave_one_out(simulated_runs(machine))
    figures = (*of_printed(theirs), *_simulated(machine, ours), *applications())
    errors = [
        f"{100 * min(off):+.1f} % to {100 * max(off):+.1f} % on {name} runs"
        for name, each in (("measured", theirs), ("simulated", ours))
        if (off := [out.error for out in each])
    ]
    summary = (
        "Each run of twelve processes is predicted from each of the other five by equation 3.1: one swap "
        "goes with NL file requests, so times compare as Tblock + Tswap / NL. The mean of the five "
        f"predictions is off by {', '.join(errors)}.",
        f"Table VIII comes out to the printed digit with Tblock = {PREDICTED_WITH_MS} ms.",
    )
    method = (
        "NL = floor(MM / PS). On simulated runs Tblock and Tswap are the simulated ones of Tables IV and V. "
        "Standard deviations of the five predictions have n − 1."
    )
    return Chapter(
        figures,
        (),
        summary,
        (_figure_1(machine, theirs, ours), *figure_2(machine)),
        (_table(theirs, ours),),
        method=method,
    )


def in_order() -> list[Case]:
    """Return the runs of twelve processes in the order of Table VIII: by their measured elapsed times."""
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
    """Return the runs of Table VIII as measured, with the measured swap times of Table IV."""
    found = []
    for case in in_order():
        swap_ms = printed(SWAP_TIMES, "ps_clicks", case.sizes_clicks[0], "measured_ms")
        elapsed = case.published("elapsed_s")
        assert elapsed is not None
        found.append(configuration(case, block_ms / 1000.0, swap_ms / 1000.0, elapsed))
    return found


def simulated_runs(machine: Machine) -> list[Configuration]:
    """Return the runs of Table VIII as simulated, with the simulated times of swaps and blocks."""
    block_s = float(block_time_s(machine).mean())
    return [
        configuration(
            case,
            block_s,
            float(swap_time_s(machine, case.sizes_clicks[0]).mean()),
            machine.mean(case, "elapsed_s"),
        )
        for case in in_order()
    ]


def _rows() -> Sequence[Row]:
    return PAPER.tables[PREDICTIONS].rows


def _exact(value: float, inputs: int, method: str, unit: str = "") -> Estimate:
    return Estimate(value, unit, inputs, method)


def of_printed(outs: Sequence[LeftOut]) -> Iterator[Figure]:
    """Table VIII from its own measured times, cell by cell."""
    method = "equation 3.1 on printed numbers"
    for row, out in zip(_rows(), outs, strict=True):
        for quantity, value in (
            ("measured_plus_minus_s", ERROR * out.measured_s),
            ("mean_prediction_s", out.mean_s),
            ("standard_deviation_s", out.standard_deviation_s),
        ):
            ours = _exact(value, len(out.predictions_s), method, "s")
            yield PAPER.figure(PREDICTIONS, row, quantity, ours, "arithmetic", DIGITS)


def _simulated(machine: Machine, outs: Sequence[LeftOut]) -> Iterator[Figure]:
    method = "equation 3.1 on simulated runs"
    for row, case, out in zip(_rows(), in_order(), outs, strict=True):
        for quantity, value, allowed in (
            ("measured_plus_minus_s", spread(machine, case) * out.measured_s, None),
            ("mean_prediction_s", out.mean_s, Tolerance("relative", GOOD)),
            ("standard_deviation_s", out.standard_deviation_s, None),
        ):
            ours = _exact(value, len(out.predictions_s), method, "s")
            yield PAPER.figure(PREDICTIONS, row, quantity, ours, "predicted", allowed)


def applications() -> Iterator[Figure]:
    """Section 5.4, and what the text says of it."""
    facts = dict(enumerate(("U-F39", "U-F40", "U-F41", "U-F42", "U-F43"), start=1))
    for row in PAPER.tables[APPLICATIONS].rows:
        found = predict(*_sides(row))["ratio_as_printed"]
        ratio = _exact(found, 6, "equation 3.1 on printed numbers")
        change = _exact(100.0 * (found - 1.0), 6, "equation 3.1 on printed numbers", "%")
        yield PAPER.figure(APPLICATIONS, row, "ratio_printed", ratio, "arithmetic", DIGITS)
        yield PAPER.figure(APPLICATIONS, row, "change_percent_printed", change, "arithmetic", DIGITS)
        fact = facts[int(row["example"])]
        stated = change if PAPER.facts[fact].unit == "percent" else ratio
        yield PAPER.fact(fact, stated, "arithmetic", DIGITS)


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


def good(outs: Sequence[LeftOut], whose: str) -> Finding:
    """Whether the mean of the predictions of each run comes near it."""
    errors = [out.error for out in outs]
    worst = max(errors, key=abs)
    listed = ", ".join(f"{100 * error:+.1f} %" for error in errors)
    return Finding(
        NAME,
        f"model-{whose}",
        "Table VIII, Figure 1",
        abs(worst) <= GOOD,
        f"mean of five predictions against the {whose} time: {listed}; within {100 * GOOD:.0f} % is good",
        f"equation 3.1 is a good approximation of the {whose} elapsed times of twelve processes",
    )


def _table(theirs: Sequence[LeftOut], ours: Sequence[LeftOut]) -> Table:
    rows = []
    for case, out, own in zip(in_order(), theirs, ours, strict=True):
        cells = [f"{each.measured_s:.0f}" for each in (out, own)]
        told = [f"{each.mean_s:.1f} ± {each.standard_deviation_s:.1f}" for each in (out, own)]
        off = [f"{100 * each.error:+.1f} %" for each in (out, own)]
        rows.append((case.words, cells[0], told[0], off[0], cells[1], told[1], off[1]))
    columns = (
        Column("run"),
        *(
            Column(name, scaled=False)
            for name in (
                "measured, s",
                "predicted from measured, s",
                "off",
                "simulated, s",
                "predicted from simulated, s",
                "off, simulated",
            )
        ),
    )
    caption = "Each run of twelve processes, predicted from the other five (mean ± standard deviation)"
    return Table("leave-one-out", caption, columns, tuple(rows))


def _figure_1(machine: Machine, theirs: Sequence[LeftOut], ours: Sequence[LeftOut]) -> document.Figure:
    rows: list[dict[str, object]] = []
    for case, out, own in zip(in_order(), theirs, ours, strict=True):
        reach = (
            ERROR * out.measured_s,
            out.standard_deviation_s,
            spread(machine, case) * own.measured_s,
            own.standard_deviation_s,
        )
        values = (out.measured_s, out.mean_s, own.measured_s, own.mean_s)
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
        "figure-1",
        "What the model says, and what was measured (Figure 1)",
        partial(charts.dots, rows, KEYS, Axis("elapsed time, s"), ("run", "which", "time")),
        Table("figure-1-data", "Elapsed time of the runs of twelve processes", columns, data),
        "Measured times within 5 %; predictions and simulated times with their standard "
        "deviations. The bars of measured and predicted time do not meet in "
        f"{outside} of {len(theirs)} runs.",
        KEYS,
    )
