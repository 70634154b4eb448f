"""Elapsed time of a load on another machine, where the swap disk is the bottleneck."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from thinktime.analyses.disks import disk_saturation
from thinktime.analyses.disks.section import WORDS
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Col, Section, Table
from thinktime.documents.wording import worded
from thinktime.models.uncertain import point
from thinktime.predictions import prediction as predicted
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable

if TYPE_CHECKING:
    from thinktime.log import Log
    from thinktime.models.prediction import Prediction
    from thinktime.models.swapping.swap_disk import Configuration

LABELS = {
    "ratio": "elapsed time on B over that on A",
    "change": "elapsed time, change",
    "ratio_as_printed": "the ratio as the thesis combines queue lengths",
    "throughput_ratio": "interactions per second on B over those on A",
    "disk_factor": "equation 3.1: memory and disk",
    "processes_factor": "number of processes",
    "burst_factor": "compute bursts, by queue lengths",
    "loaded_a": "processes in memory, A",
    "loaded_b": "processes in memory, B",
    "swaps_a": "swaps in and out: blocks over loaded, A",
    "swaps_b": "swaps in and out: blocks over loaded, B",
    "elapsed_a_s": "elapsed time, A",
    "elapsed_b_s": "elapsed time, B",
    "throughput_a_per_s": "X = C / T, A",
    "throughput_b_per_s": "X = C / T, B",
    "response_a_s": "R = PN T / C - Z, A",
    "response_b_s": "R = PN T / C - Z, B",
    "stretch_a": "stretch factor R / S, A",
    "stretch_b": "stretch factor R / S, B",
    "response_as_printed_a_s": "T / C - Z, without PN as printed, A",
    "response_as_printed_b_s": "T / C - Z, without PN as printed, B",
}
INPUTS = {
    "block_time_s": "file request",
    "swap_time_s": "swap one way",
    "loaded": "processes in memory",
    "memory": "memory",
    "size": "size of a process",
    "processes": "processes",
    "burst_s": "compute burst",
    "queue_length": "requests at the controller",
    "utilisation": "utilisation of the controller",
    "think_s": "think time",
    "service_s": "service time",
    "elapsed_s": "elapsed time",
    "interactions": "interactions",
    "blocks": "file requests",
}


MEASURED = ("queue_length", "utilisation", "elapsed_s", "interactions", "blocks")
"""Inputs that are results of a load on one machine; the other machine does not take them over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogInputs:
    """Inputs of the model that a log has."""

    inputs: Mapping[str, Any]
    """By field of `Configuration`."""
    missing: Mapping[str, NotApplicable]
    """Inputs that the model needs and the log lacks, and why."""
    caveats: tuple[Caveat, ...]


def of_log(log: Log, *, device: str = "") -> LogInputs | NotApplicable:
    """Inputs of the model for the machine that a log was recorded on.

    Parameters
    ----------
    log : Log
    device : str
        Name of the drive or device with the files; by default the simulated system's, or the busiest.
    """
    result = disk_saturation.analyse(log, device=device)
    if isinstance(result, NotApplicable):
        return result
    facts = result.facts
    observed: dict[str, Any] = {
        "loaded": result.loaded,
        "block_time_s": result.block_time,
        "swap_time_s": result.swap_time,
        "queue_length": result.queue_length,
        "utilisation": result.utilisation,
        "elapsed_s": result.elapsed,
        "blocks": result.blocks,
        "memory": facts.memory,
        "size": facts.size,
        "processes": facts.processes,
        "burst_s": facts.burst_s,
        "think_s": result.think,
        "interactions": facts.interactions,
        "interactive": facts.interactive,
        "equal_demands": facts.equal_demands,
        "single_controller": facts.single_controller,
        "one_swap_at_a_time": facts.one_swap_at_a_time,
    }
    if facts.memory and facts.size:
        # The model counts the processes that fit, on both machines in the same way.
        del observed["loaded"]
    return LogInputs(
        inputs={
            name: value
            for name, value in observed.items()
            if value is not None and not isinstance(value, NotApplicable)
        },
        missing={
            name: value
            for name in ("loaded", "block_time_s", "swap_time_s")
            if isinstance(value := observed.get(name), NotApplicable)
        },
        caveats=result.caveats,
    )


