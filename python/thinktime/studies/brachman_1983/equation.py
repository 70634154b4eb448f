"""Equation 3.1 on measured and on simulated runs: Table VIII, section 5.4, Figures 1 and 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from thinktime.documents.document import Col, Table
from thinktime.models.swapping.disk_bound import LeftOut, leave_one_out, swaps
from thinktime.models.swapping.swap_disk import Configuration
from thinktime.studies.brachman_1983 import charts
from thinktime.studies.brachman_1983.components import block_time_s, swap_time_s
from thinktime.studies.brachman_1983.recomputed import (
    PREDICTED_WITH_MS,
    applications,
    configuration,
    published_runs,
    table_viii,
)
from thinktime.studies.brachman_1983.runs import (
    BY_TIME,
    PAPER,
    PREDICTIONS,
    SIZES,
    Case,
    block_ms,
    mean_of,
    spread,
    swap_ms,
)
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import exact
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.study import Chapter


def chapter(laboratory: Laboratory) -> Chapter:
    """Table VIII on measured and on simulated runs, the five applications, Figures 1 and 2."""
    outs = (
        leave_one_out(published_runs(PREDICTED_WITH_MS)),
        leave_one_out(simulated_runs(laboratory, as_measured=True)),
        leave_one_out(simulated_runs(laboratory, as_measured=False)),
    )
    theirs, ours, _ = outs
    errors = [
        f"{100 * min(out.error for out in item):+.1f} % to {100 * max(out.error for out in item):+.1f} %"
        for item in outs
    ]
    return Chapter(
        cells=(*table_viii(theirs), *_simulated(laboratory, ours), *applications()),
        summary=(
            "Each run of twelve processes is predicted from each of the other five by equation 3.1: one swap "
            "goes with NL file requests, so times compare as Tblock + Tswap / NL. The mean of the five "
            f"predictions is off by {errors[0]} on measured runs and by {errors[1]} on simulated ones, both "
            "with the measured times of Tables IV and V.",
            f"With the times that blocks and swaps take in the simulated runs it is off by {errors[2]}: "
            f"{_ranges(laboratory)}.",
            f"Table VIII comes out to the printed digit with Tblock = {PREDICTED_WITH_MS} ms.",
        ),
        charts=(
            charts.figure_1(laboratory, theirs, ours),
            *(charts.figure_2(laboratory, size) for size in SIZES),
        ),
        tables=(_left_out(*outs), _assumed(laboratory)),
        method=(
            "NL = floor(MM / PS). Simulated runs are predicted with the measured times of Tables IV and V, "
            "as the thesis does with its own. Standard deviations of the five predictions have n − 1."
        ),
    )


def simulated_runs(laboratory: Laboratory, *, as_measured: bool) -> list[Configuration]:
    """The runs of Table VIII as simulated.

    Parameters
    ----------
    laboratory : Laboratory
    as_measured : bool
        Whether swaps and blocks take what Tables IV and V measured, or what they take in the runs.
    """
    block_s = block_ms() / 1000.0 if as_measured else float(block_time_s(laboratory).mean())
    return [
        configuration(
            case,
            block_s,
            swap_ms(*case.sizes_clicks) / 1000.0
            if as_measured
            else float(swap_time_s(laboratory, case.sizes_clicks[0]).mean()),
            mean_of(laboratory, case, "elapsed_s"),
        )
        for case in BY_TIME
    ]


def _simulated(laboratory: Laboratory, outs: Sequence[LeftOut]) -> Iterator[Cell]:
    """Table VIII from simulated runs, cell by cell."""
    for row, case, out in zip(PAPER.rows(PREDICTIONS), BY_TIME, outs, strict=True):
        for quantity, value in (
            ("measured_plus_minus_s", spread(laboratory, case) * out.measured_s),
            ("mean_prediction_s", out.mean_s),
            ("standard_deviation_s", out.standard_deviation_s),
        ):
            yield PAPER.simulated(PREDICTIONS, row, quantity, exact(value, "s", len(out.predictions_s)))


def _factors(laboratory: Laboratory, case: Case) -> tuple[float, float]:
    """Swaps over those of the model, and the time of a swap over that of Table IV, in a simulated run."""
    expected = swaps(mean_of(laboratory, case, "file_transfers"), case.nl)
    time_s = swap_ms(*case.sizes_clicks) / 1000.0
    return mean_of(laboratory, case, "swaps") / expected, mean_of(laboratory, case, "swap_time_s") / time_s


def _ranges(laboratory: Laboratory) -> str:
    counts, times = zip(*(_factors(laboratory, case) for case in BY_TIME), strict=True)
    return (
        f"there a swap takes {min(times):.2f} to {max(times):.2f} times as long as in Table IV, and there "
        f"are {min(counts):.2f} to {max(counts):.2f} times as many swaps as the equation counts"
    )


def _assumed(laboratory: Laboratory) -> Table:
    """Swaps and their times, relative to those that the equation assumes."""
    return Table.of(
        [(case.words, *_factors(laboratory, case)) for case in BY_TIME],
        Col("run", lambda run: run[0]),
        Col("swaps over transfers / NL", lambda run: f"{run[1]:.2f}", scaled=False),
        Col("time over Table IV", lambda run: f"{run[2]:.2f}", scaled=False),
        Col("both together", lambda run: f"{run[1] * run[2]:.2f}", scaled=False),
        name="swaps-assumed",
        caption="Swaps of the simulated runs against those that equation 3.1 counts, and their times",
    )


def _left_out(theirs: Sequence[LeftOut], ours: Sequence[LeftOut], in_runs: Sequence[LeftOut]) -> Table:
    """Predictions from measured and from simulated runs, with the run itself."""

    def predicted(out: LeftOut) -> str:
        return f"{out.mean_s:.0f} ± {out.standard_deviation_s:.0f}"

    def error(out: LeftOut) -> str:
        return f"{100 * out.error:+.1f} %".replace("-", "−")

    return Table.of(
        list(zip(BY_TIME, theirs, ours, in_runs, strict=True)),
        Col("run", lambda run: run[0].words),
        Col("measured, s", lambda run: f"{run[1].measured_s:.0f}", scaled=False),
        Col("predicted, s", lambda run: predicted(run[1]), scaled=False),
        Col("off", lambda run: error(run[1]), scaled=False),
        Col("simulated, s", lambda run: f"{run[2].measured_s:.0f}", scaled=False),
        Col("predicted from simulated, s", lambda run: predicted(run[2]), scaled=False),
        Col("off from simulated", lambda run: error(run[2]), scaled=False),
        Col("with times of the runs, s", lambda run: predicted(run[3]), scaled=False),
        Col("off with times of the runs", lambda run: error(run[3]), scaled=False),
        name="leave-one-out",
        caption="Each run of twelve processes, predicted from the other five (mean ± standard deviation)",
    )
