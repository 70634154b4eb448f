"""Cost of swapping on a machine whose CPU, not its disk, is the bottleneck."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.errors import InputError
from thinktime.models.swapping.swap_overhead import one_loaded, several_loaded
from thinktime.models.uncertain import Known
from thinktime.predictions import prediction as predicted

if TYPE_CHECKING:
    from thinktime.documents.document import Section
    from thinktime.models.prediction import Prediction

LABELS = {
    "elapsed_b_s": "elapsed time then",
    "swapping_s": "time spent on swapping alone",
    "ratio": "elapsed time after the change over that before",
    "quantum_least_s": "memory quantum below which the machine thrashes: 2 Tswap",
    "swap_time_most_s": "swap time above which it thrashes: half the quantum",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """CPU-bound load, now and with swapping or more processes."""

    elapsed_s: Known
    """Elapsed time of the load now."""
    swap_time_s: Known
    """Mean time of one swap, one way, without queueing."""
    swaps: Known | None = None
    """Additional swaps, in and out, if one process is loaded."""
    quantum_s: Known | None = None
    """Memory quantum, the CPU time of a process while in memory, if several are loaded."""
    processes: int = 1
    """Active processes now."""
    processes_b: int | None = None
    """Active processes after the change; by default unchanged."""


def predict(load: Load) -> Prediction:
    """Elapsed time of a load that swaps, if the CPU is the bottleneck.

    Raises
    ------
    InputError
        Neither or both of swaps and memory quantum are given, or an input is not allowed.
    """
    if (load.swaps is None) == (load.quantum_s is None):
        raise InputError(
            "give the swaps (--swaps) if one process is loaded, or the memory quantum (--quantum) if "
            "several are"
        )
    if load.swaps is not None:
        return one_loaded(load.elapsed_s, load.swap_time_s, load.swaps)
    assert load.quantum_s is not None
    then = load.processes if load.processes_b is None else load.processes_b
    return several_loaded(load.elapsed_s, load.processes, then, load.quantum_s, load.swap_time_s)


def section(prediction: Prediction) -> Section:
    """Section of a prediction of `predict`."""
    after = shown.cell(predicted.estimate(prediction.quantity("elapsed_b_s")))
    return predicted.section(
        "swap-overhead",
        "How long does the load then take?",
        prediction,
        LABELS,
        summary=[f"The load takes {after}."],
    )
