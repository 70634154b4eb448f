"""What a study is: parts, each of which gives figures, findings and pictures."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thinktime.documents import document
from thinktime.errors import InputError
from thinktime.studies.cells import Figure, Finding
from thinktime.studies.published import Shape

__all__ = ["Chapter", "Outcome", "Part", "Progress", "Settings", "Study", "run", "silent"]

Progress = Callable[[float, str], None]
"""Told how much is done, 0 to 1, and what is being done."""


def silent(done: float, doing: str) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user chooses.

    Parameters
    ----------
    seed : int
        Of everything that is simulated.
    replications : int
        Simulated runs of each experiment whose figures are judged; what needs fewer takes fewer.
    progress : callable
        Told what is being done.
    """

    seed: int = 1
    replications: int = 8
    progress: Progress = silent


@dataclass(frozen=True, slots=True)
class Chapter:
    """What one part of a study gives."""

    figures: tuple[Figure, ...] = ()
    findings: tuple[Finding, ...] = ()
    summary: tuple[str, ...] = ()
    """What came out, in plain sentences."""
    pictures: tuple[document.Figure, ...] = ()
    tables: tuple[document.Table, ...] = ()
    """Tables that the paper does not have."""
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By published table: why cells miss."""
    caveats: tuple[str, ...] = ()
    method: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a study: a group of tables that are answered by the same work.

    Parameters
    ----------
    name : str
        Identifier.
    title : str
        Its question.
    tables : tuple of str
        Published tables of which it gives figures.
    work : callable
        Does it, given what the study's `begin` made.
    """

    name: str
    title: str
    tables: tuple[str, ...]
    work: Callable[[Any], Chapter]


@dataclass(frozen=True, slots=True)
class Study:
    """A paper run again.

    Parameters
    ----------
    name : str
        As on the command line: ``anderson-sargent-1974``.
    title : str
        What the paper asks.
    paper : str
        Its citation.
    question : str
        What the study does, in one or two sentences.
    folder : Path
        Where ``published/`` stands.
    shapes : tuple of Shape
        The published tables.
    parts : tuple of Part
        In the order of the paper.
    begin : callable
        Makes what the parts share, of the settings.
    replications : int
        Where the user does not say.
    facts : tuple of (str, str)
        What was simulated: label and value.
    """

    name: str
    title: str
    paper: str
    question: str
    folder: Path
    shapes: tuple[Shape, ...]
    parts: tuple[Part, ...]
    begin: Callable[[Settings], Any]
    replications: int
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the published tables, the facts of the text last."""
        given = {name for part in self.parts for name in part.tables}
        return (*(shape.name for shape in self.shapes), *(["facts"] if "facts" in given else []))

    def place(self, table: str) -> str:
        """Where a table stands in the paper, and what it shows."""
        for shape in self.shapes:
            if shape.name == table:
                return f"{shape.place}: {shape.title}"
        return "Numbers stated in the text"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A study that was run, or the part of it that was asked for."""

    study: Study
    settings: Settings
    table: str
    """The one table that was asked for; empty for all."""
    chapters: tuple[tuple[Part, Chapter], ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures, in the order of the parts."""
        return tuple(figure for _, chapter in self.chapters for figure in chapter.figures)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order of the parts; with one table alone, none."""
        return tuple(finding for _, chapter in self.chapters for finding in chapter.findings)


def run(study: Study, settings: Settings, table: str = "") -> Outcome:
    """Do the parts of a study, or those that one table needs.

    Parameters
    ----------
    study : Study
    settings : Settings
    table : str
        Name of a published table, or its beginning where that is clear: ``table05``.

    Raises
    ------
    InputError
        There is no such table, or no replication is asked for.
    """
    if settings.replications < 2:
        raise InputError(f"replications is {settings.replications}; intervals need at least 2")
    wanted = _wanted(study, table) if table else frozenset(study.tables)
    parts = [part for part in study.parts if not table or wanted.intersection(part.tables)]
    shared = study.begin(settings)
    chapters = []
    for number, part in enumerate(parts):
        settings.progress(number / len(parts), part.title)
        chapter = part.work(shared)
        if table:
            kept = tuple(figure for figure in chapter.figures if figure.table in wanted)
            chapter = Chapter(kept, (), (), (), (), chapter.notes, chapter.caveats, chapter.method)
        chapters.append((part, chapter))
    settings.progress(1.0, "done")
    return Outcome(study, settings, table, tuple(chapters))


def _wanted(study: Study, table: str) -> frozenset[str]:
    """Tables that a name or the beginning of a name stands for."""
    asked = table.removesuffix(".csv").lower().replace("-", "_")
    if asked.isdigit():
        numbered = re.compile(rf"table0*{int(asked)}(?!\d)")
        found = {name for name in study.tables if numbered.match(name)}
    else:
        found = {name for name in study.tables if name == asked} or {
            name for name in study.tables if name.startswith(asked)
        }
    if not found:
        near = difflib.get_close_matches(asked, study.tables, n=1, cutoff=0.4)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"{study.name} has no table {table!r}; it has {', '.join(study.tables)}{meant}")
    return frozenset(found)
