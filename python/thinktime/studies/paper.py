"""A paper as its `study.toml` describes it: parts, published tables, claims, and how each is judged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from thinktime import toml
from thinktime.errors import InputError
from thinktime.stats.estimate import Estimate
from thinktime.studies.answers import Sentence, Term
from thinktime.studies.cells import Cell, Claim, Kind, Row, Tolerance
from thinktime.studies.claims import Scope, Statement
from thinktime.studies.published import Fact, Printed, Shape, Table, read, read_facts

ENDS: tuple[Literal["low", "high"], ...] = ("low", "high")
"""Ends of a range that the text states."""
SAID = ("answers", "concluded", "today")
"""Groups of sentences of a study."""
FACTS = "facts"
"""Table of the numbers that the text of a paper states."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a study: a group of tables that are answered by the same work."""

    name: str
    title: str
    """Its question."""
    tables: tuple[str, ...] = ()
    """Published tables of which it computes cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Rule by which cells of a published table are judged: the first that a cell meets applies."""

    kind: Kind
    within: Mapping[str, float | bool] = field(default_factory=dict)
    """``relative``, ``absolute``, ``range`` or ``digits`` with its amount; ``total``: an absolute amount
    that is this fraction of a total. Empty where no agreement is claimed."""
    quantities: Sequence[str] = ()
    """Columns; all where empty."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """Values of key columns, one or a list of each."""
    published_at_most: float = math.inf

    def meets(self, row: Row, quantity: str, published: float | None) -> bool:
        """True if this rule is about a cell."""
        if self.quantities and quantity not in self.quantities:
            return False
        if self.published_at_most < math.inf and (published is None or published > self.published_at_most):
            return False
        return _matches(self.where, row)

    def tolerance(self, printed: Printed | None, total: float) -> Tolerance | None:
        """Tolerance for a printed number."""
        for way, amount in self.within.items():
            if way == "digits":
                return Tolerance("digits", printed.half if printed else 0.0)
            if way == "total":
                return Tolerance("absolute", amount * total)
            return Tolerance(cast("Literal['relative', 'absolute', 'range']", way), float(amount))
        return None


def _matches(where: Mapping[str, Any], row: Row) -> bool:
    """True if a row has one of the values of every key column named."""
    return all(
        row.get(key) in (value if isinstance(value, list) else [value]) for key, value in where.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What the numbers of a study's simulated machine are worth, in words.

    The machines of all studies stand side by side in ``docs/background/how-far-to-trust.md``.
    """

    machine: str
    fitted: str
    """To which printed numbers."""
    predicted: str
    """What came out right with nothing fitted to it."""
    missed: str
    """What came out wrong, and stays so."""
    in_sight: str
    """What was chosen or mended while which of the predicted numbers were visible."""


ARITHMETIC = Agreement(kind="arithmetic", within={"digits": True})
"""Rule for recomputed cells for which there is no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Why printed numbers are not to be trusted."""

    table: str
    where: Mapping[str, Any]
    """Values of key columns, one or a list of each."""
    quantities: Sequence[str]
    reason: str
    kinds: Sequence[Kind] = ("arithmetic", "fitted", "predicted")
    """Kinds of cells that may differ from it."""


