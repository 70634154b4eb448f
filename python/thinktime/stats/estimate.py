"""The result types of all analyses: an estimate with its interval, the reason why there is none, a caveat."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from thinktime import notation
from thinktime.escape import escaped

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
"""Values that JSON has: what every result gives as ``to_dict()``."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Estimate:
    """A number computed from data, with its confidence interval.

    Examples
    --------
    >>> Estimate(value=0.31, unit="s", low=0.28, high=0.34, n=120, method="order statistics")
    Estimate(0.31 s, 95 % interval 0.28 to 0.34, n=120, method='order statistics')
    >>> print(Estimate(value=276e-6, unit="s", low=240e-6, high=312e-6, n=120, method="mean"))
    276 ± 36 µs
    """

    value: float
    """Point estimate, in `unit`."""
    unit: str = ""
    """SI unit or noun (``s``, ``1/s``, ``byte``, ``user``); empty for a pure number."""
    low: float | None = None
    """Lower end of the interval; None where the method gives none, or the data do not bound it."""
    high: float | None = None
    """Upper end of the interval."""
    level: float = 0.95
    """Nominal confidence of the interval, between 0 and 1."""
    n: int
    """Number of observations."""
    method: str
    """How value and interval were computed, in a few words: ``long-run variance (20 cosines)``."""
    caveat: Caveat | None = None
    """Reason why an end is missing although the method gives one, or why the interval may be too narrow."""

    def with_unit(self, unit: str) -> Estimate:
        """Estimate with `unit` in place of its own; numbers are not converted."""
        return dataclasses.replace(self, unit=unit)

    def without_interval(self, method: str) -> Estimate:
        """Estimate that describes what was observed, and says nothing about anything else."""
        return dataclasses.replace(self, low=None, high=None, method=method)

    def to_dict(self) -> dict[str, Plain]:
        """All fields by name, as plain Python numbers and strings."""
        values: dict[str, Plain] = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        return values | {"caveat": None if self.caveat is None else self.caveat.to_dict()}

    def __str__(self) -> str:
        """Value and interval in a unit of their size, rounded to what the interval supports."""
        return notation.plain(notation.estimate(self))

    def __repr__(self) -> str:
        """One line: value, unit, interval, n and method."""
        value = f"{self.value:.4g} {escaped(self.unit)}".rstrip()
        return f"Estimate({value}, {self._interval()}, n={self.n}, method={self.method!r})"

    def _interval(self) -> str:
        if self.low is None and self.high is None:
            return "no interval"
        if self.high is None:
            ends = f"from {self.low:.4g}"
        elif self.low is None:
            ends = f"up to {self.high:.4g}"
        else:
            ends = f"{self.low:.4g} to {self.high:.4g}"
        return f"{100 * self.level:g} % interval {ends}"


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The result of an analysis whose question cannot be answered from these data.

    A value, not an exception: a report prints it in place of the estimate.
    """

    reason: str
    """Why there is no estimate."""
    remedy: str = ""
    """Data or options that would give one; empty where nothing would."""

    def to_dict(self) -> dict[str, Plain]:
        """Reason and remedy by name."""
        return {"not_applicable": self.reason, "remedy": self.remedy}

    def __str__(self) -> str:
        """One sentence: that there is no answer, why, and what would give one."""
        return f"not applicable: {self.reason}{self.remedy and f'; {self.remedy}'}"


@dataclass(frozen=True, slots=True, init=False)
class Caveat:
    """A reason to read a result with care, as a value: the section of the question has the words for it.

    Examples
    --------
    >>> Caveat("few_intervals", n=12)
    Caveat(kind='few_intervals', values={'n': 12})
    """

    kind: str
    """Name of the reason, unique in its question."""
    values: Mapping[str, Any]
    """Numbers and names that belong to it."""

    def __init__(self, kind: str, **values: Any) -> None:
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "values", values)

    def to_dict(self) -> dict[str, Plain]:
        """Kind and values by name."""
        return {"kind": self.kind, **self.values}
