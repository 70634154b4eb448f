"""A study: the parts of a paper, each of which computes cells, judges claims and draws charts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from thinktime.documents import document
from thinktime.errors import InputError, offered
from thinktime.studies.cells import Cell, Claim
from thinktime.studies.laboratory import Laboratory, Settings
from thinktime.studies.paper import FACTS, Paper, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """Result of one part of a study."""

    cells: tuple[Cell, ...] = ()
    claims: tuple[Claim, ...] = ()
    summary: tuple[str, ...] = ()
    """The answer in plain sentences."""
    charts: tuple[document.Figure, ...] = ()
    tables: tuple[document.Table, ...] = ()
    """Tables that the paper does not have."""
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By published table: why cells miss."""
    caveats: tuple[str, ...] = ()
    method: str = ""


@dataclass(frozen=True, slots=True)
class Study:
    """A paper run again."""

    paper: Paper
    chapters: Mapping[str, Callable[[Laboratory], Chapter]]
    """By the name of each part of the paper: the function that computes it in the laboratory of the study."""

    @property
    def name(self) -> str:
        """Name of the study on the command line: ``anderson-sargent-1974``."""
        return self.paper.study

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the published tables, the facts of the text last."""
        return (*(shape.name for shape in self.paper.shapes), FACTS)

    def place(self, table: str) -> str:
        """Place of a table in the paper, and its title."""
        for shape in self.paper.shapes:
            if shape.name == table:
                return f"{shape.place}: {shape.title}"
        return "Numbers stated in the text"

    def caption(self, table: str) -> str:
        """Printed title of a table, with its place in the paper: Table 2 of Bard 1971: derived variables."""
        of = f" of {self.paper.short}" if self.paper.short else ""
        place, _, title = self.place(table).partition(": ")
        return f"{place}{of}: {title}" if title else f"{place}{of}"

    def begin(self, settings: Settings) -> Laboratory:
        """Laboratory in which nothing has run."""
        return Laboratory(settings, self.paper.lengths)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A study that was run, or one table of it."""

    study: Study
    settings: Settings
    table: str
    """The one table that was asked for; empty for all."""
    chapters: tuple[tuple[Part, Chapter], ...]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells, in the order of the parts."""
        return tuple(cell for _, chapter in self.chapters for cell in chapter.cells)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims, in the order of the parts; with one table alone, none."""
        return tuple(claim for _, chapter in self.chapters for claim in chapter.claims)


def run(study: Study, settings: Settings, table: str = "") -> Outcome:
    """Outcome of all parts of a study, or of those that one table needs.

    Parameters
    ----------
    study : Study
    settings : Settings
    table : str
        Name of a published table, or its beginning where that is clear: ``table05``.

    Raises
    ------
    InputError
        There is no such table, or `settings.scale` is so small that runs lack what a part computes with.
    """
    wanted = _wanted(study, table) if table else frozenset(study.tables)
    parts = [part for part in study.paper.parts if not table or wanted.intersection(part.tables)]
    laboratory = study.begin(settings)
    chapters = []
    for number, part in enumerate(parts):
        settings.progress(number / len(parts), part.title)
        try:
            chapter = study.chapters[part.name](laboratory)
        except InputError as error:
            if settings.scale == 1.0:
                raise
            # A model refused what the runs measured: nothing was swapped in them, or nobody answered.
            raise InputError(
                f"scale is {settings.scale:g}, which makes runs too short for the part {part.name!r} "
                f"({error}); give a larger fraction"
            ) from error
        if table:
            selected = tuple(cell for cell in chapter.cells if cell.table in wanted)
            chapter = replace(chapter, cells=selected, claims=(), summary=(), charts=(), tables=())
        chapters.append((part, chapter))
    settings.progress(1.0, "done")
    return Outcome(study=study, settings=settings, table=table, chapters=tuple(chapters))


def _wanted(study: Study, table: str) -> frozenset[str]:
    """Tables that a name or the beginning of a name stands for."""
    name = table.removesuffix(".csv").lower().replace("-", "_")
    if name.isdigit():
        numbered = re.compile(rf"table0*{int(name)}(?!\d)")
        selected = {item for item in study.tables if numbered.match(item)}
    else:
        selected = {item for item in study.tables if item == name} or {
            item for item in study.tables if item.startswith(name)
        }
    if not selected:
        raise InputError(f"{study.name} has no table {table!r}; {offered(name, study.tables)}")
    return frozenset(selected)
