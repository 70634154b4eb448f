r"""Response time of a machine that swaps whole processes, for any bottleneck.

A closed network of a disk controller that serves files and swaps, a CPU, and pauses, in which only the
processes that fit into memory can be elsewhere than in a pause. Two nested models (Courtois,
*Decomposability* (1977)): `loaded_network` gives the rates of interactions and swaps for a number of
loaded processes, `swapper` the equilibrium over all states of the processes. The model does not assume
saturation: it is exact mean value analysis where memory holds all. Where the disk is the bottleneck and the
swapper always has a request there, one file request of each loaded process is served for every swap, as in
equation 3.1 of `disk_bound`; the model predicts how often that is so.

The machine is that of Brachman, *A Model of the UNIX Time-sharing System under Disk Saturation*, M.Sc.
thesis, University of British Columbia (1983), whose conclusions ask for such a model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np

from thinktime.errors import InputError
from thinktime.models.prediction import Assumption, Prediction, at_least_zero, count, positive
from thinktime.models.swapping import loaded_network, swapper
from thinktime.models.swapping.loaded_network import Demands
from thinktime.models.swapping.swap_disk import SOURCE
from thinktime.models.swapping.swapper import Rules, Shares
from thinktime.models.uncertain import Choice, Known, Share, point, propagated
from thinktime.stats import arguments
from thinktime.stats.estimate import Estimate

DISPATCHES = ("sharing", "slices")
TIMES = ("block_time_s", "compute_s", "system_s", "think_s", "gap_s")
FEW = 0.1
"""Fraction of the swaps up to which forced ones count as few."""
ROOM = 0.05
"""Fraction of memory that must be free when all that fit are loaded, for other processes and fragments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swapping:
    """Machine that swaps, and its load. An `Estimate` as a measured value carries its interval along.

    Raises
    ------
    InputError
        A number out of range, or a process larger than memory.
    TypeError
        A field is of the wrong kind.
    """

    processes: int
    """Active processes: PN."""
    memory: int
    """Memory for users, in clicks or in any other unit, the same as for the size: MM."""
    size: float | Sequence[float]
    """Size of a process, or several sizes, assigned to the processes in turn: PS."""
    blocks: Known
    """File transfers of an interaction that reach the disk."""
    block_time_s: Known
    """Mean access and transfer time of a file transfer, without queueing: Tblock."""
    swap_time_s: Known | Sequence[Known]
    """Mean time of one swap, one way, without the text; or one time for each size: Tswap."""
    compute_s: Known
    """CPU time of the program in an interaction: PC."""
    system_s: Known = 0.0
    """CPU time of the system in an interaction."""
    think_s: Known = 0.0
    """Mean pause between interactions, in which a process may be swapped out; 0 if there is none."""
    interactions: int | None = None
    """Interactions of each process; they give elapsed time and swaps."""
    text: float = 0.0
    """Part of the size that is pure text: all processes share one copy, which is never swapped."""
    behind: Share = 0.0
    """Fraction of the transfers that no process waits for, 0 to below 1."""
    gap_s: Known = 0.0
    """Time from the end of a request at the controller to the start of the next: the interrupt's service."""
    dispatch: Literal["slices", "sharing"] = "slices"
    """How the CPU is allocated: in time slices, as Sixth Edition UNIX does, or by processor sharing.

    ``"slices"``: the system's CPU time goes first, and a process that comes back from the disk or from a
    pause waits a slice of each that computes, because Sixth Edition then gives the CPU to the next of equal
    priority. ``"sharing"``: all share the CPU."""
    compute_variation: float = 1.0
    """Coefficient of variation of the compute time, for the length of a slice."""
    minimum_time_in_s: float = 3.0
    """Time in memory after which a ready process may be swapped out: MINTIMEIN."""
    minimum_time_out_s: float = 3.0
    """Time outside after which a process may displace a ready one: MINTIMEOUT."""
    own_controller: bool = False
    """Whether swaps have a separate controller. Overlapped seeks on one controller gain less."""

    def __post_init__(self) -> None:
        """Check every field."""
        for name in ("processes", "memory", "interactions"):
            if (total := getattr(self, name)) is not None:
                count(name, total)
        for name in (*TIMES, "blocks", "text", "compute_variation"):
            at_least_zero(name, getattr(self, name))
        for name in ("minimum_time_in_s", "minimum_time_out_s"):
            positive(name, getattr(self, name))
        for swap_s in self.swap_times_s:
            at_least_zero("swap_time_s", swap_s)
        if not 0.0 <= point(self.behind) < 1.0:
            raise InputError(f"behind is {point(self.behind):g}; give a part of the transfers, 0 to below 1")
        if self.dispatch not in DISPATCHES:
            raise InputError(f"dispatch is {self.dispatch!r}; give one of {', '.join(DISPATCHES)}")
        if (
            point(self.blocks) * point(self.block_time_s) + point(self.compute_s) + point(self.system_s)
            == 0.0
        ):
            raise InputError("an interaction needs neither disk nor CPU; give blocks, compute_s or system_s")
        if len(self.swap_times_s) not in (1, len(self.sizes)):
            raise InputError(
                f"swap_time_s has {len(self.swap_times_s)} values, and size {len(self.sizes)}; "
                "give one for all, or one for each size"
            )
        self.fitting()

    @property
    def sizes(self) -> tuple[float, ...]:
        """Sizes that the processes get in turn."""
        return (self.size,) if isinstance(self.size, (int, float)) else tuple(self.size)

    @property
    def swap_times_s(self) -> tuple[Known, ...]:
        """Swap time of all sizes, or one for each."""
        known = self.swap_time_s
        return (known,) if isinstance(known, (int, float, Estimate)) else tuple(known)

    def fitting(self) -> dict[int, float]:
        """Numbers of processes that memory holds with the shared text, with their probabilities."""
        count_of = len(self.sizes)
        dealt = [self.sizes[place % count_of] for place in range(self.processes)] if count_of else []
        return number_that_fit(self.memory, dealt, self.text)

    def known(self) -> tuple[Known | None, ...]:
        """All fields that may have intervals."""
        values = (getattr(self, field.name) for field in fields(self) if field.name != "swap_time_s")
        return (*(value for value in values if isinstance(value, Estimate)), *self.swap_times_s)


