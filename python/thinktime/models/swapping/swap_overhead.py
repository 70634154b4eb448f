"""Effect of swapping on a machine whose CPU, not its disk, is the bottleneck.

Brachman, *A Model of the UNIX Time-sharing System under Disk Saturation*, M.Sc. thesis, University of British
Columbia (1983).
"""

from __future__ import annotations

from thinktime.models.prediction import Assumption, Prediction, at_least_zero, count, positive
from thinktime.models.swapping.assumptions import no_thrashing
from thinktime.models.swapping.swap_disk import SOURCE
from thinktime.models.uncertain import Choice, Known, point, propagated


def one_loaded(elapsed_s: Known, swap_time_s: Known, swaps: Known) -> Prediction:
    r"""Elapsed time where the CPU limits and a single process fits into memory.

    .. math:: T_B = T_A + T_{swap} N_{swaps}

    T_A is the elapsed time of the same load without swapping: while the one process is swapped, nothing
    computes. The first CPU-bound case of the thesis.

    Raises
    ------
    InputError
        A number is out of range.
    TypeError
        An argument is neither a number nor an estimate.
    """
    positive("elapsed_s", elapsed_s)
    at_least_zero("swap_time_s", swap_time_s)
    at_least_zero("swaps", swaps)

    def evaluate(choice: Choice) -> dict[str, tuple[float, str]]:
        before = point(elapsed_s, choice)
        swapping = point(swap_time_s, choice) * point(swaps, choice)
        return {
            "elapsed_b_s": (before + swapping, "s"),
            "swapping_s": (swapping, "s"),
            "ratio": (1.0 + swapping / before, ""),
        }

    needed = (
        Assumption("the CPU is the bottleneck: without swapping it is never idle"),
        Assumption("there is more than one process, and a single one fits into memory"),
    )
    quantities = propagated(evaluate, (elapsed_s, swap_time_s, swaps))
    return Prediction(
        method="CPU bound, one process loaded", source=SOURCE, quantities=quantities, assumptions=needed
    )


def several_loaded(
    elapsed_s: Known, processes_a: int, processes_b: int, quantum_s: Known, swap_time_s: Known
) -> Prediction:
    r"""Elapsed time where the CPU limits and swaps overlap with computing.

    .. math:: T_B = T_A \frac{PN_B}{PN_A} \quad \text{if } T_{swap} \le q / 2

    with the memory quantum q, the CPU time that a process gets while it is loaded. Neither memory nor a
    faster swap device then shortens it, and q may fall to ``quantum_least_s``, 2 Tswap, without loss;
    below it the machine thrashes: processes are not brought in as fast as they are used up. The second
    CPU-bound case of the thesis.

    Parameters
    ----------
    elapsed_s : float or Estimate
        T_A, of `processes_a` processes.
    processes_a, processes_b : int
        PN, now and then.
    quantum_s : float or Estimate
        q, memory quantum.
    swap_time_s : float or Estimate
        Tswap, one way.

    Raises
    ------
    InputError
        A number is out of range.
    TypeError
        An argument is neither a number nor an estimate.
    """
    positive("elapsed_s", elapsed_s)
    positive("quantum_s", quantum_s)
    at_least_zero("swap_time_s", swap_time_s)
    growth = count("processes_b", processes_b) / count("processes_a", processes_a)

    def evaluate(choice: Choice) -> dict[str, tuple[float, str]]:
        return {
            "elapsed_b_s": (point(elapsed_s, choice) * growth, "s"),
            "ratio": (growth, ""),
            "quantum_least_s": (2.0 * point(swap_time_s, choice), "s"),
            "swap_time_most_s": (point(quantum_s, choice) / 2.0, "s"),
        }

    needed = (
        Assumption("the CPU is the bottleneck: without swapping it is never idle"),
        Assumption("more than one process is loaded"),
        no_thrashing(quantum_s, swap_time_s),
    )
    quantities = propagated(evaluate, (elapsed_s, quantum_s, swap_time_s))
    return Prediction(
        method="CPU bound, several processes loaded", source=SOURCE, quantities=quantities, assumptions=needed
    )
