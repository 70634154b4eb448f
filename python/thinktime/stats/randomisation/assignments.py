"""Possible assignments of two treatments to units: counted, listed or drawn.

An assignment is a row of zeros (control) and ones (treated), one per unit. A design fixes the number of
treated units in each group, for none, one or several groupings of the units.

================  ===========================================  ===============================
design            groupings                                    fixed by the design
================  ===========================================  ===============================
switchback        none                                         nothing: a coin for each unit
complete          one group of all units                       the number of treated units
blocks            the blocks                                   that of each block
counterbalanced   rows and columns (weeks and weekdays)        that of each row and column
================  ===========================================  ===============================
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.errors import InputError
from thinktime.stats import arguments

Rows = NDArray[np.int8]
_State = tuple[int, ...]

LISTED_MAX = 50_000
"""Largest number of assignments that are listed; of more, a random sample is drawn."""
STATES_MAX = 400_000
"""Largest number of partial sums that are stored to count assignments with several groupings."""


class TooManyError(InputError):
    """The assignments are too many to count or list."""


@dataclass(frozen=True, slots=True)
class Assignments:
    """Assignments that treat as many units of every group as the observed one does.

    Raises
    ------
    InputError
        `observed` holds something other than 0 and 1, or a grouping does not fit it.
    TypeError
        An argument is no sequence.

    Examples
    --------
    Two weeks of four days, two new days in each week, each weekday once new and once old (Bard 1971):

    >>> weeks, days = [1] * 4 + [2] * 4, [1, 2, 3, 4] * 2
    >>> Assignments((1, 0, 0, 1, 0, 1, 1, 0), (weeks, days)).count()
    6
    """

    observed: tuple[int, ...]
    """The assignment that was made: 0 or 1 for each unit."""
    groupings: tuple[Sequence[Hashable], ...] = ()
    """Each gives the group of every unit."""

    def __post_init__(self) -> None:
        """Check the assignment and the groupings."""
        observed = arguments.sequence(self.observed, "observed", "a list of 0 and 1")
        if not all(isinstance(item, (int, np.integer)) and item in (0, 1) for item in observed):
            raise InputError(f"observed is {arguments.shown(self.observed)}; give 0 or 1 for each unit")
        groupings = [
            arguments.sequence(item, "a grouping") for item in arguments.sequence(self.groupings, "groupings")
        ]
        if any(len(grouping) != len(observed) for grouping in groupings):
            raise InputError(f"a grouping does not have {len(observed)} items; give a group for each unit")
        for grouping in groupings:
            if not all(isinstance(group, Hashable) for group in grouping):
                raise TypeError("a grouping holds a group that cannot be hashed; give texts or numbers")
        object.__setattr__(self, "observed", tuple(map(int, observed)))

    def count(self) -> int:
        r"""Number of assignments, exactly.

        Without groupings :math:`2^n`; with one, :math:`\prod_g \binom{n_g}{k_g}` of k treated among n units;
        with several, by following the partial sums of all groups from unit to unit.

        Raises
        ------
        TooManyError
            The groupings cross in more ways than can be followed.
        """
        if not self.groupings:
            return int(2 ** len(self.observed))
        if len(self.groupings) == 1:
            sizes, treated = Counter(self.groupings[0]), self.treated(self.groupings[0])
            return math.prod(math.comb(sizes[group], number) for group, number in treated.items())
        return _Walk(self).count()

    def listed(self) -> Rows:
        """Array of all assignments, one row each.

        Raises
        ------
        TooManyError
            There are more than `LISTED_MAX`.
        """
        if self.count() > LISTED_MAX:
            raise TooManyError(f"{self.count()} assignments are too many to list; draw a sample")
        return _Walk(self).listed()

    def drawn(self, count: int, random: np.random.Generator) -> Rows:
        """Random sample of `count` assignments, all equally likely, with replacement.

        Raises
        ------
        TooManyError
            The groupings cross in more ways than can be followed.
        """
        n = len(self.observed)
        if not self.groupings:
            return random.integers(0, 2, (count, n)).astype(np.int8)
        if len(self.groupings) > 1:
            return _Walk(self).drawn(count, random)
        result = np.tile(np.asarray(self.observed, dtype=np.int8), (count, 1))
        for members in _members(self.groupings[0]).values():
            result[:, members] = random.permuted(result[:, members], axis=1)
        return result

    def treated(self, grouping: Sequence[Hashable]) -> dict[Hashable, int]:
        """Number of treated units in each group."""
        return {
            group: sum(self.observed[unit] for unit in units) for group, units in _members(grouping).items()
        }


def _members(grouping: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    """Units of each group."""
    result: dict[Hashable, list[int]] = {}
    for unit, group in enumerate(grouping):
        result.setdefault(group, []).append(unit)
    return result


class _Walk:
    """Walk from unit to unit, with the number of ways to complete it from every state.

    A state is the number of treated units that each group still needs. Units are visited group by group of
    the first grouping, so that few groups are open unit any time.
    """

    def __init__(self, assignments: Assignments) -> None:
        start: list[int] = []
        slots: list[dict[Hashable, int]] = []
        for grouping in assignments.groupings:
            needs = assignments.treated(grouping)
            slots.append({group: len(start) + place for place, group in enumerate(needs)})
            start += needs.values()
        pairs = [tuple(zip(slots, assignments.groupings, strict=True))] * len(assignments.observed)
        of_unit = [tuple(slot[grouping[unit]] for slot, grouping in pair) for unit, pair in enumerate(pairs)]
        self._order = sorted(range(len(of_unit)), key=of_unit.__getitem__)
        self._slots = [of_unit[unit] for unit in self._order]
        self._start = tuple(start)
        self._ways = self._counted(self._reached())

    def count(self) -> int:
        return self._ways[0][self._start]

    def listed(self) -> Rows:
        partial: dict[_State, Rows] = {self._start: np.zeros((1, 0), dtype=np.int8)}
        for unit in range(len(self._order)):
            joined: dict[_State, list[Rows]] = {}
            for state, rows in partial.items():
                for choice, following in self._choices(unit, state):
                    column = np.full((len(rows), 1), choice, dtype=np.int8)
                    joined.setdefault(following, []).append(np.hstack([rows, column]))
            partial = {state: np.vstack(parts) for state, parts in joined.items()}
        (result,) = partial.values()
        return self._in_place(result)

    def drawn(self, count: int, random: np.random.Generator) -> Rows:
        """Sample drawn unit by unit: the chance of a choice is its share of the remaining assignments."""
        result = np.zeros((count, len(self._order)), dtype=np.int8)
        members: dict[_State, NDArray[np.int64]] = {self._start: np.arange(count)}
        for unit in range(len(self._order)):
            joined: dict[_State, list[NDArray[np.int64]]] = {}
            for state, rows in members.items():
                ends = dict(self._choices(unit, state))
                ways = self._ways[unit + 1][ends[1]] if 1 in ends else 0
                chosen = random.random(len(rows)) < ways / self._ways[unit][state]
                result[rows[chosen], unit] = 1
                for choice, following in ends.items():
                    joined.setdefault(following, []).append(rows[chosen == bool(choice)])
            members = {state: np.concatenate(parts) for state, parts in joined.items()}
        return self._in_place(result)

    def _choices(self, unit: int, state: _State) -> list[tuple[int, _State]]:
        """Choices for a unit from which the walk can be completed, with the states that follow."""
        return [
            (choice, following)
            for choice in (0, 1)
            if (following := self._after(unit, state, choice)) in self._ways[unit + 1]
        ]

    def _after(self, unit: int, state: _State, choice: int) -> _State:
        if not choice:
            return state
        left = list(state)
        for slot in self._slots[unit]:
            left[slot] -= 1
        return tuple(left)

    def _reached(self) -> list[set[_State]]:
        """States that can be reached at each unit, from which the needs of every group can be met."""
        units = Counter(slot for slots in self._slots for slot in slots)
        reached: list[set[_State]] = [{self._start}]
        for unit, slots in enumerate(self._slots):
            units.subtract(slots)
            following = {self._after(unit, state, choice) for state in reached[-1] for choice in (0, 1)}
            reached.append(
                {state for state in following if all(0 <= state[slot] <= units[slot] for slot in slots)}
            )
            if sum(map(len, reached)) > STATES_MAX:
                raise TooManyError(
                    "the groupings cross in too many ways to count the assignments; use fewer groups"
                )
        return reached

    def _counted(self, reached: list[set[_State]]) -> list[dict[_State, int]]:
        """Numbers of ways from each state to the end; states without one are left out."""
        levels: list[dict[_State, int]] = [{} for _ in reached]
        levels[-1] = dict.fromkeys(reached[-1], 1)
        for unit in range(len(self._order) - 1, -1, -1):
            for state in reached[unit]:
                ways = sum(levels[unit + 1].get(self._after(unit, state, choice), 0) for choice in (0, 1))
                if ways:
                    levels[unit][state] = ways
        return levels

    def _in_place(self, rows: Rows) -> Rows:
        result = np.empty_like(rows)
        result[:, self._order] = rows
        return result
