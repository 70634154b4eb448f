"""Ratio of the elapsed times of a load on two machines whose swap disk is the bottleneck.

The model needs no service demands: each loaded process keeps one file request at the controller, so that NL
blocks are served for every swap, and elapsed times are proportional to the mean time of a block with its
share of a swap. Source: Brachman, *A Model of the UNIX Time-sharing System under Disk Saturation*, M.Sc.
thesis, University of British Columbia (1983).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from thinktime.errors import InputError
from thinktime.models.prediction import Assumption, Prediction, at_least_zero, count, positive
from thinktime.models.swapping import assumptions
from thinktime.models.swapping.swap_disk import SOURCE, Configuration
from thinktime.models.uncertain import Choice, Known, above, point, propagated
from thinktime.stats import arguments

_Values = dict[str, tuple[float, str]]
"""Value and unit by name."""


def predict(a: Configuration, b: Configuration) -> Prediction:
    r"""Predicted ratio of the elapsed time of a load on machine `b` to that on machine `a`.

    Equation 3.1 with its extensions for machines that differ in the number of processes PN or in the compute
    burst PC:

    .. math:: \frac{T_B}{T_A} = \frac{T_{block,B} + T_{swap,B} / NL_B}{T_{block,A} + T_{swap,A} / NL_A}
              \cdot \frac{PN_B}{PN_A} \cdot \frac{Q_A'}{Q_B}, \qquad
              Q_A' = Q_A \frac{NL_B + 1}{NL_A + 1}

    with Q the mean number of requests at the controller, as measured or NL + 1 where PC is below Tswap. The
    thesis has Q_A in the last factor (section 5.4, application 5), although the queue also grows with the
    number loaded, which equation 3.1 has counted; Q_A' is the queue of `a` with as many loaded as in `b`.
    ``ratio_as_printed`` leaves that out; it differs only where both the burst and the number loaded change.

    Every process does the same work on both machines; the prediction lists the other assumptions, and
    whether they hold. Intervals of the inputs are propagated to first order (`uncertain.propagated`).

    Parameters
    ----------
    a : Configuration
        The measured machine; with its `elapsed_s` times are predicted, with `interactions` throughput and
        response, with `service_s` the stretch factor, with `blocks` the swaps.
    b : Configuration
        The machine to predict.

    Raises
    ------
    InputError
        The burst changes, and a queue length is neither given nor follows from the number loaded; or the
        inputs have intervals at different levels.
    TypeError
        `a` or `b` is no `Configuration`.
    """
    arguments.record(a, Configuration, "a")
    arguments.record(b, Configuration, "b")
    burst = _burst_changes(a, b)

    def evaluate(choice: Choice) -> _Values:
        factors = _factors(a, b, burst, choice)
        return factors | _absolute(a, b, factors["ratio"][0], choice)

    quantities = propagated(evaluate, (*a.known(), *b.known()))
    needed = assumptions.of(a, b, queues_compared=burst)
    return Prediction(
        method="ratio of elapsed times, equation 3.1",
        source=SOURCE,
        quantities=quantities,
        assumptions=needed,
    )


def _per_block(configuration: Configuration, choice: Choice) -> float:
    """Mean time of a file request with its share of a swap: Tblock + Tswap / NL."""
    swap = point(configuration.swap_time_s, choice) / point(configuration.number_loaded, choice)
    return point(configuration.block_time_s, choice) + swap


def _factors(a: Configuration, b: Configuration, burst: bool, choice: Choice) -> _Values:
    disk = _per_block(b, choice) / _per_block(a, choice)
    processes = b.processes / a.processes if a.processes and b.processes else 1.0
    printed = same_loaded = 1.0
    if burst:
        printed = _queue(a, "A", choice) / _queue(b, "B", choice)
        loaded_a, loaded_b = point(a.number_loaded, choice), point(b.number_loaded, choice)
        same_loaded = printed * (loaded_b + 1.0) / (loaded_a + 1.0)
    ratio = disk * processes * same_loaded
    return {
        "ratio": (ratio, ""),
        "change": (ratio - 1.0, ""),
        "ratio_as_printed": (disk * processes * printed, ""),
        "throughput_ratio": (processes / ratio, ""),
        "disk_factor": (disk, ""),
        "processes_factor": (processes, ""),
        "burst_factor": (same_loaded, ""),
        "loaded_a": (point(a.number_loaded, choice), "process"),
        "loaded_b": (point(b.number_loaded, choice), "process"),
    }


def _absolute(a: Configuration, b: Configuration, ratio: float, choice: Choice) -> _Values:
    """Predicted quantities that depend on the work done on `a`, as far as that is known."""
    result: _Values = {}
    processes = b.processes / a.processes if a.processes and b.processes else 1.0
    if a.blocks is not None:
        blocks = point(a.blocks, choice)
        result["swaps_a"] = (swaps(blocks, point(a.number_loaded, choice)), "swap")
        result["swaps_b"] = (swaps(blocks * processes, point(b.number_loaded, choice)), "swap")
    if a.elapsed_s is None:
        return result
    before = point(a.elapsed_s, choice)
    result["elapsed_a_s"], result["elapsed_b_s"] = (before, "s"), (before * ratio, "s")
    if a.interactions is None or a.processes is None:
        return result
    for machine, name, elapsed, work in (
        (a, "a", before, float(a.interactions)),
        (b, "b", before * ratio, a.interactions * processes),
    ):
        think = None if machine.think_s is None else point(machine.think_s, choice)
        service = None if machine.service_s is None else point(machine.service_s, choice)
        shown = _operational(elapsed, work, machine.processes, think, service)
        result |= {_named(quantity, name): value for quantity, value in shown.items()}
    return result


def _named(quantity: str, machine: str) -> str:
    """Name of a quantity on one machine, its unit last: ``response_b_s``."""
    for ending in ("_per_s", "_s"):
        if quantity.endswith(ending):
            return f"{quantity.removesuffix(ending)}_{machine}{ending}"
    return f"{quantity}_{machine}"


def _burst_changes(a: Configuration, b: Configuration) -> bool:
    """True if the extension for another compute burst is needed."""
    if a.burst_s is None or b.burst_s is None:
        return a.queue_length is not None and b.queue_length is not None
    return a.burst_s != b.burst_s


def _queue(configuration: Configuration, name: str, choice: Choice) -> float:
    """Mean number at the controller: as measured, or one request of each loaded process and one swap."""
    if configuration.queue_length is not None:
        return point(configuration.queue_length, choice)
    burst = configuration.burst_s
    if burst is None or above(configuration.swap_time_s, burst) is not True:
        raise InputError(
            f"queue_length of {name} is not given, and does not follow from the number loaded, because the "
            "compute burst is not known to be below the swap time; measure the mean number of requests at "
            "the controller and give it"
        )
    return point(configuration.number_loaded, choice) + 1.0


def swaps(blocks: float, loaded: float) -> float:
    """Number of swaps, in and out, that go with `blocks` file requests: one for every NL.

    The thesis finds that measured swaps disagree where few processes are loaded, because of the block cache
    and of its regular flushing.

    Raises
    ------
    InputError
        A number is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    return at_least_zero("blocks", blocks) / positive("loaded", loaded)


def operational(
    elapsed_s: Known,
    interactions: int,
    processes: int,
    think_s: Known | None = None,
    service_s: Known | None = None,
) -> Prediction:
    r"""Throughput, response time and stretch factor from the elapsed time of a load.

    .. math:: X = C / T, \quad R = PN\, T / C - Z, \quad \text{stretch} = R / S

    ``response_s`` is this R, the interactive response time law for C interactions of all PN processes.
    ``response_as_printed_s`` is T / C - Z, as the thesis prints it: the same law where C counts the
    interactions of one process, and too small by nearly PN where it counts all.

    Parameters
    ----------
    elapsed_s : float or Estimate
        T.
    interactions, processes : int
        C, of all processes, and PN.
    think_s : float or Estimate, optional
        Z; without it there is no response time.
    service_s : float or Estimate, optional
        Mean service time S of an interaction: its time on an otherwise empty machine.

    Raises
    ------
    InputError
        A number is out of range.
    TypeError
        An argument is of the wrong kind.
    """
    positive("elapsed_s", elapsed_s)
    count("interactions", interactions)
    count("processes", processes)
    if think_s is not None:
        at_least_zero("think_s", think_s)
    if service_s is not None:
        positive("service_s", service_s)

    def evaluate(choice: Choice) -> _Values:
        think = None if think_s is None else point(think_s, choice)
        service = None if service_s is None else point(service_s, choice)
        return _operational(point(elapsed_s, choice), float(interactions), processes, think, service)

    quantities = propagated(evaluate, (elapsed_s, think_s, service_s))
    response = next((one.value for one in quantities if one.name == "response_s"), None)
    possible = Assumption(
        "elapsed time and think time leave a response time of at least 0",
        None if response is None else bool(response >= 0.0),
        "the think time is not known" if response is None else "",
    )
    balance = Assumption("as many interactions end in the time as begin")
    return Prediction(
        method="operational laws", source=SOURCE, quantities=quantities, assumptions=(balance, possible)
    )


def _operational(
    elapsed: float, interactions: float, processes: int | None, think: float | None, service: float | None
) -> _Values:
    result: _Values = {"throughput_per_s": (interactions / elapsed, "1/s")}
    if think is None or processes is None:
        return result
    response = processes * elapsed / interactions - think
    result["response_s"] = (response, "s")
    result["response_as_printed_s"] = (elapsed / interactions - think, "s")
    if service is not None:
        result["stretch"] = (response / service, "")
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Run predicted from each of the others."""

    run: Configuration
    """The run, with its measured elapsed time."""
    predictions_s: tuple[float, ...]
    """Its elapsed time from each other run, in their order."""
    mean_s: float
    standard_deviation_s: float
    """Mean and standard deviation of the predictions; nan for the deviation of a single one."""

    @property
    def measured_s(self) -> float:
        """Measured elapsed time [s]."""
        return point(self.run.elapsed_s or math.nan)

    @property
    def error(self) -> float:
        """Relative error of the mean prediction."""
        return self.mean_s / self.measured_s - 1.0


def leave_one_out(runs: Sequence[Configuration]) -> tuple[LeftOut, ...]:
    """Elapsed time of each run as predicted from that of every other (Table VIII).

    Parameters
    ----------
    runs : sequence of Configuration
        Measured runs, each with `elapsed_s`.

    Raises
    ------
    InputError
        There are fewer than two runs, or one has no elapsed time.
    TypeError
        A run is no `Configuration`.
    """
    runs = arguments.records(runs, Configuration, "runs")
    if len(runs) < 2:
        raise InputError(f"there are {len(runs)} runs to compare; give at least two with their elapsed times")
    for number, run in enumerate(runs, start=1):
        if run.elapsed_s is None:
            raise InputError(f"run {number} has no elapsed_s; give its measured elapsed time")
    return tuple(_left_out(runs, index) for index in range(len(runs)))


def _left_out(runs: Sequence[Configuration], index: int) -> LeftOut:
    others = [run for number, run in enumerate(runs) if number != index]
    result = tuple(
        point(run.elapsed_s or math.nan)
        * _factors(run, runs[index], _burst_changes(run, runs[index]), {})["ratio"][0]
        for run in others
    )
    deviation = statistics.stdev(result) if len(result) > 1 else math.nan
    return LeftOut(
        run=runs[index], predictions_s=result, mean_s=statistics.fmean(result), standard_deviation_s=deviation
    )
