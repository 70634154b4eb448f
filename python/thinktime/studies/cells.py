"""What a study hands over: figures with the published value beside ours, and findings.

The types stand here because reports render them and studies make them: studies may import reports,
and not the other way round, as analyses and their results stand below the reports that show them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["KINDS", "Figure", "Finding", "Kind", "Row", "Tally", "Tolerance", "Verdict", "tally"]

Kind = Literal["arithmetic", "fitted", "predicted"]
"""`arithmetic`: recomputed from printed inputs. `fitted`: the model was calibrated to the published
value. `predicted`: came out of the model with nothing tuned to it."""
KINDS: tuple[Kind, ...] = ("arithmetic", "fitted", "predicted")

Verdict = Literal["agrees", "misses", "doubtful", ""]
"""Empty where nothing is printed or nothing is claimed."""

Row = Mapping[str, str | int | float]
"""The key columns of a published row."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a figure may lie from the published one and still agree.

    Parameters
    ----------
    way : str
        ``relative``: at most `amount` times the published value away. ``absolute``: at most `amount` away.
        ``range``: the published value lies between `low` and `high`. ``digits``: an interval that holds what
        the rounding of the inputs allows meets the printed value, itself rounded by up to `amount`.
    amount : float
        In the unit of the figure, or as a part of one for ``relative``.
    """

    way: Literal["relative", "absolute", "range", "digits"]
    amount: float = 0.0

    @property
    def words(self) -> str:
        """The tolerance as a sentence ends with it: within 5 %."""
        match self.way:
            case "relative":
                return f"within {100 * self.amount:g} %"
            case "absolute":
                return f"within {self.amount:g}"
            case "range":
                return "inside our range"
            case "digits":
                return "to the printed digits"

    def holds(self, published: float, ours: float, low: float | None, high: float | None) -> bool:
        """Whether `published` and `ours` agree."""
        # One part in 10^9 is what floating point may add to a difference that is allowed exactly.
        slack = 1e-9 * max(abs(published), abs(ours))
        first, last = (ours if low is None else low), (ours if high is None else high)
        match self.way:
            case "relative":
                return abs(ours - published) <= self.amount * abs(published) + slack
            case "absolute":
                return abs(ours - published) <= self.amount + slack
            case "range":
                return first <= published <= last
            case "digits":
                return first - self.amount - slack <= published <= last + self.amount + slack


@dataclass(frozen=True, slots=True)
class Figure:
    """One cell of a published table, and the same figure of ours.

    Parameters
    ----------
    study : str
        Name of the study: ``anderson-sargent-1974``.
    table : str
        Name of the published table: that of its file, without the ending.
    row : mapping
        The key columns of the row.
    quantity : str
        Name of the column.
    unit : str
        Unit of published and ours.
    published : float or None
        As printed; None where the cell is empty.
    ours : float
        What we get.
    low, high : float or None
        Ends of an interval: at 95 per cent for what was simulated, what the rounding of the inputs allows for
        arithmetic; None where there is none.
    n : int
        Number of observations behind `ours`: replications, periods, inputs, or printed numbers.
    kind : str
        ``arithmetic``, ``fitted`` or ``predicted``.
    tolerance : Tolerance or None
        What is claimed; None where nothing is.
    doubt : str
        Why the printed value is not to be trusted; empty where it is.
    places : int
        Decimals of the printed table.
    label : str
        Words for the row, where its keys are no words.
    """

    study: str
    table: str
    row: Row
    quantity: str
    unit: str
    published: float | None
    ours: float
    low: float | None
    high: float | None
    n: int
    kind: Kind
    tolerance: Tolerance | None = None
    doubt: str = ""
    places: int = 3
    label: str = ""

    @property
    def difference(self) -> float | None:
        """Relative difference (ours - published) / published; None where there is nothing to divide by."""
        return (self.ours - self.published) / self.published if self.published else None

    @property
    def verdict(self) -> Verdict:
        """Whether published and ours agree, by the tolerance."""
        if self.published is None or self.tolerance is None:
            return ""
        if self.tolerance.holds(self.published, self.ours, self.low, self.high):
            return "agrees"
        return "doubtful" if self.doubt else "misses"


@dataclass(frozen=True, slots=True)
class Finding:
    """A conclusion of a paper, and whether it holds here.

    Parameters
    ----------
    study : str
        Name of the study.
    finding : str
        Identifier: ``reaction-slice``.
    source : str
        Where the paper says it: ``Table 7``.
    holds : bool or None
        None where the statistic does not decide it.
    statistic : str
        By which it is judged, with its figures.
    text : str
        The conclusion, in plain words.
    """

    study: str
    finding: str
    source: str
    holds: bool | None
    statistic: str
    text: str


@dataclass(frozen=True, slots=True)
class Tally:
    """How many figures of one kind agree."""

    kind: Kind
    agree: int
    judged: int
    """Figures with a published value that is not doubtful, and a tolerance."""
    doubtful: int
    """Figures that disagree with a printed value that is not to be trusted."""
    empty: int
    """Figures without a published value."""


def tally(figures: Iterable[Figure]) -> tuple[Tally, ...]:
    """Count verdicts by kind; kinds that do not occur are left out."""
    everything = list(figures)
    tallies = []
    for kind in KINDS:
        own = [figure for figure in everything if figure.kind == kind]
        verdicts = [figure.verdict for figure in own]
        agree = verdicts.count("agrees")
        if own:
            empty = sum(figure.published is None for figure in own)
            doubtful = verdicts.count("doubtful")
            tallies.append(Tally(kind, agree, agree + verdicts.count("misses"), doubtful, empty))
    return tuple(tallies)
