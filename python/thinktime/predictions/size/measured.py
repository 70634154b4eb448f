"""What a log says about its users: work and waits by number of users, background load, and memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.log import facts, interactions, observations
from thinktime.log.periods import sessions
from thinktime.models.sizing import Level, Machine
from thinktime.predictions.size import background, disks, memory
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means
from thinktime.stats.series.shares import quantile_in_time

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.log.interactions import Interactions
    from thinktime.log.observations import Observations

Array = NDArray[np.float64]

N_LEAST = 20
"""Completed interactions below which a number of users is left out."""
SETTLING_CYCLES = 2.0
"""Mean times from one input of a user to the next that are left out after the number of users changed."""
SETTLING_MOST = 0.3
"""Largest share of the time at one number of users that is left out."""
BUSY = ("user_s", "nice_s", "system_s", "irq_s", "softirq_s")
QUANTILES = (0.5, 0.95, 0.99)
"""Percentiles of response times that goals may limit, besides the 90th."""
SLOPE_LEAST = 1.5
"""Ratio of most to least throughput from which background load is separated from interactions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Interactions and machine at one number of users."""

    users: int
    n: int
    """Completed interactions."""
    seconds: float
    """Time observed [s]."""
    throughput: Estimate
    response: Estimate
    """Mean response time [s]."""
    p90: Estimate
    service: Estimate
    """CPU time of an interaction [s], as its own processes used it."""
    think: Estimate
    """Think time [s]."""
    waited: Estimate | None
    """Wait for a CPU of an interaction [s], where it was measured."""
    machine_cpu: float | None
    """CPU time of the machine per second, without that of work at low priority, which gives way to users;
    None where it was not recorded."""
    aside: float = 0.0
    """CPU time of work at low priority per second."""
    rest_slope: Estimate | None = None
    """Growth of the time that is neither CPU time nor wait for a CPU, for each other interaction in progress
    at the arrival [s]; None where waits for a CPU were not measured."""
    quantiles: Mapping[float, Estimate] = field(default_factory=dict)
    """Further percentiles of the response time [s], by the part of the responses."""

    def quantile(self, q: float) -> Estimate | None:
        """Percentile of the response time [s]; None if it was not estimated."""
        return self.p90 if q == 0.9 else self.quantiles.get(q)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Users, work and machine of one or several logs."""

    names: tuple[str, ...]
    machine: Machine
    """Machine that was measured, with its background load: as much of it as users waited for."""
    stretches: tuple[Stretch, ...]
    """By number of users; those with the same number from several logs or sessions are joined."""
    extra_cpu_s: float
    """CPU time per interaction outside its own processes: terminals, kernel threads [s]."""
    services: Array
    """CPU time of each interaction [s]."""
    memory: memory.Memory | None
    caveats: tuple[Caveat, ...]
    disks: tuple[disks.Disk, ...] = ()
    """Disks that the users kept busy, the busiest first; empty where none was recorded."""
    yielding: background.Yielding | None = None
    """Background load that gives way to users; None where it is not seen to."""
    kinds: NDArray[np.str_] = field(default_factory=lambda: np.empty(0, dtype=np.str_))
    """Class of each interaction of `services`; empty where no log was measured."""

    @property
    def n(self) -> int:
        """Completed interactions."""
        return sum(one.n for one in self.stretches)

    @property
    def peak(self) -> int:
        """Most users measured; 1 where nothing was."""
        return max((one.users for one in self.stretches), default=1)

    def services_of(self, mix: Sequence[tuple[str, float]]) -> Array:
        """CPU times if classes are more or less frequent by these factors: as many quantiles of them."""
        if not mix:
            return self.services
        weights = np.ones(len(self.services))
        for name, factor in mix:
            weights[self.kinds == name] *= factor
        order = np.argsort(self.services, kind="stable")
        ends = np.cumsum(weights[order])
        at = (np.arange(len(order)) + 0.5) / len(order) * ends[-1]
        result: Array = self.services[order][np.searchsorted(ends, at)]
        return result

    def machine_seen(self, levels: int) -> Machine:
        """Machine as the first numbers of users show how much of its background load they waited for."""
        cpus, others = self.machine.cpus, self.machine.others
        waits = _waits(self.stretches[:levels], self.extra_cpu_s)
        return _machine(cpus, others, background.yielding(waits, cpus, others))

    def levels(self) -> tuple[Level, ...]:
        """Levels as the model takes them."""
        return tuple(
            Level(
                users=one.users,
                response_s=one.response.value,
                response_error=_error(one.response),
                cpu_s=one.service.value + self.extra_cpu_s,
                cpu_error=_error(one.service),
                think_s=one.think.value,
                think_error=_error(one.think),
                throughput_per_s=one.throughput.value,
                rest_slope_s=None if one.rest_slope is None else one.rest_slope.value,
                rest_slope_error=math.inf if one.rest_slope is None else _error(one.rest_slope),
            )
            for one in self.stretches
        )


