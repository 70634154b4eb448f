"""Totals and averages of the users of a script."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import facts, observations
from thinktime.questions.checks import check_level, check_log
from thinktime.results import Result
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.facts import Session
    from thinktime.log.observations import Observations

Array = NDArray[np.float64]

COLUMNS = (
    "script_interactions",
    "script_run_s",
    "script_swap_s",
    "script_waits",
    "script_response_s",
)
"""Columns of the samples that the report reads."""
FEW = 66
"""Interactions of one run of the standard script; fewer are less than one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """State of the system while the script was run; None is not recorded, or not modelled."""

    users: int | None
    """Users at their terminals, those who play the script included."""
    scripted_users: int | None
    """Those of them who play it."""
    script: str | None
    script_interactions: int | None
    """Interactions of one run of the script."""
    directory_entries: int | None
    """Entries of the user's file directory."""
    reloaded_recently: bool | None
    """True if the file system was reloaded not long before."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ScriptReport(Result):
    """Totals and averages of the scripted users, in the form of run CPM01 (Sekino 1969)."""

    status: Status
    runs: int
    """Sessions of the log: replications, where it is simulated."""
    real_time_s: float
    """Measured time of all of them [s]."""
    interactions: int
    """Interactions that were completed."""
    waits: int
    """Those of them that the user waited for."""
    run_s: float
    """Total run time [s]."""
    swap_s: float
    """Total swap time [s]."""
    run: Estimate
    """Run time by interaction [s]."""
    swap: Estimate
    """Swap time by interaction [s]."""
    cpu: Estimate
    """Their sum: CPU time by interaction [s]."""
    response: Estimate | None
    """Mean response of the interactions that were waited for [s]; None where there was none."""
    script_time: Estimate | None
    """Real time of one run of the script from begin to end [s]; None where none was completed."""
    caveats: tuple[Caveat, ...]


def analyse(log: Log, *, level: float = 0.95) -> ScriptReport | NotApplicable:
    r"""Run and swap time of scripted users by interaction, and their mean response.

    Times are divided by all interactions, responses by those that were waited for (Sekino 1969, footnote to
    the averages):

    .. math:: \bar t = \sum_i t_i / \sum_i n_i

    over intervals i of the samples, with an interval as in `stats.series.batch_means.batch_ratio`.

    Parameters
    ----------
    log : Log
        One whose samples have the run and swap time of scripted users.
    level : float
        Confidence of the intervals.

    Raises
    ------
    TypeError
        `log` is not an open log.
    """
    check_log(log)
    check_level(level)
    columns = {column.name for column in log.schema("samples")}
    if not columns.issuperset(COLUMNS):
        return NotApplicable(
            "the samples do not have the run and swap time of a script's users",
            "simulate a system that does: thinktime simulate ctss --replications 1 --seed 1 -o run",
        )
    pieces = observations.held(lambda: observations.chunks(log, COLUMNS))
    intervals, real_time_s, totals = 0, 0.0, np.zeros(len(COLUMNS))
    for piece in pieces():
        intervals, real_time_s = intervals + len(piece), real_time_s + float(piece.length_s.sum())
        totals += [column.sum() for column in _columns(piece)]
    interactions, run_s, swap_s, waits, _ = totals.tolist()
    if not interactions > 0.0:
        return NotApplicable("no interaction of a scripted user was completed", "simulate for longer")
    run, swap, cpu, response = (batch_means.Batches(intervals, 1) for _ in range(4))
    for piece in pieces():
        count, ran, swapped, waited, responded = _columns(piece)
        for batches, amounts, counts in (
            (run, ran, count),
            (swap, swapped, count),
            (cpu, ran + swapped, count),
            (response, responded, waited),
        ):
            batches.absorb(amounts[:, None], counts)

    def mean(batches: batch_means.Batches) -> Estimate:
        return batches.interval(0, level).with_unit("s")

    sessions = facts.sessions(log)
    return ScriptReport(
        status=_status(log),
        runs=len(sessions),
        real_time_s=real_time_s,
        interactions=int(interactions),
        waits=int(waits),
        run_s=run_s,
        swap_s=swap_s,
        run=mean(run),
        swap=mean(swap),
        cpu=mean(cpu),
        response=mean(response) if waits > 0.0 else None,
        script_time=_script_time(sessions),
        caveats=tuple(_caveats(int(interactions), sessions)),
    )


def _columns(piece: Observations) -> list[Array]:
    """Columns of some intervals; what was not measured counts as zero."""
    return [np.nan_to_num(piece.columns[name]) for name in COLUMNS]


def _status(log: Log) -> Status:
    status = facts.last_machine(log).table("run_report")
    return Status(
        users=status.whole("users"),
        scripted_users=status.whole("scripted_users"),
        script=status.text("script"),
        script_interactions=status.whole("script_interactions"),
        directory_entries=status.whole("directory_entries"),
        reloaded_recently=status.flag("reloaded_recently"),
    )


def _script_time(sessions: Sequence[Session]) -> Estimate | None:
    """Mean over the runs of the script that each session completed, each counting as often as it was."""
    times, runs = [], []
    for session in sessions:
        figures = {name: response.value for name, response in session.responses().items()}
        time_s, count = figures.get("real_time_s"), figures.get("script_runs")
        if time_s is not None and count:
            times.append(time_s * count)
            runs.append(count)
    if not runs:
        return None
    if len(runs) > 1:
        return batch_means.batch_ratio(times, runs).with_unit("s")
    return Estimate(value=sum(times) / sum(runs), unit="s", n=int(sum(runs)), method="mean")


def _caveats(interactions: int, sessions: Sequence[Session]) -> Iterator[Caveat]:
    if interactions < FEW:
        yield Caveat("few_interactions", interactions=interactions)
    reports = [session.machine.table("run_report").values for session in sessions]
    if any(report != reports[-1] for report in reports):
        yield Caveat("sessions_differ")
