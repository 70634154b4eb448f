"""The page of the study: the answer, how well each configuration is predicted, and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from thinktime.documents import format as shown
from thinktime.documents.document import Col, Document, Finding, Section, Table
from thinktime.documents.wording import listed, percent, refused
from thinktime.models.swapping.assumptions import UTILISATION_LEAST
from thinktime.models.swapping.disk_bound import LeftOut, leave_one_out
from thinktime.stats.estimate import NotApplicable
from thinktime.studies.brachman_1983.recomputed import ERROR, PREDICTED_WITH_MS, published_runs
from thinktime.studies.brachman_1983.runs import BY_TIME, PAPER
from thinktime.studies.swapping_linux import charts
from thinktime.studies.swapping_linux.analysis import (
    WITHIN,
    Change,
    Predicted,
    SwappingStudy,
    read_again,
    saturated,
)
from thinktime.studies.swapping_linux.data import Configuration

TITLE = "How well does a swapping model of 1983 hold for a kernel that pages?"
HOW, WHY, THEN, LIMITS = "swapping-predictions", "swapping-why", "swapping-1983", "swapping-limits"
MIB = 1 << 20
OTHERS = 0.05
"""Part of what is written that others had on the device from which on they disturb a run."""
BUSY = 0.9
"""Share of the CPU time of the machine from which on a run may have been limited by the CPUs."""
EVEN = 0.5
"""Jain's index of the interactions by process from which on they are said to take turns."""
WHOLE = 0.75
"""Share of its image from which on a process is said to be read again almost as a whole."""


def document(study: SwappingStudy) -> Document:
    """Page of a study: the answer first."""
    return Document(
        title=TITLE,
        subtitle="The experiment of Brachman 1983 on Linux: prototype processes that swap to a device of "
        "known speed, each configuration predicted from the others.",
        findings=tuple(_findings(study)),
        sections=(_how_well(study), _why(study), _then(study), _limits(study)),
        facts=tuple(_facts(study)),
        facts_title="How was it measured?",
        origin="Made by thinktime from the runs alone: the same runs give the same page.",
    )


def not_applicable(reason: NotApplicable) -> Document:
    """Page of runs from which nothing follows: why, and what to do."""
    section = refused(HOW, TITLE, reason)
    return Document(
        title=TITLE,
        subtitle="The experiment of Brachman 1983 on Linux.",
        findings=(Finding(section.not_applicable, section=HOW, tone="warning"),),
        sections=(section,),
    )


def _share(value: float) -> str:
    return shown.quantity(value, "share")


def _signed(value: float) -> str:
    return f"{100 * value:+.0f}\N{NO-BREAK SPACE}%".replace("-", "\N{MINUS SIGN}")


def _findings(study: SwappingStudy) -> Iterator[Finding]:
    """The answer in three sentences, and what the reader must beware of."""
    count = len(study.predicted)
    (near, near_general), (far, far_general) = (study.within(error) for error in WITHIN)
    ratio, general = study.median_error()
    theirs = np.median([abs(out.error) for out in _table_viii()])
    spread = study.measured.spread
    chance = (
        "" if math.isnan(spread) else f" But runs of one configuration differ by {_share(spread)} themselves."
    )
    yield Finding(
        f"Of {count} configurations that swap, the ratio model of 1983 predicts {near} within "
        f"{percent(WITHIN[0])} and {far} within {percent(WITHIN[1])} of the measured elapsed time, from the "
        f"others; the general model {near_general} and {far_general}. The median error is {_share(ratio)} "
        f"and {_share(general)}; of the ratio model on the runs of 1983 it was "
        f"{_share(float(theirs))}.{chance}",
        section=HOW,
    )
    yield Finding(_what_holds(study.changes), section=HOW)
    yield Finding(_what_is_read(study), section=WHY)
    dull = [one for one in study.predicted if not saturated(one.measured)]
    if dull:
        yield Finding(
            f"In {len(dull)} of {count} configurations neither direction of the device was used by more "
            f"than {percent(UTILISATION_LEAST)}: the ratio model asks for that, and is tried there beyond "
            "what it assumes.",
            section=WHY,
            tone="warning",
        )
    yield from _disturbed(study)


