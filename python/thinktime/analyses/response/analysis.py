"""How long users wait, by number of users and by class of interaction."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.log import interactions
from thinktime.log.loads import Range, ranges
from thinktime.log.periods import Span, sessions
from thinktime.stats.estimate import Estimate, NotApplicable
from thinktime.stats.samples import quantile
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Response", "ResponseGroup", "Waiting", "analyse"]

Array = NDArray[np.float64]

WAITED = "waited"
"""Column of interactions: whether the user waited for the reply."""
N_RELIABLE = 10
CORRELATED = 0.2
THROUGHPUT_PIECES = 16


@dataclass(frozen=True, slots=True)
class Waiting:
    """One kind of wait [s]: mean and quantiles over the interactions that have it."""

    n: int
    mean: Estimate
    p50: Estimate
    p90: Estimate
    p99: Estimate


@dataclass(frozen=True, slots=True)
class ResponseGroup:
    """Interactions of one range of users, or of one class."""

    label: str
    """``all``, the class's name, or the range of users: ``3-4``."""
    population_low: float | None
    population_high: float | None
    arrived: int
    unfinished: int
    """Never completed in the log: their response times are longer than what was seen, and are left out."""
    response: Waiting | None
    """Input received to completion; None where too few completed."""
    first_output: Waiting | None
    """Input received to the first output."""
    reaction: Waiting | None
    """Input received to the first slice of service, where the source can see it."""
    service: Estimate | None
    """Mean CPU time received [s]."""
    stretch: Estimate | None
    """Stretch factor: mean response over mean service (ratio of means)."""
    throughput: Estimate | None
    """Interactions completed per second; None where the group is no stretch of time."""


@dataclass(frozen=True, slots=True)
class Response:
    """Response time and its parts."""

    overall: ResponseGroup
    by_population: tuple[ResponseGroup, ...]
    by_class: tuple[ResponseGroup, ...]
    """Empty where there is one class only."""
    without: ResponseGroup | None
    """All but the classes that were to be left out; None where none were."""
    growth: Estimate | None
    """Median response at the most users over that at the fewest, where both are reliable."""
    caveats: tuple[str, ...]


def analyse(
    log: Log, *, width: int | None = None, without: Sequence[str] = (), level: float = 0.95
) -> Response | NotApplicable:
    r"""Response times by number of users and by class of interaction.

    Response time is :math:`R = t_{completion} - t_{due}`; to first output and to first service
    (reaction time; Anderson and Sargent 1974) likewise. Means have batch-means
    intervals over successive interactions, quantiles intervals between order statistics. The stretch
    factor is :math:`\sum R_i / \sum S_i`, S the CPU time received (Brachman 1983): a ratio of means,
    which short interactions cannot dominate. Throughput is completions per second while that number of
    users was playing, so that Little's law can be checked: users = X (R + think time).

    Users do not wait for every reply: where the interactions have a column ``waited``, response times
    are of those that somebody waited for (Sekino 1969, Table 1).

    Parameters
    ----------
    log : Log
    width : int, optional
        Numbers of users looked at together, see `loads.ranges`.
    without : sequence of str
        Classes that are left out of one more group: heavy commands, whose long responses hide the others
        in the mean of all.
    level : float
        Confidence of the intervals.

    Raises
    ------
    InputError
        No interaction has one of the classes that are to be left out.
    """
    seen = interactions.read(log, [WAITED])
    if seen is None:
        return NotApplicable(
            "the log has no interactions: what users typed and when they were answered was not recorded",
            "play users with `thinktime play` while recording",
        )
    everything = np.flatnonzero(seen.columns[WAITED] != 0.0)
    covered = sessions(log, seen.origin_us, 0.0, _last(seen))
    overall = _group(seen, everything, "all", None, covered, level)
    if overall.response is None:
        return NotApplicable(
            f"none of {len(everything)} interactions completed", "play for longer than one takes"
        )
    by_population = tuple(
        _group(seen, part.rows, _range_label(part.low, part.high), (part.low, part.high), covered, level)
        for part in _ranges(seen, everything, width)
    )
    classes = seen.classes[everything]
    names = [str(name) for name in np.unique(classes)]
    by_class = tuple(
        _group(seen, everything[classes == name], name or "(none)", None, covered, level) for name in names
    )
    return Response(
        overall,
        by_population,
        by_class if len(names) > 1 else (),
        _without(seen, everything, names, without, covered, level),
        _growth(by_population, level),
        _caveats(seen, everything, overall, by_population),
    )


def _ranges(seen: interactions.Interactions, rows: NDArray[np.int64], width: int | None) -> Iterator[Range]:
    """Ranges of users, of the interactions in `rows` only."""
    for part in ranges(seen.columns["population"][rows], width):
        yield Range(part.low, part.high, rows[part.rows])


def _without(
    seen: interactions.Interactions,
    rows: NDArray[np.int64],
    names: Sequence[str],
    without: Sequence[str],
    covered: Sequence[Span],
    level: float,
) -> ResponseGroup | None:
    """All interactions but those of some classes."""
    if not without:
        return None
    for name in without:
        if name not in names:
            raise InputError(f"there is no class {name!r} to leave out; the classes are {', '.join(names)}")
    kept = rows[~np.isin(seen.classes[rows], list(without))]
    return _group(seen, kept, f"all but {', '.join(without)}", None, covered, level)


def _range_label(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g}-{high:g}"


