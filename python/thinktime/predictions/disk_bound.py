"""Elapsed time of a load on another machine, where the swap disk is the bottleneck."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from thinktime.analyses.disks import analysis
from thinktime.analyses.disks.section import WORDS
from thinktime.documents import format as shown
from thinktime.documents.document import Cell, Col, Section, Table
from thinktime.documents.wording import worded
from thinktime.log import facts
from thinktime.models.uncertain import point
from thinktime.predictions import prediction as predicted
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.series import batch_means

if TYPE_CHECKING:
    from thinktime.analyses.disks.result import Disks, Drive
    from thinktime.log import Log
    from thinktime.log.facts import Facts, Session
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
"""Words for each input in the table of inputs."""
MEASURED = ("queue_length", "utilisation", "elapsed_s", "interactions", "blocks")
"""Inputs that are results of a load on one machine; the other machine does not inherit them."""
BY_HAND = "give it by hand"
UNIX6 = "unix6"
"""The simulated system whose swaps are of whole processes."""
SPEED_LEAST = 1e-9
"""Speed of a processor, in speeds of the original, below which no system simulates one."""


# Inputs that a log has


@dataclass(frozen=True, slots=True, kw_only=True)
class LogInputs:
    """Inputs of the model available from a log."""

    place: str
    """The drive or device that serves the files."""
    inputs: Mapping[str, Any]
    """By field of `Configuration`."""
    missing: Mapping[str, NotApplicable]
    """Inputs that the model needs but the log lacks, with the reason for each."""
    caveats: tuple[Caveat, ...]


def of_log(log: Log, *, device: str = "", level: float = 0.95) -> LogInputs | NotApplicable:
    """Inputs of the model for the machine on which a log was recorded (Brachman 1983, section 2).

    Service times are busy time over requests, which is access and transfer without queueing where a drive
    serves one request at a time. If files and swaps are on separate drives, as in the thesis, each drive
    gives one of the two times; if they share one, a simulation distinguishes them and a real log does not.

    Parameters
    ----------
    log : Log
    device : str
        Name of the drive or device that holds the files; by default that of the simulated system, or the
        busiest.
    level : float
        Confidence of the intervals.
    """
    disks = analysis.analyse(log, level=level)
    if isinstance(disks, NotApplicable):
        return disks
    if isinstance(disks.drives, NotApplicable):
        return disks.drives
    sessions = facts.sessions(log)
    parameters = _parameters(log, sessions)
    if isinstance(parameters, NotApplicable):
        return parameters
    numbered = {column.name for column in log.schema("samples")} >= {"drive0_busy_s", "drive0_requests"}
    files = _chosen(disks.drives, device, parameters.whole("file_drive") if numbered else None)
    if isinstance(files, NotApplicable):
        return files
    swaps = _numbered(disks.drives, parameters.whole("swap_drive")) if numbered else None
    apart = None if swaps is None or swaps is files else swaps
    runs = _Runs(sessions=sessions, level=level)
    observed: dict[str, Any] = {
        "loaded": runs.mean("loaded_mean", "process", "how many processes were in memory"),
        "block_time_s": _block_time(files, runs, shared=numbered and apart is None),
        "swap_time_s": _swap_time(disks, apart, runs, paged=parameters.text("memory_management") == "paging"),
        "queue_length": _queue(disks, files, numbered),
        "utilisation": _utilisation(disks, files, numbered),
        "elapsed_s": runs.mean("elapsed_s", "s", "how long the whole load took"),
        "blocks": runs.mean("file_transfers", "request", "how many file requests the load made"),
        "think_s": runs.mean("think_mean_s", "s", "how long users think"),
        **_facts(sessions, parameters),
    }
    if observed.get("memory") and observed.get("size"):
        # The model counts the processes that fit, on both machines in the same way.
        del observed["loaded"]
    return LogInputs(
        place=files.name,
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
        caveats=(*disks.caveats, *_caveats(disks, numbered)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """Responses that the replications of a simulation recorded."""

    sessions: Sequence[Session]
    level: float

    def mean(self, name: str, unit: str, words: str) -> Estimate | NotApplicable:
        """Mean of response `name` over the replications, Student's t; `words` describe it."""
        responses = (session.responses().get(name) for session in self.sessions)
        values = [float(item.value) for item in responses if item is not None and item.value is not None]
        if not values:
            return NotApplicable(f"the log does not record {words}", BY_HAND)
        if len(set(values)) == 1:
            return Estimate(value=values[0], unit=unit, n=len(values), method="the same in all replications")
        return batch_means.plain_mean(values, self.level).with_unit(unit)


def _parameters(log: Log, sessions: Sequence[Session]) -> Facts | NotApplicable:
    """Parameters of the simulated system, with its name; empty for a recorded machine."""
    by_session: list[Facts] = []
    for session in sessions:
        machine = session.machine
        parameters = machine.table("parameters")
        if "parameters" in machine:
            # A single drive serves files and swaps.
            is_only = parameters.values.get("drives") == 1
            drives = {"file_drive": 0, "swap_drive": 0} if is_only else {}
            values = {**parameters.values, **drives, "system": machine.text("system")}
            parameters = replace(parameters, values=values)
        by_session.append(parameters)
    if any(parameters.values != by_session[0].values for parameters in by_session):
        return NotApplicable(
            "the sessions of the log are of different configurations", "use a log of one configuration"
        )
    return by_session[0] if by_session else facts.none(log)


