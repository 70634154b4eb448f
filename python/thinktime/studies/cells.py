"""Cells of published tables with our values, and claims of papers with their verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["arithmetic", "fitted", "predicted"]
"""`arithmetic`: recomputed from printed inputs. `fitted`: the model was calibrated to the published
value. `predicted`: came out of the model with nothing tuned to it."""
KINDS: tuple[Kind, ...] = ("arithmetic", "fitted", "predicted")

Verdict = Literal["agrees", "misses", "doubtful", ""]
"""Empty where nothing is printed or no tolerance is stated."""

Row = Mapping[str, str | int | float]
"""The key columns of a published row."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Largest difference between a published value and ours with which they still agree."""

    way: Literal["relative", "absolute", "range", "digits"]
    """``relative``: at most `amount` times the published value away. ``absolute``: at most `amount` away.
    ``range``: the published value lies between `low` and `high`. ``digits``: an interval that holds what
    the rounding of the inputs allows meets the printed value, itself rounded by up to `amount`."""
    amount: float = 0.0
    """In the unit of the cell, or as a fraction for ``relative``."""

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
        """True if `published` and `ours`, with its interval from `low` to `high`, agree."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One cell of a published table, and our value of it."""

    study: str
    """Name of the study: ``anderson-sargent-1974``."""
    table: str
    """Name of the published table: that of its file, without the ending."""
    row: Row
    quantity: str
    """Name of the column."""
    unit: str
    """Unit of `published` and `ours`."""
    published: float | None
    """As printed; None where the cell is empty."""
    ours: float
    low: float | None
    high: float | None
    """Ends of an interval: at 95 per cent for simulated values, what the rounding of the inputs allows for
    arithmetic; None where there is none."""
    n: int
    """Observations behind `ours`: replications, periods, inputs, or printed numbers."""
    kind: Kind
    tolerance: Tolerance | None = None
    """None where no agreement is claimed."""
    doubt: str = ""
    """Why the printed value is not to be trusted; empty where it is."""
    places: int = 3
    """Decimals of the printed table."""
    label: str = ""
    """Words for the row, where its keys are no words."""

    @property
    def difference(self) -> float | None:
        """Relative difference (ours - published) / published; None where there is nothing to divide by."""
        return (self.ours - self.published) / self.published if self.published else None

    @property
    def verdict(self) -> Verdict:
        """Verdict of the tolerance on the published value and ours."""
        if self.published is None or self.tolerance is None:
            return ""
        if self.tolerance.holds(self.published, self.ours, self.low, self.high):
            return "agrees"
        return "doubtful" if self.doubt else "misses"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of a paper, and whether it holds here."""

    study: str
    id: str
    """``reaction-slice``."""
    source: str
    """Where the paper states it: ``Table 7``."""
    holds: bool | None
    """None where the statistic does not decide it."""
    statistic: str
    """By which it is judged, with its values."""
    text: str
    """The claim, in plain words."""
    why: str = ""
    """Why it does not hold here; empty where the study gives no reason."""
    measures: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Numbers, estimates and texts by which it was judged; empty where nothing could be measured."""


def held(claims: Iterable[Claim]) -> int:
    """Number of claims that hold."""
    return sum(claim.holds is True for claim in claims)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Number of cells of one kind that agree."""

    kind: Kind
    agree: int
    judged: int
    """Cells with a published value that is not doubtful, and a tolerance."""
    doubtful: int
    """Cells that disagree with a doubtful printed value."""
    empty: int
    """Cells without a published value."""


def tally(cells: Iterable[Cell]) -> tuple[Tally, ...]:
    """Number of cells with each verdict, by kind; kinds that do not occur are left out."""
    every = list(cells)
    tallies = []
    for kind in KINDS:
        selected = [cell for cell in every if cell.kind == kind]
        verdicts = [cell.verdict for cell in selected]
        agree = verdicts.count("agrees")
        if selected:
            tallies.append(
                Tally(
                    kind=kind,
                    agree=agree,
                    judged=agree + verdicts.count("misses"),
                    doubtful=verdicts.count("doubtful"),
                    empty=sum(cell.published is None for cell in selected),
                )
            )
    return tuple(tallies)