def _disturbed(study: SwappingStudy) -> Iterator[Finding]:
    """What others did to the runs."""
    count = len(study.predicted)
    busy = [one for one in study.predicted if one.measured.mean("cpu_busy") > BUSY]
    if busy:
        yield Finding(
            f"In {len(busy)} of {count} configurations more than {percent(BUSY)} of all CPU time of the "
            "machine was in use, by other work too: elapsed times may be longer than the device alone "
            "would make them.",
            section=LIMITS,
            tone="warning",
        )
    parts = [_strangers(one.measured, study) for one in study.predicted]
    if max(parts) > OTHERS:
        yield Finding(
            "Others swapped to the device too: what they had there at the end of a run is up to "
            f"{_share(max(parts))} of what was written while it was measured, and "
            f"{_share(float(np.median(parts)))} in the median.",
            section=LIMITS,
            tone="warning",
        )


def _strangers(one: Configuration, study: SwappingStudy) -> float:
    """Bytes of others on the device at the end of a run, relative to those written while it was measured."""
    conditions = study.measured.conditions
    speed = conditions.pages_per_s * conditions.page_bytes
    written = one.mean("write_utilisation") * speed * conditions.measured_s
    return one.mean("strangers_bytes") / written


def _what_holds(changes: Sequence[Change]) -> str:
    """Sentence on which changes are predicted."""
    good = [change for change in changes if change.holds]
    bad = [change for change in changes if change.holds is False]
    if not good and not bad:
        return "No factor was changed often enough, all others the same, to tell which changes it predicts."
    if not bad:
        widest = max(good, key=_width)
        return (
            f"What it predicts of a change of {_named(good)} lies in the interval of what was measured, but "
            f"these are wide: with {widest.factor} from {widest.low} to {widest.high} elapsed times change "
            f"by a factor of {shown.estimate(widest.measured)}, predicted {widest.predicted:.2f}."
        )
    told = "; ".join(
        f"with {change.factor} from {change.low} to {change.high} elapsed times change by a factor of "
        f"{shown.estimate(change.measured)}, predicted {change.predicted:.2f}"
        for change in bad
    )
    lead = (
        f"Its prediction of a change of {_named(good)} lies in the interval of what was measured, but not "
        "that"
        if good
        else "Its predictions lie outside the interval of what was measured for a change"
    )
    return f"{lead} of {_named(bad)}: {told}."


def _width(change: Change) -> float:
    """Ratio of the ends of the interval of a measured change."""
    return (change.measured.high or math.inf) / (change.measured.low or 1.0)


def _named(changes: Sequence[Change]) -> str:
    return listed([change.factor for change in changes])


def _what_is_read(study: SwappingStudy) -> str:
    """Sentence on what the kernel does where the model takes whole images in turn."""
    shares = [read_again(one.measured, study.measured) for one in study.predicted]
    model = [_model_images(one) for one in study.predicted]
    turns = _turns(study)
    return (
        f"The kernel pages: in an interaction a process reads between {_share(min(shares))} and "
        f"{_share(max(shares))} of its pages again, where the ratio model has it swapped in "
        f"{min(model):.2g} to {max(model):.2g} times; {turns[:1].lower()}{turns[1:]}"
    )


def _turns(study: SwappingStudy) -> str:
    """Sentence on whether processes take turns, and on what that does to the predictions."""
    runs = [
        (even, one.ratio.mean_s / elapsed_s - 1.0)
        for one in study.predicted
        for run in one.measured.runs
        if (even := run.get("evenness")) is not None and (elapsed_s := run.get("elapsed_s"))
    ]
    if not runs:
        return "Whether processes take turns is not known."
    uneven = [error for even, error in runs if even < EVEN]
    others = [error for even, error in runs if even >= EVEN]
    if not uneven:
        return f"Processes take turns: in all runs their index of evenness is at least {EVEN:g}."
    off = _signed(float(np.median(uneven)))
    rest = f", and by {_signed(float(np.median(others)))} in that of the others" if others else ""
    return (
        f"It does not take turns: in {len(uneven)} of {len(runs)} runs few processes have most of the "
        f"interactions (index of evenness below {EVEN:g}), and the ratio model is off by {off} in the "
        f"median of these runs{rest}."
    )