def _numbered(drives: Sequence[Drive], number: object) -> Drive | None:
    return drives[number] if isinstance(number, int) and 0 <= number < len(drives) else None


def _chosen(drives: Sequence[Drive], device: str, number: object) -> Drive | NotApplicable:
    """Drive with this name, else that of the simulated files, else the busiest."""
    for drive in drives:
        if drive.name == device:
            return drive
    if device:
        names = ", ".join(drive.name for drive in drives)
        return NotApplicable(f"the log has no device {device!r}", f"choose one of {names}")
    busiest = max(drives, key=lambda drive: best.value if (best := drive.utilisation.best) else 0.0)
    return _numbered(drives, number) or busiest


def _block_time(files: Drive, runs: _Runs, *, shared: bool) -> Estimate | NotApplicable:
    if shared:
        # The mean of the drive includes swaps; the simulation kept the two apart.
        return runs.mean("block_time_s", "s", "how much of the drive's time went to files")
    return files.service or NotApplicable(f"no request of {files.name} ended", "use a longer log")


def _swap_time(disks: Disks, swaps: Drive | None, runs: _Runs, *, paged: bool) -> Estimate | NotApplicable:
    if paged:
        return NotApplicable(
            "the system pages and does not swap whole processes", "use a log of memory_management=swapping"
        )
    if isinstance(disks.swapping, NotApplicable):
        return disks.swapping
    counters = {amount.name: amount.total for amount in disks.swapping.amounts}
    if not {"swap_ins", "swap_outs"} & set(counters):
        return NotApplicable(
            "the log counts pages swapped, not the time to swap a whole process",
            "measure or calculate that time and give it by hand",
        )
    if not any(counters.values()):
        return NotApplicable("nothing was swapped", f"{BY_HAND}: 0 for a machine that does not swap")
    if swaps is None:
        return runs.mean("swap_time_s", "s", "how much of the drive's time went to swaps")
    return swaps.service or NotApplicable(f"no request of {swaps.name} ended", "use a longer log")


def _utilisation(disks: Disks, files: Drive, numbered: bool) -> Estimate | NotApplicable:
    both = files.utilisation
    if numbered and not isinstance(disks.controller, NotApplicable):
        both = disks.controller
    return both.best or NotApplicable(f"the log does not record how busy {files.name} was", BY_HAND)


def _queue(disks: Disks, files: Drive, numbered: bool) -> Estimate | NotApplicable:
    if isinstance(disks.queues, NotApplicable):
        return disks.queues
    place = "controller" if numbered else files.name
    mean = next((queue.mean.best for queue in disks.queues if queue.place == place), None)
    return mean or NotApplicable(f"the log does not count the requests waiting at {place}", BY_HAND)


def _facts(sessions: Sequence[Session], parameters: Facts) -> dict[str, Any]:
    """Inputs that follow from the configuration, and from the simulated system itself."""
    if parameters.text("system") != UNIX6:
        return {}
    prototypes = parameters.text("workload") == "prototypes"
    processes, interactions = parameters.whole("processes"), parameters.whole("interactions")
    # With text that all processes share, the number that fit is not the quotient of the sizes.
    alone = not parameters.number("text")
    return {
        "memory": parameters.whole("memory") if alone else None,
        "size": parameters.numbers("size") if alone else None,
        "processes": processes,
        "burst_s": _burst(sessions, parameters) if prototypes else None,
        "interactions": processes * interactions if prototypes and processes and interactions else None,
        "interactive": True if prototypes else None,
        "equal_demands": True,
        "single_controller": True,
        "one_swap_at_a_time": True,
    }


def _burst(sessions: Sequence[Session], parameters: Facts) -> float | None:
    """Mean compute burst [s], where it is that of a table."""
    # Another compute burst is a distribution, as a text or as a table.
    pc = parameters.number("pc") if parameters.values.get("compute", "table") == "table" else None
    if pc is None:
        return None
    is_in_ms = sessions[0].machine.table("units").text("pc") == "ms"
    speed = parameters.number("cpu_speed", least=SPEED_LEAST)
    return float(pc) * (1e-3 if is_in_ms else 1.0) / (1.0 if speed is None else speed)


def _caveats(disks: Disks, numbered: bool) -> list[Caveat]:
    if numbered or isinstance(disks.swapping, NotApplicable):
        return []
    swapped = any(amount.total for amount in disks.swapping.amounts)
    return [Caveat("mixed_requests")] if swapped else []


# Section


def inherited(a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs that machine B, whose own inputs are `b`, inherits from machine A.

    A number of loaded processes is not inherited if B has another memory or another process size, because it
    then follows from those.
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
        Origin of each input of A and of B, by field.
    caveats : sequence of Caveat
        Caveats of the log from which inputs were taken.
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
        error = prediction.number("elapsed_b_s") / measured - 1.0
        sentences.append(
            f"Measured on B were {shown.quantity(measured, 's')}: the prediction differs by "
            f"{shown.quantity(error, 'share')}."
        )
    if abs(prediction.number("ratio_as_printed") / prediction.number("ratio") - 1.0) > 1e-9:
        printed = shown.number(prediction.number("ratio_as_printed"))
        sentences.append(
            f"As printed, the thesis would give {printed}: it uses the "
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
