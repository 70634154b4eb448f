"""Mechanisms tried for the time between page faults with more core, and what each made of the other cells."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from thinktime.documents.document import Col, Cols, Table
from thinktime.studies.cells import Cell
from thinktime.studies.estimates import given
from thinktime.studies.laboratory import Laboratory
from thinktime.studies.sekino_1971.configurations import (
    BETWEEN,
    CAPACITY,
    EVENTS,
    FULL,
    LARGE,
    PAPER,
    QUANTITIES,
    SMALL,
    Configuration,
    value_of,
    words,
)
from thinktime.studies.study import Chapter

TRIALS = Path(__file__).parent / "trials.csv"
SHARES = ("idle", "useful_work")
AS_IT_IS = "as it is"
PAGE_FAULT = "page_fault"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A machine with another mechanism, after calibration to 1 CPU with 256K."""

    mechanism: str
    small_ms: float
    large_ms: float
    """Time between page faults of 1 CPU with 256K and with 384K."""
    full: tuple[float, ...]
    """Of 2 CPUs: times between the events of `EVENTS` [ms], then idle time and useful work [%]."""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Cells of 2 CPUs, 384K, judged as those of the study."""
        lines = [(BETWEEN, event) for event in EVENTS] + [(CAPACITY, state) for state in SHARES]
        return tuple(
            PAPER.simulated(
                table, {"configuration": FULL.name, "event": event}, QUANTITIES[table], given(value)
            )
            for (table, event), value in zip(lines, self.full, strict=True)
        )

    @property
    def missed(self) -> tuple[str, ...]:
        """Lines of these cells that miss."""
        return tuple(str(cell.row["event"]) for cell in self.cells if cell.verdict == "misses")

    @property
    def fits(self) -> bool:
        """True if 1 CPU, 256K, to which it was calibrated, has the printed time between page faults."""
        return _agrees(SMALL, self.small_ms)

    @property
    def reaches(self) -> bool:
        """True if the time of 1 CPU, 384K is within the tolerance of the study."""
        return _agrees(LARGE, self.large_ms)


def _agrees(item: Configuration, between_ms: float) -> bool:
    row = {"configuration": item.name, "event": PAGE_FAULT}
    return PAPER.simulated(BETWEEN, row, QUANTITIES[BETWEEN], given(between_ms)).verdict == "agrees"


def trials() -> tuple[Trial, ...]:
    """Every trial, in the order of the file; the first is the machine of the study."""
    with TRIALS.open(encoding="utf-8", newline="") as file:
        return tuple(
            Trial(
                mechanism=row["mechanism"],
                small_ms=float(row["small_page_fault_ms"]),
                large_ms=float(row["large_page_fault_ms"]),
                full=(
                    *(float(row[f"full_{event}_ms"]) for event in EVENTS),
                    *(float(row[f"full_{state}_percent"]) for state in SHARES),
                ),
            )
            for row in csv.DictReader(file)
        )


def chapter(_: Laboratory | None) -> Chapter:
    """What was tried, with the figures that each gave."""
    every = trials()
    as_it_is, others = every[0], every[1:]
    theirs = value_of(BETWEEN, LARGE, PAGE_FAULT)
    lost = {trial.mechanism: sorted(set(trial.missed) - set(as_it_is.missed)) for trial in others}
    reaching = [trial for trial in others if trial.reaches]
    safe = [trial for trial in others if not lost[trial.mechanism]]
    return Chapter(
        summary=(
            f"Measured with {LARGE.words} were {theirs:g} ms between page faults; the simulated machine has "
            f"{as_it_is.large_ms:.1f} ms. {len(others)} machines with other mechanisms were calibrated to "
            f"{SMALL.words} as this one is, and compared with {FULL.words}. No mechanism was adopted.",
            *_reaching(reaching, lost),
            *_safe(safe),
        ),
        tables=(_table(every),),
        method=(
            "Trials of the calibration, not repeated here: each with its own times between faults, share of "
            "pages written, share of pages from the disk and time of an access, to give 1 CPU with 256K the "
            "printed times between events and idle time; means of two replications of 50 minutes on the same "
            "random numbers. calibration.md describes the mechanisms. Cells are judged as everywhere on this "
            "page."
        ),
    )


def _reaching(reaching: list[Trial], lost: dict[str, list[str]]) -> Iterator[str]:
    """Sentence on the trials that reach the measured time."""
    if not reaching:
        yield "None comes within 20 % of it."
        return
    listed = "; ".join(
        f"{trial.mechanism} ({trial.large_ms:.1f} ms) loses "
        f"{', '.join(map(words, lost[trial.mechanism])) or 'none'}"
        f"{'' if trial.fits else f', and no longer fits {SMALL.words}'}"
        for trial in reaching
    )
    yield (
        f"Within 20 % of the measured time are {len(reaching)}. Of the cells of {FULL.words} that agreed, "
        f"{listed}."
    )


def _safe(safe: list[Trial]) -> Iterator[str]:
    """Sentence on the trial that loses no cell and comes nearest."""
    if safe:
        best = max(safe, key=lambda trial: trial.large_ms)
        yield (
            f"Of the {len(safe)} that lose no cell, {best.mechanism!r} has the longest time, "
            f"{best.large_ms:.1f} ms."
        )


def _table(every: tuple[Trial, ...]) -> Table:
    """All trials, with the cells of 2 CPUs that miss."""
    printed = (
        f"{value_of(BETWEEN, SMALL, PAGE_FAULT):g}",
        f"{value_of(BETWEEN, LARGE, PAGE_FAULT):g}",
        f"{value_of(BETWEEN, FULL, PAGE_FAULT):g}",
        *(f"{value_of(CAPACITY, FULL, state):g}" for state in SHARES),
        "",
    )

    def figures(trial: Trial) -> tuple[str, ...]:
        marked = dict(zip((*EVENTS, *SHARES), trial.cells, strict=True))
        full = [
            f"{marked[name].ours:.1f}{' ✗' if marked[name].verdict == 'misses' else ''}"
            for name in (PAGE_FAULT, *SHARES)
        ]
        large = f"{trial.large_ms:.1f}{'' if trial.reaches else ' ✗'}"
        rest = [words(name) for name in trial.missed if name not in (PAGE_FAULT, *SHARES)]
        small = f"{trial.small_ms:.1f}{'' if trial.fits else ' ✗'}"
        return (small, large, *full, ", ".join(rest))

    rows = [("measured", printed), *((trial.mechanism, figures(trial)) for trial in every)]
    return Table.of(
        rows,
        Col("machine", lambda row: row[0]),
        Cols(
            [
                *(f"{item.words}: between page faults, ms" for item in (SMALL, LARGE, FULL)),
                "its idle time, %",
                "its useful work, %",
                "its other times that miss",
            ],
            lambda row: row[1],
            scaled=False,
        ),
        name="trials",
        caption="Mechanisms tried for the time between page faults",
        notes=["✗: outside the tolerance of the study."],
    )
