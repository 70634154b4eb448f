"""What a study says in plain words: its answer, the paper's conclusions, and what they mean today.

`study.toml` has the sentences, the runs have the numbers::

    [[answers]]
    text = "Under FB-infinity users wait {response_lowest.longer.modified:.2fi s} less."
    holds = ["response-lowest"]
    part = "experiment"

Braces have expressions as in the statistics of claims; each begins with the id of a claim, with ``_`` for
``-``, and goes on with one of its measures or amounts. The sentence is printed if the claims in ``holds``
hold and those in ``fails`` do not. Otherwise ``otherwise`` is, or else what came out instead: no run prints a
conclusion that it contradicts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from thinktime.documents.document import Cell, Document, Section
from thinktime.documents.wording import listed
from thinktime.errors import InputError, offered
from thinktime.studies.cells import Claim
from thinktime.studies.claims import GIVEN, Expression, Statement, expressions, worded

Number = Callable[..., float]
"""Number that the text of the paper states, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """Sentences that a page prints with the measures of claims, and the claims on which they rest."""

    text: str
    holds: Sequence[str] = ()
    """Ids of the claims that must hold."""
    fails: Sequence[str] = ()
    """Ids of the claims that must not hold."""
    otherwise: str = ""
    """Text where these claims come out otherwise; empty for their verdicts."""
    part: str = ""
    """Part of the study that has the details."""

    def check(self, statements: Mapping[str, Statement], parts: Iterable[str]) -> None:
        """Refuse a claim, a measure, a format or a part that does not exist.

        Raises
        ------
        InputError
            The message quotes the expression.
        """
        for name in (*self.holds, *self.fails):
            if name not in statements:
                raise InputError(f"{name!r}: there is no such claim; {offered(name, statements)}")
        if self.part and self.part not in (names := list(parts)):
            raise InputError(f"{self.part!r}: there is no such part; {offered(self.part, names)}")
        by_name = {_name(name): statement for name, statement in statements.items()}
        for text in (self.text, self.otherwise):
            for expression, _ in expressions(text):
                _known(expression, by_name)

    def words(self, claims: Mapping[str, Claim], statements: Mapping[str, Statement], fact: Number) -> str:
        """The sentence with its numbers, or what came out instead.

        Parameters
        ----------
        claims : mapping
            Claims that were judged, by id.
        statements : mapping
            All claims of the study.
        fact : callable
        """
        contrary = [name for name in self.holds if _holds(claims, name) is not True]
        contrary += [name for name in self.fails if _holds(claims, name) is not False]
        text = self.otherwise if contrary else self.text
        used = {name for expression, _ in expressions(text) for name in expression.names}
        needed = [name for name in statements if _name(name) in used]
        if text and all(name in claims and claims[name].measures for name in needed):
            scope: dict[str, Any] = {**GIVEN, "fact": fact}
            for name in needed:
                scope[_name(name)] = {**statements[name].amounts, **claims[name].measures}
            said = worded(text, scope)
            if not re.search(r"\bnan\b", said):
                return said
        verdicts = [_verdict(name, claims, statements) for name in contrary or needed]
        return f"In these runs {listed(verdicts)}."


def _known(expression: Expression, statements: Mapping[str, Statement]) -> None:
    """Refuse a claim or a measure that does not exist."""
    for name in sorted(expression.names - GIVEN.keys()):
        if name not in statements:
            raise InputError(f"{expression.text!r}: there is no claim {name}; {offered(name, statements)}")
    for name, item in expression.items:
        if name in statements and item not in statements[name].names:
            known = offered(item, sorted(statements[name].names))
            raise InputError(f"{expression.text!r}: the claim {name} has no measure {item}; {known}")


def _name(claim: str) -> str:
    return claim.replace("-", "_")


def _holds(claims: Mapping[str, Claim], name: str) -> bool | None:
    return claims[name].holds if name in claims else None


def _verdict(name: str, claims: Mapping[str, Claim], statements: Mapping[str, Statement]) -> str:
    words = {True: "it holds that", False: "it does not hold that", None: "it is open whether"}
    return f"{words[_holds(claims, name)]} {statements[name].text}"


# Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """A word of the paper that a reader of today may not know."""

    word: str
    means: str
    """Explanation that stands in brackets after the word."""
    also: Sequence[str] = ()
    """Other forms of the word: ``VSIOs``."""


def explained(document: Document, terms: Sequence[Term]) -> Document:
    """Document in which each term is explained in brackets where it first stands."""
    explain = _Explainer(terms)
    return replace(
        document,
        subtitle=explain(document.subtitle),
        findings=tuple(replace(item, text=explain(item.text)) for item in document.findings),
        sections=tuple(_section(section, explain) for section in document.sections),
    )


def _section(section: Section, explain: _Explainer) -> Section:
    return replace(
        section,
        summary=tuple(map(explain, section.summary)),
        figures=tuple(replace(figure, alt=explain(figure.alt)) for figure in section.figures),
        tables=tuple(
            replace(table, rows=tuple(tuple(map(explain.cell, row)) for row in table.rows))
            for table in section.tables
        ),
    )


class _Explainer:
    """Texts with the explanation after the first occurrence of each term."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self._left = list(terms)

    def __call__(self, text: str) -> str:
        """Text with the explanations that are still to be given."""
        found = sorted(self._found(text), key=lambda item: item[0], reverse=True)
        for end, term in found:
            text = f"{text[:end]} ({term.means}){text[end:]}"
            self._left.remove(term)
        return text

    def _found(self, text: str) -> Iterator[tuple[int, Term]]:
        for term in self._left:
            forms = "|".join(map(re.escape, sorted((term.word, *term.also), key=len, reverse=True)))
            if match := re.search(rf"(?<![\w-])(?:{forms})(?![\w-])", text):
                yield match.end(), term

    def cell(self, value: Cell) -> Cell:
        """Cell of a table, explained if it is a text of several words: a label stays short."""
        return self(value) if isinstance(value, str) and value.count(" ") > 3 else value