def _model_images(one: Predicted) -> float:
    """Images that an interaction swaps in by the ratio model: half of one swap for NL file requests."""
    return 0.5 * one.measured.mean("file_requests") / one.measured.loaded


# How well


def _how_well(study: SwappingStudy) -> Section:
    table = Table.of(
        study.changes,
        Col("change", lambda change: f"{change.factor}, {change.low} to {change.high}"),
        Col("measured", lambda change: change.measured),
        Col("ratio model", lambda change: f"{change.predicted:.2f}", scaled=False),
        Col("general model", lambda change: f"{change.general:.2f}", scaled=False),
        Col("pairs", lambda change: change.pairs, scaled=False),
        Col(
            "ratio model is",
            lambda change: {True: "in the interval", False: "outside", None: "not known"}[change.holds],
        ),
        name="swapping-changes",
        caption="Elapsed time after a change of one factor, relative to before",
        notes=("Over all pairs of configurations that swap and differ in that factor alone.",),
    )
    errors = [one.ratio.error for one in study.predicted]
    generals = [one.general_error for one in study.predicted]
    return Section(
        name=HOW,
        title="How well is each configuration predicted?",
        summary=(
            f"The mean of the predictions from all other configurations is off by {_signed(min(errors))} to "
            f"{_signed(max(errors))} with the ratio model; the general model, which needs no elapsed time, "
            f"is off by {_signed(min(generals))} to {_signed(max(generals))}.",
            *_spread(study),
        ),
        tables=(table, _each(study)),
        figures=(charts.predicted_against_measured(study),),
        method="Ratio model: equation 3.1 with its extensions for other numbers of processes, from the "
        "measured elapsed time of each other configuration; NL = floor(MM / PS) with the measured size of a "
        "process. General model: the closed network with a swapper of `thinktime predict swapping`; file "
        "requests and the system's CPU time per interaction are the means of the other configurations, all "
        "else follows from the levels. In both, a file request is a page, and an image in and one out "
        "occupy the device together for the time of one, since it reads and writes at once.",
        result=study.to_dict(),
        short="how well",
    )


def _spread(study: SwappingStudy) -> Iterator[str]:
    spread = study.measured.spread
    if math.isnan(spread):
        yield "Each configuration was run once: how much of an error is chance is not known."
        return
    ratio = sum(one.is_in_interval(one.ratio.mean_s) is True for one in study.predicted)
    general = sum(one.is_in_interval(one.general_s) is True for one in study.predicted)
    yield (
        f"Runs of one configuration differ by {_share(spread)} themselves (standard deviation of the "
        f"logarithm, pooled over those that swap); in the thesis by less than {percent(ERROR)}. So the "
        f"interval of a measured time is wide, and the prediction of the ratio model lies in it for {ratio} "
        f"of {len(study.predicted)} configurations, that of the general model for {general}."
    )


def _each(study: SwappingStudy) -> Table:
    return Table.of(
        study.predicted,
        Col("memory", lambda one: f"{one.measured.memory_bytes / MIB:g} MiB", scaled=False),
        Col("processes", lambda one: one.measured.processes, scaled=False),
        Col("array", lambda one: f"{one.measured.size_bytes / MIB:g} MiB", scaled=False),
        Col("compute", lambda one: f"{one.measured.burst_ms} ms", scaled=False),
        Col("loaded", lambda one: one.measured.loaded, scaled=False),
        Col("measured", lambda one: one.elapsed),
        Col("ratio model", lambda one: _signed(one.ratio.error), scaled=False),
        Col("general model", lambda one: _signed(one.general_error), scaled=False),
        name="swapping-each",
        caption="Elapsed time of each configuration, and how far predictions from the others are off",
        folded=True,
    )