def inherited(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs that machine B, known by `b`, takes over from machine A.

    A number of loaded processes is not taken over where B has another memory or another size of process,
    because it then follows from them.
    """
    taken = {name: value for name, value in a.items() if name not in MEASURED and name not in b}
    changed = {"memory", "size"} & set(b)
    if changed and {"memory", "size"} <= {*taken, *b}:
        taken.pop("loaded", None)
    return taken


def section(
    prediction: Prediction,
    machines: tuple[Configuration, Configuration],
    sources: tuple[Mapping[str, str], Mapping[str, str]],
    caveats: Sequence[Caveat] = (),
) -> Section:
    """Section of a prediction by `models.swapping.disk_bound`.

    Parameters
    ----------
    prediction : Prediction
    machines : (Configuration, Configuration)
        Inputs of the model for A and B.
    sources : (mapping, mapping)
        Where each input of A and of B comes from, by field.
    caveats : sequence of Caveat
        Of the log from which inputs were taken.
    """
    measured = [value.n for machine in machines for value in machine.known() if isinstance(value, Estimate)]
    return predicted.section(
        "disk-bound",
        "How long does the load take on the other machine?",
        prediction,
        LABELS,
        summary=_sentences(prediction, machines[1]),
        tables=(_inputs(machines, sources),),
        warnings=worded(caveats, WORDS),
        n=min(measured, default=0),
    )


def _sentences(prediction: Prediction, b: Configuration) -> list[str]:
    def text(name: str) -> str:
        return shown.estimate(predicted.estimate(prediction.quantity(name)))

    sentences = [f"On B the load takes {text('ratio')} times as long as on A."]
    has_elapsed = any(quantity.name == "elapsed_b_s" for quantity in prediction.quantities)
    if has_elapsed:
        sentences.append(f"{text('elapsed_a_s')} on A become {text('elapsed_b_s')} on B.")
    if has_elapsed and b.elapsed_s is not None:
        measured = point(b.elapsed_s)
        error = prediction["elapsed_b_s"] / measured - 1.0
        sentences.append(
            f"Measured on B were {shown.quantity(measured, 's')}: the prediction differs by "
            f"{shown.quantity(error, 'share')}."
        )
    if abs(prediction["ratio_as_printed"] / prediction["ratio"] - 1.0) > 1e-9:
        sentences.append(
            f"As printed, the thesis would give {shown.number(prediction['ratio_as_printed'])}: it uses the "
            "queue of A unchanged, and so counts the change in the number loaded twice."
        )
    return sentences


def _inputs(
    machines: tuple[Configuration, Configuration], sources: tuple[Mapping[str, str], Mapping[str, str]]
) -> Table:
    """Table with a row for each machine and a column for each input; the notes name the sources."""
    given = [name for name in INPUTS if any(getattr(machine, name) is not None for machine in machines)]
    return Table.of(
        zip("AB", machines, strict=True),
        Col("machine", lambda item: item[0]),
        *(
            Col(INPUTS[name], partial(_cell, name), unit="share" if name == "utilisation" else _unit(name))
            for name in given
        ),
        name="disk-bound-inputs",
        caption="Inputs of the model",
        notes=tuple(_origins(given, sources)),
    )


def _unit(name: str) -> str:
    return "s" if name.endswith("_s") else ""


def _origins(given: Sequence[str], sources: tuple[Mapping[str, str], Mapping[str, str]]) -> Iterator[str]:
    for letter, source_of in zip("AB", sources, strict=True):
        by_source: dict[str, list[str]] = {}
        for name in given:
            if name in source_of:
                by_source.setdefault(source_of[name], []).append(INPUTS[name])
        parts = [f"{source}: {', '.join(names)}" for source, names in by_source.items()]
        if parts:
            yield f"{letter} {'; '.join(parts)}."


def _cell(name: str, item: tuple[str, Configuration]) -> Cell:
    value = getattr(item[1], name)
    unit = "share" if name == "utilisation" else _unit(name)
    if isinstance(value, Estimate):
        return replace(value, unit=unit)
    if isinstance(value, float) and value.is_integer() and not unit:
        return int(value)
    if isinstance(value, tuple):
        return ", ".join(f"{size:g}" for size in value)
    return value if isinstance(value, (int, float)) else None