@dataclass(frozen=True)
class Paper:
    """Published tables and claims of one paper."""

    folder: Path
    """With `study.toml`, and ``published`` for the tables."""
    study: str
    """Name of the study."""
    title: str
    """Question of the paper."""
    citation: str
    question: str
    """The study in one or two sentences."""
    replications: int
    """Where the user does not choose."""
    parts: tuple[Part, ...]
    """In the order in which they are shown."""
    shapes: tuple[Shape, ...]
    agreements: Mapping[str, tuple[Agreement, ...]]
    """By published table."""
    doubts: tuple[Doubt, ...]
    statements: Mapping[str, Statement]
    """By id."""
    lengths: Mapping[str, Sequence[str]]
    """By simulated system: parameters that say how long a run is."""
    trust: Trust
    short: str = ""
    """Author and year, as a caption has them: ``Bard 1971``."""
    answers: tuple[Sentence, ...] = ()
    """The answer to the question of the title."""
    concluded: tuple[Sentence, ...] = ()
    """What the paper concluded."""
    today: tuple[Sentence, ...] = ()
    """What it means for somebody who runs a machine today."""
    terms: tuple[Term, ...] = ()
    """Words of the paper that a reader of today may not know."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Words for identifiers of the published tables: columns and values of key columns."""

    @classmethod
    def read(cls, folder: Path) -> Paper:
        """Paper that `study.toml` in `folder` describes.

        Raises
        ------
        InputError
            The file cannot be read, or something is missing, misspelt or there twice.
        """
        path = folder / "study.toml"
        given = toml.read(path)
        tables = given.pop("tables", [])
        rules = {
            table["name"]: [_made(Agreement, rule, path) for rule in table.pop("cells", [])]
            for table in tables
        }
        described = [table for table in tables if table["name"] != FACTS]
        statements = [_made(Statement, claim, path) for claim in given.pop("claims", [])]
        by_id = {statement.id: statement for statement in statements}
        if len(by_id) < len(statements):
            raise InputError(f"{path}: two claims have one id")
        parts = tuple(_made(Part, part, path) for part in given.pop("parts", []))
        said = {kind: _sentences(given.pop(kind, []), by_id, parts, path) for kind in SAID}
        return _made(
            cls,
            {
                "folder": folder,
                "parts": parts,
                **said,
                "terms": tuple(_made(Term, term, path) for term in given.pop("terms", [])),
                "shapes": tuple(_made(Shape, table, path) for table in described),
                "agreements": {name: tuple(rows) for name, rows in rules.items()},
                "doubts": tuple(_made(Doubt, doubt, path) for doubt in given.pop("doubts", [])),
                "statements": by_id,
                "trust": _made(Trust, given.pop("trust", {}), path),
                "lengths": given.pop("lengths", {}),
                **given,
            },
            path,
        )

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Published tables by name."""
        return {shape.name: read(self.folder / "published", shape) for shape in self.shapes}

    @cached_property
    def facts(self) -> dict[str, Fact]:
        """Numbers stated in the text, by name."""
        return read_facts(self.folder / "published")

    def printed(self, table: str, row: Row, quantity: str) -> Printed:
        """Printed number of a cell.

        Raises
        ------
        KeyError
            The cell is empty, or there is none.
        """
        cell = self.tables[table].cell(row, quantity)
        if cell is None:
            raise KeyError(f"{table}: {row} has no {quantity}")
        return cell

    def rows(self, table: str) -> tuple[Row, ...]:
        """Rows of a published table."""
        return self.tables[table].rows

    def simulated(self, table: str, row: Row, quantity: str, ours: Estimate, *, total: float = 0.0) -> Cell:
        """Cell of a published table with a value that was simulated.

        Parameters
        ----------
        table, row, quantity
            Where it is printed.
        ours : Estimate
        total : float
            Of which tolerances named ``total`` are a fraction.

        Raises
        ------
        KeyError
            The table has no such row or column, or no rule says how the cell is judged.
        """
        return self._cell(table, row, quantity, ours, total=total, recomputed=False)

    def implied(self, table: str, row: Row, quantity: str, ours: Estimate, printed: Printed) -> Cell:
        """Cell of a row that a table implies, such as the mean of its rows, with a simulated value."""
        return replace(
            self._judged(table, row, quantity, ours, printed=printed, total=0.0, recomputed=False),
            unit=self.tables[table].shape.quantities[quantity],
            places=printed.places,
            label=", ".join(map(str, row.values())),
        )

    def recomputed(self, table: str, row: Row, quantity: str, ours: Estimate) -> Cell:
        """Cell of a published table with a value that follows from other printed numbers."""
        return self._cell(table, row, quantity, ours, total=0.0, recomputed=True)

    def _cell(
        self, table: str, row: Row, quantity: str, ours: Estimate, *, total: float, recomputed: bool
    ) -> Cell:
        published = self.tables[table]
        cell = published.cell(row, quantity)
        unit = published.shape.quantities[quantity]
        if not unit and "unit" in published.shape.remarks:
            unit = published.remark(row, "unit")
        return replace(
            self._judged(table, row, quantity, ours, printed=cell, total=total, recomputed=recomputed),
            unit=unit,
            places=cell.places if cell is not None else published.places(quantity),
            label=published.shape.words.format(
                **{key: self.names.get(str(item), item) for key, item in row.items()}
            ),
        )

    def fact(
        self, name: str, ours: Estimate, *, part: str = "", end: Literal["", "low", "high"] = ""
    ) -> Cell:
        """Number stated in the text with a value that was simulated.

        Parameters
        ----------
        name : str
            Identifier of the fact.
        ours : Estimate
        part : str
            Which of several numbers stated together: the part of its context that names it.
        end : str
            Which end of a stated range.

        Raises
        ------
        KeyError
            There is no such fact, or no rule says how it is judged.
        InputError
            What is stated is neither empty nor such a number.
        """
        return self._fact(name, ours, part=part, end=end, recomputed=False)

    def recomputed_fact(
        self, name: str, ours: Estimate, *, part: str = "", end: Literal["", "low", "high"] = ""
    ) -> Cell:
        """Number stated in the text with a value that follows from other printed numbers."""
        return self._fact(name, ours, part=part, end=end, recomputed=True)

    def _fact(self, name: str, ours: Estimate, *, part: str, end: str, recomputed: bool) -> Cell:
        fact = self.facts[name]
        row: dict[str, str | int | float] = {"id": name}
        if part:
            row["context"] = part
        if end:
            row["end"] = end
        printed = _stated(fact, part, end)
        named = ", ".join(filter(None, (fact.quantity, part, {"low": "from", "high": "to"}.get(end))))
        return replace(
            self._judged(FACTS, row, "value", ours, printed=printed, total=0.0, recomputed=recomputed),
            row={**row, "id": fact.id},
            unit=fact.unit,
            places=printed.places if printed else 3,
            label=f"{named}{f' [{fact.unit}]' if fact.unit else ''}",
        )

    def _judged(
        self,
        table: str,
        row: Row,
        quantity: str,
        ours: Estimate,
        *,
        printed: Printed | None,
        total: float,
        recomputed: bool,
    ) -> Cell:
        published = printed.value if printed else None
        rule = self._rule(table, row, quantity, published, recomputed)
        # NumPy's numbers cannot be written as JSON.
        low, high = (None if end is None else float(end) for end in (ours.low, ours.high))
        return Cell(
            study=self.study,
            table=table,
            row=row,
            quantity=quantity,
            unit="",
            published=published,
            ours=float(ours.value),
            low=low,
            high=high,
            n=int(ours.n),
            kind=rule.kind,
            tolerance=rule.tolerance(printed, total),
            doubt=self._doubt(table, row, quantity, rule.kind),
        )

    def _rule(
        self, table: str, row: Row, quantity: str, published: float | None, recomputed: bool
    ) -> Agreement:
        for rule in self.agreements.get(table, ()):
            if (rule.kind == "arithmetic") == recomputed and rule.meets(row, quantity, published):
                return rule
        if recomputed:
            return ARITHMETIC
        raise KeyError(f"study.toml does not say how {quantity} of {dict(row)} in {table} is judged")

    def _doubt(self, table: str, row: Row, quantity: str, kind: Kind) -> str:
        for doubt in self.doubts:
            about = doubt.table == table and quantity in doubt.quantities and kind in doubt.kinds
            if about and _matches(doubt.where, row):
                return doubt.reason
        return ""

    def amount(self, claim: str, name: str = "amount") -> float:
        """Amount by which a claim is judged."""
        return self.statements[claim].amounts[name]

    def claim(self, name: str, measures: Scope | None, statistic: str = "") -> Claim:
        """Claim with its verdict.

        Parameters
        ----------
        name : str
            Its id.
        measures : mapping of str to float, Estimate, str, None, or lists and mappings of these
            Measures by the names that the condition and the statistic in `study.toml` have; None where
            nothing could be measured, so that the claim is undecided.
        statistic : str
            The measures in words, where `study.toml` does not say how to put them.

        Raises
        ------
        InputError
            A condition or a statistic has a name that is neither a measure nor an amount.
        """
        statement = self.statements[name]
        scope = {"fact": self._number, **(measures or {})}
        return Claim(
            study=self.study,
            id=name,
            source=statement.source,
            holds=None if measures is None else statement.verdict(scope),
            statistic=statistic or statement.words(scope),
            text=statement.text,
            why=statement.reason(scope) if measures is not None else "",
            measures=measures or {},
        )

    def words(self, sentence: Sentence, claims: Iterable[Claim]) -> str:
        """A sentence of the study with the numbers of the claims that were judged."""
        judged = {claim.id: claim for claim in claims}
        return sentence.words(judged, self.statements, self._number)

    def _number(self, name: str, end: Literal["", "low", "high"] = "") -> float:
        """Number that the text states, or an end of a stated range."""
        fact = self.facts[name]
        return fact.ends[end == "high"].value if end else fact.value.value


def _stated(fact: Fact, part: str, end: str) -> Printed | None:
    """The number that is stated, or a part or an end of it; None where nothing is."""
    if not fact.printed:
        return None
    if end:
        return fact.ends[end == "high"]
    if part:
        contexts = [context.strip() for context in fact.context.split(";")]
        return fact.values[contexts.index(part)]
    return fact.value


def _sentences(
    given: Sequence[Mapping[str, Any]], statements: Mapping[str, Statement], parts: Sequence[Part], path: Path
) -> tuple[Sentence, ...]:
    sentences = tuple(_made(Sentence, item, path) for item in given)
    names = [part.name for part in parts]
    try:
        for sentence in sentences:
            sentence.check(statements, names)
    except InputError as error:
        raise InputError(f"{_place(path, error)}: {error}") from error
    return sentences


def _place(path: Path, error: InputError) -> str:
    """File, with the line of what a message quotes first."""
    quoted = str(error).partition("'")[2].partition("'")[0]
    return f"{path}:{toml.line_of(path, quoted)}" if quoted else str(path)


def _made(of: type[_T], given: Mapping[str, Any], path: Path) -> _T:
    """Record of a type from a table of TOML, each of whose keys must be a field."""
    names = {item.name: item for item in fields(cast("Any", of))}
    unknown = sorted(given.keys() - names.keys())
    missing = [
        name
        for name, item in names.items()
        if name not in given and item.default is MISSING and item.default_factory is MISSING
    ]
    place = f"{path}: {of.__name__} {given.get('name', given.get('id', ''))}".rstrip()
    if unknown:
        raise InputError(f"{place}: has {', '.join(unknown)}; it takes {', '.join(names)}")
    if missing:
        raise InputError(f"{place}: lacks {', '.join(missing)}")
    values = {
        key: tuple(value) if names[key].type == "tuple[str, ...]" else value for key, value in given.items()
    }
    try:
        return of(**values)
    except InputError as error:
        raise InputError(f"{place.replace(str(path), _place(path, error), 1)}: {error}") from error