def predict(system: Swapping) -> Prediction:
    r"""Predicted throughput, times, swaps and utilisation of the devices.

    .. math:: T = PN\, C / X, \quad R = PN / X - Z

    Where sizes differ, the number loaded is that which fits in a random order, and the throughput is the mean
    over it; a swap takes the mean time over the processes. Intervals of the inputs are propagated to
    first order (`uncertain.propagated`).

    Parameters
    ----------
    system : Swapping

    Returns
    -------
    Prediction
        ``elapsed_s`` of a run in which each process has `interactions`, ``throughput_per_s``,
        ``response_s``, ``stretch`` (response over what it takes one process alone in memory),
        ``swaps`` in and out of that run, ``swaps_per_interaction``, ``forced_swaps`` (part of the
        swaps that took a ready process out of memory), ``controller_utilisation`` and ``queue_length``
        (mean number of requests, the one in service included) of the controller that serves files,
        ``swapper_busy`` (part of the time with a swap under way), ``cpu_utilisation``, and the mean
        numbers of processes: ``fitting``, ``active`` (loaded, not pausing), ``pausing_in``,
        ``pausing_out``, ``ready_out``.

    Raises
    ------
    InputError
        The machine is too large to be solved.
    TypeError
        `system` is no `Swapping`.
    """
    arguments.record(system, Swapping, "system")
    fitting = system.fitting()

    def evaluate(choice: Choice) -> dict[str, tuple[float, str]]:
        demands = _demands(system, choice)
        think_s = point(system.think_s, choice)
        solved = [(chance, _shares(system, demands, think_s, fit)) for fit, chance in fitting.items()]
        return _figures(system, demands, think_s, solved)

    quantities = propagated(evaluate, system.known())
    forced = next(quantity.value for quantity in quantities if quantity.name == "forced_swaps")
    return Prediction(
        method="closed network with a swapper",
        source=f"{SOURCE}; {loaded_network.SOURCE}",
        quantities=quantities,
        assumptions=_assumptions(system, max(fitting), float(forced)),
    )


def _demands(system: Swapping, choice: Choice) -> Demands:
    swaps = [point(known, choice) for known in system.swap_times_s]
    dealt = [swaps[index % len(swaps)] for index in range(system.processes)]
    blocks, behind = point(system.blocks, choice), point(system.behind, choice)
    compute_s = point(system.compute_s, choice)
    residual_s = 0.5 * compute_s * (1.0 + system.compute_variation**2)
    return Demands(
        blocks=blocks * (1.0 - behind),
        behind=blocks * behind,
        block_time_s=point(system.block_time_s, choice),
        gap_s=point(system.gap_s, choice),
        swap_time_s=math.fsum(dealt) / len(dealt),
        compute_s=compute_s,
        system_s=point(system.system_s, choice),
        residual_s=residual_s if system.dispatch == "slices" else None,
        own_controller=system.own_controller,
    )


def _shares(system: Swapping, demands: Demands, think_s: float, fit: int) -> Shares:
    # Swaps that take no time are as good as memory for all.
    held = fit if demands.swap_time_s > 0.0 else system.processes
    rules = Rules(
        processes=system.processes,
        fit=held,
        think_s=think_s,
        minimum_time_in_s=system.minimum_time_in_s,
        minimum_time_out_s=system.minimum_time_out_s,
    )
    rules.check()
    return swapper.balance(rules, loaded_network.rates(demands, held))