# Why


def _why(study: SwappingStudy) -> Section:
    sizes = sorted({one.size_bytes for one in study.measured.configurations})
    figures = [
        figure(study, size) for figure in (charts.elapsed, charts.again, charts.used) for size in sizes
    ]
    table = Table.of(
        study.predicted,
        Col("configuration", lambda one: one.measured.words),
        Col("pages in", lambda one: one.measured.mean("pages_in"), scaled=False),
        Col("pages out", lambda one: one.measured.mean("pages_out"), scaled=False),
        Col("in, of its pages", lambda one: read_again(one.measured, study.measured), unit="share"),
        Col("images, ratio model", lambda one: f"{_model_images(one):.2f}", scaled=False),
        Col("read", lambda one: one.measured.mean("read_utilisation"), unit="share"),
        Col("written", lambda one: one.measured.mean("write_utilisation"), unit="share"),
        Col("queue", lambda one: one.measured.mean("queue"), scaled=False),
        Col("evenness", lambda one: f"{one.measured.mean('evenness'):.2f}", scaled=False),
        name="swapping-traffic",
        caption="Pages swapped in per interaction, use of the device, and its mean number of requests",
    )
    return Section(
        name=WHY,
        title="What does the kernel do instead?",
        summary=tuple(_why_sentences(study)),
        tables=(table,),
        figures=tuple(figures),
        method="Pages by the counters of the swap area, what others swapped included; use of the device as "
        "bytes relative to what its limit lets through in the time; queue as the kernel's sum of the times "
        "of requests over the time; evenness as Jain's index of the interactions by process, 1 where all "
        "have as many and 1 / PN where one has all.",
        short="why",
    )


def _why_sentences(study: SwappingStudy) -> Iterator[str]:
    shares = [read_again(one.measured, study.measured) for one in study.predicted]
    whole = sum(share >= WHOLE for share in shares)
    more = sum(share > 1.0 for share in shares)
    yield (
        f"In {whole} of {len(shares)} configurations a process reads at least {percent(WHOLE)} of its pages "
        f"again in each interaction, nearly as one that was swapped in as a whole; in {more} of them more "
        "pages than it has, for some were taken again before it used them, or read ahead in vain. In the "
        "others part of a process stays in memory between its interactions. A swapper of whole processes "
        "does neither."
    )
    yield (
        f"{_turns(study)} The kernel takes the pages that were not used for longest: a process that comes "
        "back from its pause soon finds its pages, and one that waits for them loses more meanwhile. The "
        "swapper of 1983 brought in who had been outside for 3 seconds."
    )
    memory = next((change for change in study.changes if change.factor == "memory"), None)
    if memory is not None:
        yield (
            "In the ratio model more memory holds more processes, each of which does its file requests "
            f"between two swaps. With {memory.high} instead of {memory.low}, the model has elapsed times of "
            f"{memory.predicted:.2f}, and {shown.estimate(memory.measured)} were measured."
        )
    if study.fitting:
        yield (
            f"{len(study.fitting)} configurations fit into memory; they are drawn, and not predicted: the "
            "models' disk has nothing to do there."
        )


# 1983


def _then(study: SwappingStudy) -> Section:
    """Table VIII of the thesis, and the same of the runs here."""
    title = "And in 1983?"
    if len(study.table_viii) < 2:
        return refused(
            THEN,
            title,
            NotApplicable("too few configurations with the most processes and the shortest bursts swap"),
        )
    theirs = _table_viii()
    rows = [
        *((f"1983: {case.words}", out) for case, out in zip(BY_TIME, theirs, strict=True)),
        *(
            (f"here: {one.measured.words}", out)
            for one, out in zip(_like_viii(study), study.table_viii, strict=True)
        ),
    ]
    table = Table.of(
        rows,
        Col("run", lambda row: row[0]),
        Col("measured, s", lambda row: f"{row[1].measured_s:.0f}", scaled=False),
        Col(
            "predicted, s",
            lambda row: f"{row[1].mean_s:.0f} ± {row[1].standard_deviation_s:.0f}",
            scaled=False,
        ),
        Col("off", lambda row: _signed(row[1].error), scaled=False),
        name="swapping-table-viii",
        caption="Runs of the most processes with the shortest bursts, each predicted from the others of them",
        notes=(
            "As Table VIII of the thesis: mean and standard deviation of the predictions from the other "
            "runs.",
        ),
    )
    return Section(
        name=THEN,
        title=title,
        summary=(
            f"The six runs of Table VIII are predicted from each other with errors of {_errors(theirs)}, "
            f"and the {len(study.table_viii)} runs here that are designed like them with errors of "
            f"{_errors(study.table_viii)}.",
        ),
        tables=(table,),
        method=f"{PAPER.citation} Its runs are as printed: `thinktime study brachman-1983` has all of them.",
        short="1983",
    )