def _group(
    seen: interactions.Interactions,
    rows: NDArray[np.int64],
    label: str,
    population: tuple[float, float] | None,
    covered: Sequence[Span],
    level: float,
) -> ResponseGroup:
    arrival = seen.times["due"][rows]
    response = seen.response[rows]
    done = ~np.isnan(response)
    service = seen.service[rows]
    both = done & ~np.isnan(service) & (service > 0)
    return ResponseGroup(
        label,
        population[0] if population else None,
        population[1] if population else None,
        len(rows),
        int(np.count_nonzero(~done)),
        _waiting(response, level),
        _waiting(seen.times["first_output"][rows] - arrival, level),
        _waiting(seen.times["first_service"][rows] - arrival, level),
        batch_means.batch_ratio(service[both], None, level).with_unit("s") if both.any() else None,
        batch_means.batch_ratio(response[both], service[both], level) if both.any() else None,
        _throughput(seen, population, covered, level),
    )


def _waiting(waits: Array, level: float) -> Waiting | None:
    known = waits[~np.isnan(waits)]
    if not len(known):
        return None
    p50, p90, p99 = (quantile(known, q, level).with_unit("s") for q in (0.5, 0.9, 0.99))
    return Waiting(len(known), batch_means.batch_ratio(known, None, level).with_unit("s"), p50, p90, p99)


def _last(seen: interactions.Interactions) -> float:
    """When the last interaction arrived or was completed [s]."""
    ends = np.concatenate([seen.times["due"], seen.times["completion"]])
    return float(np.nanmax(ends))


def _throughput(
    seen: interactions.Interactions,
    population: tuple[float, float] | None,
    covered: Sequence[Span],
    level: float,
) -> Estimate | None:
    """Completions per second in the stretches of time that had this population.

    Between two sessions nobody played, however long that was.
    """
    if population is None:
        return None
    arrival, load = seen.times["due"], np.rint(seen.columns["population"])
    known = ~np.isnan(load)
    arrival, load = arrival[known], load[known]
    completion = np.sort(seen.times["completion"][~np.isnan(seen.times["completion"])])
    inside = (load >= population[0]) & (load <= population[1])
    # A stretch lasts from its first arrival to the first arrival of the next.
    changes = np.flatnonzero(np.diff(inside)) + 1
    bounds = np.concatenate([[0], changes, [len(inside)]])
    ends = np.append(arrival, _last(seen))
    counts, lengths = [], []
    for first, last in itertools.pairwise(bounds):
        for span in covered if inside[first] else ():
            low, high = max(ends[first], span.start), min(ends[last], span.end)
            if high > low:
                edges = np.linspace(low, high, THROUGHPUT_PIECES + 1)
                counts.append(np.diff(np.searchsorted(completion, edges)))
                lengths.append(np.diff(edges))
    if not counts:
        return None
    rate = batch_means.batch_ratio(np.concatenate(counts), np.concatenate(lengths), level)
    return dataclasses.replace(rate, n=int(np.concatenate(counts).sum())).with_unit("interaction/s")


def _growth(groups: tuple[ResponseGroup, ...], level: float) -> Estimate | None:
    """Median at the most users over that at the fewest."""
    known = [group.response for group in groups if group.response and group.response.n >= N_RELIABLE]
    if len(known) < 2:
        return None
    few, many = known[0], known[-1]
    low = high = None
    # Ends of two independent intervals: conservative, the pair covers at least at `level`.
    if few.p50.high and many.p50.low is not None:
        low = many.p50.low / few.p50.high
    if few.p50.low and many.p50.high is not None:
        high = many.p50.high / few.p50.low
    if few.p50.value <= 0.0:
        return None
    ratio = many.p50.value / few.p50.value
    return Estimate(
        value=ratio,
        unit="",
        n=few.n + many.n,
        method="ratio of medians, from both intervals' ends",
        low=low,
        high=high,
        level=level,
    )


def _caveats(
    seen: interactions.Interactions,
    rows: NDArray[np.int64],
    overall: ResponseGroup,
    groups: tuple[ResponseGroup, ...],
) -> tuple[str, ...]:
    caveats = []
    if len(rows) < len(seen):
        caveats.append(
            f"Response times are of the {len(rows)} of {len(seen)} interactions that users waited for."
        )
    if overall.unfinished:
        part = overall.unfinished / overall.arrived
        caveats.append(
            f"{overall.unfinished} of {overall.arrived} interactions ({part:.1%}) never completed and are "
            "left out: the longest waits are among them, so means and high quantiles are too low."
        )
    if few := [group.label for group in groups if group.response is None or group.response.n < N_RELIABLE]:
        caveats.append(
            f"Fewer than {N_RELIABLE} interactions completed with {', '.join(few)} users: unreliable there."
        )
    late = (seen.times["sent"] - seen.times["due"])[rows]
    late = late[~np.isnan(late)]
    mean = overall.response.mean.value if overall.response else 0.0
    if len(late) and float(late.mean()) > 0.02 * mean:
        caveats.append(
            f"Inputs were sent {float(late.mean()):.3g} s late on average; the delay counts as response time."
        )
    follows = _autocorrelation(seen, rows)
    if follows > CORRELATED:
        caveats.append(
            f"Successive response times at one load are correlated ({follows:.2f}): intervals of "
            "quantiles, which take them as independent, are too narrow; those of means allow for it."
        )
    return tuple(caveats)


def _autocorrelation(seen: interactions.Interactions, rows: NDArray[np.int64]) -> float:
    """Correlation of successive response times about the mean of their number of users."""
    load = np.nan_to_num(seen.columns["population"])
    known = rows[~np.isnan(seen.response[rows])]
    _, group = np.unique(load[known], return_inverse=True)
    response = seen.response[known]
    means = np.bincount(group, response) / np.maximum(np.bincount(group), 1)
    value = float(batch_means.autocorrelation(response - means[group])[0]) if len(response) > 2 else 0.0
    return 0.0 if np.isnan(value) else value
