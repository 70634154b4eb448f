"""Assumptions of the disk-bound model, and whether two machines meet them.

Brachman, *A Model of the UNIX Time-sharing System under Disk Saturation*, M.Sc. thesis, University of British
Columbia (1983).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from thinktime.models.prediction import Assumption
from thinktime.models.swapping.swap_disk import Configuration, mean_size
from thinktime.models.uncertain import Known, above, point, scaled

UTILISATION_LEAST = 0.8
"""Smallest utilisation of the controller, on both machines, for which the model holds."""

NEGLIGIBLE = 0.1
"""Relative differences up to this are treated as zero."""


def of(a: Configuration, b: Configuration, *, queues_compared: bool = False) -> tuple[Assumption, ...]:
    """Assumptions of equation 3.1, evaluated for two configurations.

    Parameters
    ----------
    a, b : Configuration
        The measured machine, and the predicted one.
    queues_compared : bool
        True if the extension for different compute bursts is used.
    """
    both = (a, b)
    return (
        Assumption(
            "the load is interactive",
            _all(machine.interactive for machine in both),
        ),
        _burst(both),
        _saturated_by_swaps(both),
        Assumption(
            f"the controller is busy more than {_percent(UTILISATION_LEAST)} of the time",
            _all(above(machine.utilisation, UTILISATION_LEAST) for machine in both),
            _each(both, lambda machine: _percent(machine.utilisation)),
        ),
        _alike(both),
        _processes(a, b),
        Assumption(
            "one swap at a time is asked of the disk",
            _all(machine.one_swap_at_a_time for machine in both),
        ),
        Assumption(
            "a single controller serves files and swaps", _all(machine.single_controller for machine in both)
        ),
        _think(both),
        _swap_times(a, b),
        _same_burst(a, b, queues_compared),
        _same_blocks(both),
    )


def no_thrashing(quantum_s: Known, swap_time_s: Known) -> Assumption:
    """Condition that swaps keep up with the CPU: Tswap is at most half the memory quantum."""
    late = above(swap_time_s, scaled(quantum_s, 0.5))
    return Assumption(
        "a swap takes at most half the memory quantum, else the machine thrashes",
        None if late is None else not late,
        f"{_seconds(swap_time_s)} against half of {_seconds(quantum_s)}",
    )


Machines = tuple[Configuration, Configuration]


def _burst(both: Machines) -> Assumption:
    return Assumption(
        "the compute burst is at most the time of a swap",
        # Where nothing is swapped there is no swap to compare with.
        _all(_not(above(one.burst_s, one.swap_time_s)) for one in both if point(one.swap_time_s) > 0.0),
        _each(both, _burst_and_swap),
    )


def _burst_and_swap(machine: Configuration) -> str:
    if machine.burst_s is None or point(machine.swap_time_s) == 0.0:
        return ""
    return f"{_seconds(machine.burst_s)} against {_seconds(machine.swap_time_s)}"


def _saturated_by_swaps(both: Machines) -> Assumption:
    return Assumption(
        "swaps wait: more requests are at the controller than processes loaded",
        _all(_swaps_wait(machine) for machine in both if point(machine.swap_time_s) > 0.0),
        _each(both, _swapping),
    )


def _swaps_wait(machine: Configuration) -> bool | None:
    if _all_loaded(machine):
        return False
    return above(machine.queue_length, machine.number_loaded)


def _all_loaded(machine: Configuration) -> bool:
    return machine.processes is not None and point(machine.number_loaded) >= machine.processes


def _swapping(machine: Configuration) -> str:
    loaded = f"{point(machine.number_loaded):.3g}"
    if point(machine.swap_time_s) == 0.0:
        return "swaps take no time"
    if _all_loaded(machine):
        return f"all {loaded} processes are loaded and none is swapped: its swap time should be 0"
    if machine.queue_length is None:
        return ""
    return f"{point(machine.queue_length):.3g} at the controller with {loaded} loaded"


def _alike(both: Machines) -> Assumption:
    sizes = [_sizes(machine) for machine in both]
    return Assumption(
        "the processes of a machine are alike in size and CPU time",
        _all(
            met
            for machine, values in zip(both, sizes, strict=True)
            for met in (len(values) == 1 if values else None, machine.equal_demands)
        ),
        _each(
            both,
            lambda machine: f"sizes {' and '.join(values)}" if len(values := _sizes(machine)) > 1 else "",
        ),
    )


def _sizes(machine: Configuration) -> list[str]:
    size = machine.size
    if size is None:
        return []
    given = [size] if isinstance(size, (int, float)) else size
    return [f"{item:g}" for item in sorted(set(given))]


def _processes(a: Configuration, b: Configuration) -> Assumption:
    if a.processes is None or b.processes is None:
        return Assumption("as many processes run on both machines")
    if a.processes == b.processes:
        return Assumption("as many processes run on both machines", True, f"{a.processes}")
    return Assumption(
        "time grows with the number of processes: some are swapped out",
        not _all_loaded(a) and not _all_loaded(b),
        _each((a, b), lambda one: f"{point(one.number_loaded):.3g} of {one.processes} loaded"),
    )


def _think(both: Machines) -> Assumption:
    return Assumption(
        f"the think time is at most {_percent(NEGLIGIBLE)} of an interaction's whole time",
        _all(_negligible(machine) for machine in both),
        _each(both, lambda machine: "" if machine.think_s is None else _seconds(machine.think_s)),
    )


def _negligible(machine: Configuration) -> bool | None:
    if machine.think_s is None or point(machine.think_s) == 0.0:
        return None if machine.think_s is None else True
    if machine.elapsed_s is None or machine.interactions is None or machine.processes is None:
        return None
    total = scaled(machine.elapsed_s, machine.processes / machine.interactions)
    return _not(above(machine.think_s, scaled(total, NEGLIGIBLE)))


def _swap_times(a: Configuration, b: Configuration) -> Assumption:
    text = "the swap times fit the sizes"
    if a.size is None or b.size is None or 0.0 in (point(a.swap_time_s), point(b.swap_time_s)):
        return Assumption(text)
    sizes = mean_size(a.size, a.processes), mean_size(b.size, b.processes)
    if point(a.swap_time_s) != point(b.swap_time_s):
        return Assumption(text)
    result = f"{_seconds(a.swap_time_s)} for sizes of {sizes[0]:g} and of {sizes[1]:g}"
    return Assumption(text, sizes[0] == sizes[1], result)


def _same_burst(a: Configuration, b: Configuration, queues_compared: bool) -> Assumption:
    bursts = _each((a, b), lambda one: "" if one.burst_s is None else _seconds(one.burst_s))
    if queues_compared:
        text = "times compare inversely as queues where bursts differ"
        return Assumption(text, None, bursts)
    known = a.burst_s is not None and b.burst_s is not None
    return Assumption("the compute bursts are the same", True if known else None, bursts)


def _same_blocks(both: Machines) -> Assumption:
    """Assumption that the thesis does not state: with a shared cache, more processes cause more requests."""
    text = "as many file requests of an interaction reach the disk"
    per_interaction = [
        None if one.blocks is None or one.interactions is None else point(one.blocks) / one.interactions
        for one in both
    ]
    a, b = per_interaction
    met = None if a is None or b is None else abs(b - a) <= NEGLIGIBLE * a
    observed = "; ".join(
        f"{name}: {value:.3g}" for name, value in zip("AB", per_interaction, strict=True) if value is not None
    )
    return Assumption(text, met, observed)


def _not(met: bool | None) -> bool | None:
    return None if met is None else not met


def _all(met: Iterable[bool | None]) -> bool | None:
    """True if all are met; False if one is not, None if one is not known."""
    result = set(met)
    return False if False in result else None if None in result or not result else True


def _each(both: Machines, describe: Callable[[Configuration], str]) -> str:
    """Values of each machine, ``A: 95 %; B: not known``; empty where neither is known."""
    texts = [describe(machine) for machine in both]
    if not any(texts):
        return ""
    return "; ".join(f"{name}: {text or 'not known'}" for name, text in zip("AB", texts, strict=True))


def _percent(known: Known | None) -> str:
    return "" if known is None else f"{100.0 * point(known):.3g} %"


def _seconds(known: Known) -> str:
    value = point(known)
    return f"{1000.0 * value:.4g} ms" if value < 1.0 else f"{value:.4g} s"
