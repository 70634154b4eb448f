"""How a load's elapsed time changes with the machine, where the swap disk is the bottleneck."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Column, Section, Table
from thinktime.predictions import prediction as predicted
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from thinktime.models.prediction import Prediction
    from thinktime.models.swapping.swap_disk import Configuration

__all__ = ["LABELS", "section"]

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
    "block_time_s": ("file request", "s"),
    "swap_time_s": ("swap one way", "s"),
    "loaded": ("processes in memory", ""),
    "memory": ("memory", ""),
    "size": ("size of a process", ""),
    "processes": ("processes", ""),
    "burst_s": ("compute burst", "s"),
    "queue_length": ("requests at the controller", ""),
    "utilisation": ("utilisation of the controller", "share"),
    "think_s": ("think time", "s"),
    "service_s": ("service time", "s"),
    "elapsed_s": ("elapsed time", "s"),
    "interactions": ("interactions", ""),
    "blocks": ("file requests", ""),
}


def section(
    found: Prediction,
    machines: tuple[Configuration, Configuration],
    sources: tuple[Mapping[str, str], Mapping[str, str]],
    caveats: Sequence[str] = (),
) -> Section:
    """Section of a prediction by `models.ratio`.

    Parameters
    ----------
    found : Prediction
        What the model said.
    machines : (Configuration, Configuration)
        What it was told of A and of B.
    sources : (mapping, mapping)
        Where each figure of A and of B comes from.
    caveats : sequence of str
        Of the log that figures were taken from.
    """
    measured = [known.n for machine in machines for known in machine.known() if isinstance(known, Estimate)]
    return predicted.section(
        "ratio",
        "How long does the load take on the other machine?",
        found,
        LABELS,
        summary=_sentences(found, machines[1]),
        tables=(_inputs(machines, sources),),
        caveats=caveats,
        n=min(measured, default=0),
    )


def _sentences(found: Prediction, b: Configuration) -> list[str]:
    ratio = predicted.estimate(found.quantity("ratio"))
    sentences = [f"On B the load takes {shown.cell(ratio)} times as long as on A."]
    known = {quantity.name for quantity in found.quantities}
    if "elapsed_b_s" in known:
        before, after = (
            shown.cell(predicted.estimate(found.quantity(name))) for name in ("elapsed_a_s", "elapsed_b_s")
        )
        sentences.append(f"{before} on A become {after} on B.")
    if "elapsed_b_s" in known and b.elapsed_s is not None:
        measured = b.elapsed_s.value if isinstance(b.elapsed_s, Estimate) else b.elapsed_s
        off = found["elapsed_b_s"] / measured - 1.0
        sentences.append(
            f"Measured on B were {shown.quantity(measured, 's')}: the prediction is off by "
            f"{shown.quantity(off, 'share')}."
        )
    if abs(found["ratio_as_printed"] / found["ratio"] - 1.0) > 1e-9:
        printed = shown.number(found["ratio_as_printed"])
        sentences.append(
            f"The thesis would say {printed}: it takes the queue of A as it is, and so counts the change in "
            "the number loaded twice."
        )
    return sentences


def _inputs(
    machines: tuple[Configuration, Configuration], sources: tuple[Mapping[str, str], Mapping[str, str]]
) -> Table:
    """Write a row a machine, a column a figure; where figures come from stands in the notes."""
    known = [name for name in INPUTS if any(getattr(machine, name) is not None for machine in machines)]
    rows = tuple(
        (letter, *(_cell(getattr(machine, name), INPUTS[name][1]) for name in known))
        for letter, machine in zip("AB", machines, strict=True)
    )
    columns = (Column("machine"), *(Column(INPUTS[name][0], unit=INPUTS[name][1]) for name in known))
    return Table(
        name="ratio-inputs",
        caption="What the model was told",
        columns=columns,
        rows=rows,
        notes=tuple(_origins(known, sources)),
    )


def _origins(known: Sequence[str], sources: tuple[Mapping[str, str], Mapping[str, str]]) -> Iterator[str]:
    for letter, own in zip("AB", sources, strict=True):
        by_source: dict[str, list[str]] = {}
        for name in known:
            source = next((own[key] for key in (name, *_options(name)) if key in own), None)
            if source is not None:
                by_source.setdefault(source, []).append(INPUTS[name][0])
        told = [f"{source}: {', '.join(names)}" for source, names in by_source.items()]
        if told:
            yield f"{letter} {'; '.join(told)}."


def _options(name: str) -> tuple[str, ...]:
    """Names that a figure may have as an option."""
    bare = name.removesuffix("_s")
    return bare, f"{bare}_time"


def _cell(value: object, unit: str) -> Cell:
    if isinstance(value, Estimate):
        return replace(value, unit=unit)
    if isinstance(value, float) and value.is_integer() and not unit:
        return int(value)
    if value is None or isinstance(value, (int, float, str)):
        return value
    return ", ".join(f"{each:g}" for each in value) if isinstance(value, tuple) else None