def _error(estimate: Estimate) -> float:
    """Standard error for which the interval would be that of a normal distribution."""
    if estimate.low is None or estimate.high is None:
        return 0.5 * abs(estimate.value)
    return max((estimate.high - estimate.low) / (2.0 * 1.96), 1e-9)


def measured(logs: Sequence[Log], names: Sequence[str]) -> Measured | NotApplicable:
    """Work, waits and machine by number of users.

    The time after a change of the number of users is left out until the users have settled: twice the mean
    time from one input of a user to the next, or 30 % of the time if that is shorter.
    """
    parts: dict[int, list[_Part]] = {}
    caveats: list[Caveat] = []
    for log in logs:
        inputs = interactions.read(log, ["think_s", "run_delay_s", "waited"])
        problem = facts.driver_problem(log)
        if facts.driver_was_load(log) is not None:
            return NotApplicable(
                f"{log.path.name} has response times that are not those of the system: the driver of this "
                f"play was the load ({problem})",
                "play again with fewer users or longer think times, or from another machine (--on ssh://HOST)",
            )
        if inputs is None:
            return NotApplicable(
                f"{log.path.name} has no interactions"
                + (": inputs and response times were not recorded" if log.has("users") else ", and no users"),
                "play users while recording (`thinktime play`)"
                + ("" if log.has("users") else ", or record the machine with its users (`thinktime record`)"),
            )
        for name, what in (
            ("population", "how many users there were"),
            ("think_s", "how long users thought"),
        ):
            if np.isnan(inputs.columns[name]).all():
                return NotApplicable(
                    f"{log.path.name} does not say {what} when its interactions were requested",
                    "play users while recording (`thinktime play`), or import a table with its column "
                    f"{name}",
                )
        for part in _parts(log, inputs):
            parts.setdefault(part.users, []).append(part)
    stretches, few = [], []
    for users, found in sorted(parts.items()):
        if sum(len(part.response) for part in found) < N_LEAST:
            few.append(users)
        else:
            stretches.append(_stretch(users, found))
    if few:
        caveats.append(Caveat("few_completed", users=tuple(few), least=N_LEAST))
    if not stretches:
        return NotApplicable(
            f"no number of users has {N_LEAST} completed interactions",
            "record for longer, or with more users",
        )
    cpus = {facts.last_machine(log).whole("cpus", least=1) for log in logs}
    if len(cpus) != 1 or None in cpus:
        return NotApplicable(
            "the logs are of machines with different numbers of CPUs, or do not say how many",
            "give logs of one machine",
        )
    count = int(next(iter(cpus)) or 1)
    others, extra = _others(stretches)
    gives_way = background.yielding(_waits(stretches, extra), count, others)
    return Measured(
        names=tuple(names),
        machine=_machine(count, others, gives_way),
        yielding=gives_way,
        stretches=tuple(stretches),
        extra_cpu_s=extra,
        services=np.concatenate([part.service for found in parts.values() for part in found]),
        memory=memory.of_players(logs),
        disks=disks.disks([part.watched for _, found in sorted(parts.items()) for part in found]),
        caveats=tuple(caveats),
        kinds=np.concatenate([part.kinds for found in parts.values() for part in found]),
    )


def _waits(stretches: Sequence[Stretch], extra_cpu_s: float) -> tuple[background.Waits, ...]:
    """Waits for a CPU of the numbers of users for whom they were measured."""
    return tuple(
        background.Waits(
            users=one.users,
            think_s=one.think.value,
            response_s=one.response.value,
            own_cpu_s=one.service.value,
            cpu_s=one.service.value + extra_cpu_s,
            waited_s=one.waited.value,
            error_s=_error(one.waited),
        )
        for one in stretches
        if one.waited is not None
    )