def _figures(
    system: Swapping, demands: Demands, think_s: float, solved: Sequence[tuple[float, Shares]]
) -> dict[str, tuple[float, str]]:
    def mean(name: str) -> float:
        return math.fsum(chance * getattr(shares, name) for chance, shares in solved)

    throughput, swaps = mean("interactions_per_s"), mean("swaps_per_s")
    response_s = system.processes / throughput - think_s
    alone_s = demands.blocks * demands.block_s + demands.cpu_s
    result = {
        "throughput_per_s": (throughput, "1/s"),
        "response_s": (response_s, "s"),
        "stretch": (response_s / alone_s, ""),
        "swaps_per_interaction": (swaps / throughput, "swap"),
        "forced_swaps": (mean("forced_per_s") / swaps if swaps > 0.0 else 0.0, ""),
        "controller_utilisation": (mean("utilisation"), ""),
        "queue_length": (mean("queue"), "request"),
        "swapper_busy": (mean("swapping"), ""),
        "cpu_utilisation": (throughput * demands.cpu_s, ""),
        "fitting": (math.fsum(chance * fit for fit, chance in system.fitting().items()), "process"),
        "active": (mean("active"), "process"),
        "pausing_in": (mean("pausing"), "process"),
        "pausing_out": (mean("pausing_out"), "process"),
        "ready_out": (mean("ready_out"), "process"),
    }
    if system.interactions is not None:
        elapsed_s = system.processes * system.interactions / throughput
        result |= {"elapsed_s": (elapsed_s, "s"), "swaps": (swaps * elapsed_s, "swap")}
    return result


def _assumptions(system: Swapping, fit: int, forced: float) -> tuple[Assumption, ...]:
    """Assumptions of the model, and whether this machine meets them."""
    largest = max(system.sizes) - system.text
    free = (system.memory - system.text - fit * largest) / system.memory
    all_fit = fit == system.processes
    return (
        Assumption(
            "a process does the same in memory whatever the others do, and all processes ask for the same"
        ),
        Assumption("one swap at a time is asked of the disk, and served like any other request"),
        Assumption("processes at disk and CPU settle between two swaps"),
        Assumption("processes end their work at about the same time"),
        Assumption(
            "other processes and fragments of memory keep out nobody who fits",
            None if all_fit and 0.0 <= free < ROOM else True,
            f"{100.0 * free:.0f} % of memory are free with {fit} loaded",
        ),
        Assumption(
            f"of the swaps at most {100.0 * FEW:.0f} % take ready processes out of memory",
            forced <= FEW,
            f"{100.0 * forced:.0f} %",
        ),
        *(() if len(set(system.sizes)) == 1 else (Assumption("processes of all sizes are loaded as often"),)),
    )


NEVER = 1e-9
"""Chance up to which a number is left out: rounding, or too seldom to matter."""


def number_that_fit(memory: int, sizes: Sequence[float], text: float = 0.0) -> dict[int, float]:
    r"""Probability of each number of processes that memory holds, for a random order of arrival.

    .. math:: \Pr\{L \ge k\} = \Pr\{S_k \le MM - t\}

    with :math:`S_k` the sum of k sizes drawn without replacement, less the text t that all share. Equal
    sizes give the one number :math:`\lfloor (MM - t) / (PS - t) \rfloor`, at most that of the processes.
    Sizes are rounded up to whole units.

    Parameters
    ----------
    memory : int
        MM.
    sizes : sequence of float
        Size of each process, its text included, in the unit of `memory`.
    text : float
        t, the part of every size that all processes share.

    Raises
    ------
    InputError
        There is no process, one is larger than memory, or one is no larger than its text.
    TypeError
        An argument is of the wrong kind.
    """
    sizes, text = arguments.sequence(sizes, "sizes", "a list of sizes"), at_least_zero("text", text)
    if not sizes:
        raise InputError("there are no sizes of processes; give at least one")
    for size in sizes:
        if positive("size", size) <= text:
            raise InputError(
                f"size is {size:g}, and text {text:g}; give a text that is smaller than the process"
            )
    largest = max(sizes)
    if largest > count("memory", memory):
        raise InputError(
            f"size is {largest:g}, and memory {memory}: no such process can ever be loaded; give more memory "
            "or smaller processes"
        )
    if len(set(sizes)) == 1:
        return {min(len(sizes), math.floor((memory - text) / (largest - text))): 1.0}
    least = _at_least(math.floor(memory - text), [math.ceil(size - text) for size in sizes])
    exactly = {k: least[k] - (least[k + 1] if k < len(sizes) else 0.0) for k in range(1, len(sizes) + 1)}
    return {k: chance for k, chance in exactly.items() if chance > NEVER}


def _at_least(free: int, sizes: Sequence[int]) -> list[float]:
    """Probability that k = 0, 1, ... sizes in a random order fit: the fraction of subsets that fit."""
    number = len(sizes)
    # By k, the probability of each sum of a random k-subset of the sizes so far.
    subsets = [np.zeros(free + 1) for _ in range(number + 1)]
    subsets[0][0] = 1.0
    for so_far, size in enumerate(sizes, start=1):
        for k in range(min(so_far, number), 0, -1):
            # Of the k-subsets of `so_far` sizes, the fraction k / so_far contains the last.
            with_last = np.zeros(free + 1)
            if size <= free:
                with_last[size:] = subsets[k - 1][: free + 1 - size]
            subsets[k] = with_last * (k / so_far) + subsets[k] * (1.0 - k / so_far)
    return [min(1.0, float(subset.sum())) for subset in subsets]
