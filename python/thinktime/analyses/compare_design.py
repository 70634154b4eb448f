"""Which treatment was in force when: units, their treatments and their blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from thinktime.analyses.compare_result import Randomisation

__all__ = ["Plan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of an experiment, as it was carried out.

    Parameters
    ----------
    treatments : mapping of str to str
        Treatment of each unit. A unit is a day, ``1970-05-04``, or a stretch of time,
        ``1970-05-04T08:00/1970-05-04T12:00`` (UTC).
    control : str, optional
        The treatment that the other is compared with; by default the first in the alphabet.
    blocks : tuple of str, optional
        Blocking factors whose effects are taken out: ``week`` and ``weekday`` follow from the day,
        others are in `own`. By default both, or weeks only, or none: as many as have both treatments in
        each of their blocks.
    own : mapping of str to mapping
        Other blocking factors: label of each unit.
    randomisation : str, optional
        How treatments were assigned; by default as tightly as the blocks say: counterbalanced with two
        or more, blocks with one, complete with none.
    name : str
        What messages and the report call it.
    """

    treatments: Mapping[str, str]
    control: str | None = None
    blocks: tuple[str, ...] | None = None
    own: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    randomisation: Randomisation | None = None
    name: str = "treatment"