def _machine(cpus: int, others: float, gives_way: background.Yielding | None) -> Machine:
    """Machine with the load of others: all of it, or as much as users waited for."""
    most = 0.9 * cpus
    if gives_way is None:
        return Machine(cpus=cpus, background=min(others, most))
    waited_for = min(gives_way.waited_for.value, most)
    return Machine(
        cpus=cpus,
        background=waited_for,
        background_error=gives_way.error,
        yielding=others - waited_for,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One contiguous stretch of one log with one number of users."""

    users: int
    seconds: float
    response: Array
    """Of the completed interactions, in the order of arrival [s]."""
    cut: Array
    """Time that interactions had taken which were not completed when the recording ended [s]."""
    others: Array
    """Other interactions in progress at the arrival of each completed one."""
    service: Array
    kinds: NDArray[np.str_]
    think: Array
    waited: Array
    counts: Array
    """Completions in equal pieces of the time."""
    machine_cpu_s: float
    """CPU time of the machine in the intervals that lie in it, without that of `aside_s`; nan where not
    recorded."""
    aside_s: float
    """CPU time of work at low priority in these intervals."""
    machine_s: float
    """Length of these intervals."""
    watched: disks.Watched
    """The intervals of the machine that lie in it."""


PIECES = 16


def _parts(log: Log, inputs: Interactions) -> Iterator[_Part]:
    """Contiguous stretches of a log with one number of users, settled."""
    waited = inputs.columns["waited"] != 0.0
    due, population = inputs.times["due"], np.rint(inputs.columns["population"])
    end = float(np.nanmax(np.concatenate([due, inputs.times["completion"]])))
    spans = sessions(log, inputs.origin_us, 0.0, end)
    think = inputs.columns["think_s"]
    cycle = float(np.nanmean(inputs.response)) + float(np.nanmean(think))
    observed = observations.read(log, [*BUSY, "cpu_exact_s", *observations.LOW_PRIORITY])
    busy_s = disks.busy_times(log, observed.start_us, observed.length_s)
    for span in spans:
        inside = np.flatnonzero((due >= span.start) & (due <= span.end) & ~np.isnan(population))
        if not len(inside):
            continue
        changes = np.flatnonzero(np.diff(population[inside])) + 1
        for rows in np.split(inside, changes):
            first = float(due[rows[0]])
            last = (
                span.end
                if rows[-1] == inside[-1]
                else float(due[inside[np.searchsorted(inside, rows[-1]) + 1]])
            )
            start = first + min(SETTLING_CYCLES * cycle, SETTLING_MOST * (last - first))
            if last > start:
                place = (start, last, span.end)
                yield _part(inputs, observed, busy_s, think, waited, place, int(population[rows[0]]))


def _part(
    inputs: Interactions,
    observed: Observations,
    busy_s: Mapping[str, Array],
    think: Array,
    waited: NDArray[np.bool_],
    span: tuple[float, float, float],
    users: int,
) -> _Part:
    start, end, stop = span
    completion, due = inputs.times["completion"], inputs.times["due"]
    # By arrival, whenever they were completed: of those completed in a stretch, the long ones are missing.
    arrived = np.flatnonzero((due >= start) & (due < end) & waited)
    open_ = arrived[np.isnan(completion[arrived])]
    rows = arrived[~np.isnan(completion[arrived])]
    ended = np.sort(completion[(completion >= start) & (completion < end)])
    edges = np.linspace(start, end, PIECES + 1)
    begin = (observed.start_us - inputs.origin_us) / 1e6
    whole = (begin >= start - 0.02) & (begin + observed.length_s <= end + 0.02)
    busy = observed.columns["cpu_exact_s"][whole]
    if np.isnan(busy).any() or not len(busy):
        busy = observed.total(BUSY)[whole]
    known = ~np.isnan(busy)
    aside = np.minimum(np.nan_to_num(observed.low_priority()[whole][known]), busy[known])
    begun, length = begin[whole], observed.length_s[whole]
    return _Part(
        users=users,
        watched=disks.Watched(
            users=users,
            length_s=length,
            completed=np.diff(np.searchsorted(ended, [begun, begun + length]), axis=0)[0].astype(np.float64),
            busy_s={name: values[whole] for name, values in busy_s.items()},
        ),
        seconds=end - start,
        response=inputs.response[rows],
        cut=np.maximum(stop - due[open_], 0.0),
        others=np.searchsorted(np.sort(due), due[rows]) - np.searchsorted(inputs.ended, due[rows]) * 1.0,
        service=inputs.service[rows],
        kinds=inputs.classes[rows],
        think=think[rows],
        waited=inputs.columns["run_delay_s"][rows],
        counts=np.diff(np.searchsorted(ended, edges)).astype(np.float64),
        machine_cpu_s=float((busy[known] - aside).sum()) if known.any() else math.nan,
        aside_s=float(aside.sum()),
        machine_s=float(observed.length_s[whole][known].sum()),
    )


def _stretch(users: int, parts: Sequence[_Part]) -> Stretch:
    response, service, think, waited, cut, others = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("response", "service", "think", "waited", "cut", "others")
    )
    counts = np.concatenate([part.counts for part in parts])
    lengths = np.concatenate([np.full(PIECES, part.seconds / PIECES) for part in parts])
    served = ~np.isnan(service)
    total = float(response[served].sum())
    # Those that were cut off got CPU time at the rate at which the completed ones did.
    rate = float(service[served].sum()) / total if total > 0.0 else 0.0
    machine_s = sum(part.machine_s for part in parts)
    cpu = sum(part.machine_cpu_s for part in parts)
    measured_wait = waited[~np.isnan(waited)]
    rest_slope = _slope(response - service - waited, others)
    return Stretch(
        users=users,
        n=len(response),
        seconds=float(lengths.sum()),
        throughput=batch_means.batch_ratio(counts, lengths).with_unit("1/s"),
        response=with_cut(response, cut).with_unit("s"),
        p90=quantile_in_time(response, share_within(response, cut, 0.9)).with_unit("s"),
        quantiles={
            q: quantile_in_time(response, share_within(response, cut, q)).with_unit("s") for q in QUANTILES
        },
        service=with_cut(service[served], cut * rate).with_unit("s"),
        think=batch_means.batch_ratio(think[~np.isnan(think)]).with_unit("s"),
        waited=batch_means.batch_ratio(measured_wait).with_unit("s") if len(measured_wait) else None,
        rest_slope=rest_slope,
        aside=sum(part.aside_s for part in parts) / machine_s if machine_s > 0.0 else 0.0,
        machine_cpu=cpu / machine_s if machine_s > 0.0 and not math.isnan(cpu) else None,
    )


def _slope(rest: Array, others: Array) -> Estimate | None:
    r"""Slope of the line through times against numbers of others, with its error under autocorrelation.

    .. math:: b = \frac{\sum (k_i - \bar k)(y_i - \bar y)}{\sum (k_i - \bar k)^2}
    """
    known = ~np.isnan(rest)
    y, k = rest[known], others[known]
    if len(y) < N_LEAST:
        return None
    y, k = y - y.mean(), k - k.mean()
    if not (k**2).sum() > 0.0:
        return None
    found = batch_means.batch_ratio(k * y, k**2).with_unit("s")
    return None if found.low is None or found.low == found.high else found


def with_cut(values: Array, cut: Array) -> Estimate:
    r"""Mean of amounts that grow until an interaction is completed, of which some were cut off.

    .. math:: \frac{\sum_{completed} x_i + \sum_{cut off} x_i}{n_{completed}}

    by Little's law for those in progress, and the estimate of largest likelihood where amounts are
    exponential. Without those that were cut off, the longest would be missing: near saturation, with runs of
    some ten responses, a third of the mean.
    """
    amounts = np.concatenate([values, cut])
    completed = np.concatenate([np.ones(len(values)), np.zeros(len(cut))])
    return batch_means.batch_ratio(amounts, completed)


def share_within(response: Array, cut: Array, q: float) -> float:
    """Part of the completed responses within quantile q of all, by Kaplan and Meier's estimate.

    Kaplan and Meier, Journal of the American Statistical Association 53 (1958), 457-481.
    """
    if not len(cut):
        return q
    ordered = np.sort(response)
    taken = np.sort(np.concatenate([response, cut]))
    at_risk = len(taken) - np.searchsorted(taken, ordered, side="left")
    # Ties are taken one after the other.
    at_risk = np.minimum(at_risk, at_risk[0] - np.arange(len(ordered)) if len(ordered) else at_risk)
    survival = np.cumprod(1.0 - 1.0 / np.maximum(at_risk, 1))
    below = int(np.searchsorted(-survival, -(1.0 - q), side="left")) + 1
    return min(below, len(ordered)) / len(ordered)


def _others(stretches: Sequence[Stretch]) -> tuple[float, float]:
    """Background load [s/s], and CPU time per interaction outside its own processes [s].

    What the machine used beyond the interactions' own time is a constant part and one for each interaction,
    by non-negative least squares; all of it is constant where the throughput hardly varies.
    """
    from scipy import optimize

    known = [one for one in stretches if one.machine_cpu is not None]
    if not known:
        return 0.0, 0.0
    throughput = np.array([one.throughput.value for one in known])
    used = np.array([one.machine_cpu or 0.0 for one in known])
    beyond = np.maximum(used - throughput * [one.service.value for one in known], 0.0)
    weight = np.sqrt([one.seconds for one in known])
    if len(known) < 2 or throughput.max() < SLOPE_LEAST * throughput.min():
        return float(np.average(beyond, weights=weight**2)), 0.0
    found, _ = optimize.nnls(np.column_stack([weight, weight * throughput]), weight * beyond)
    return float(found[0]), float(found[1])