def _table_viii() -> Sequence[LeftOut]:
    """Runs of the thesis, each predicted from the others."""
    return leave_one_out(published_runs(PREDICTED_WITH_MS))


def _like_viii(study: SwappingStudy) -> list[Predicted]:
    """Configurations of `table_viii`, in its order."""
    most = max(one.measured.processes for one in study.predicted)
    least = min(one.measured.burst_ms for one in study.predicted)
    return [
        one for one in study.predicted if (one.measured.processes, one.measured.burst_ms) == (most, least)
    ]


def _errors(outs: Sequence[LeftOut]) -> str:
    return f"{_signed(min(out.error for out in outs))} to {_signed(max(out.error for out in outs))}"


# Limits


def _limits(study: SwappingStudy) -> Section:
    killed = sum(one.mean("killed") for one in study.measured.configurations)
    strangers = max(one.mean("strangers_bytes") for one in study.measured.configurations)
    lines = [
        "This is one machine, one kernel and one kind of load, which touches all its memory in each "
        "interaction: a hard one for a kernel that pages. Processes with a working set smaller than their "
        "memory fault less.",
        "The device has one speed for any request, and reads and writes at once: there is no seek whose "
        "length depends on what is read, as on the disk of 1983. Whether seeks would help or harm the model "
        "is not known from this.",
        f"The elapsed time is that of as many interactions as {study.measured.conditions.interactions} of "
        f"each process, at the throughput of {shown.quantity(study.measured.conditions.measured_s, 's')}: "
        "no run went on for so long. Where processes do not take turns, the last would be through its own "
        "much later.",
        f"Others had up to {shown.quantity(strangers, 'byte')} on the swap area at the end of a run: a "
        "kernel that reclaims their memory uses it as well.",
    ]
    left = [*study.unsettled, *study.measured.left_out]
    if left:
        lines.append(
            "Left out, because not every process was through an interaction when the measurement began: "
            f"{listed([one.words for one in left])}."
        )
    if killed:
        lines.append(f"The kernel ended {killed:g} processes for want of memory.")
    return Section(
        name=LIMITS,
        title="What can this not tell?",
        summary=tuple(lines),
        method="Each configuration was run in random order; a replication has the same seeds in all of them.",
        short="limits",
    )


def _facts(study: SwappingStudy) -> Iterator[tuple[str, str]]:
    conditions = study.measured.conditions
    yield "Machine", conditions.machine or "not named"
    yield "Begin", shown.moment(conditions.begun_us)
    yield (
        "Device",
        f"{conditions.pages_per_s} pages of {conditions.page_bytes} bytes per second in each direction, for "
        "pages and files",
    )
    counts = sorted({len(one.runs) for one in study.measured.configurations})
    yield (
        "Configurations",
        f"{len(study.measured.configurations)}, {len(study.predicted)} of which swap; runs of each: "
        f"{', '.join(map(str, counts))}",
    )
    yield (
        "Each run",
        f"{shown.quantity(conditions.measured_s, 's')} after memory was filled and "
        f"{shown.quantity(conditions.warm_up_s, 's')} of warm-up",
    )
    yield "Mean pause", f"{shown.quantity(conditions.think_s, 's')}, exponential"
