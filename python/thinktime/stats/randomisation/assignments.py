"""Which assignments of two treatments to units were possible: counted, listed or drawn.

An assignment is a row of zeros (control) and ones (treated), one a unit. A design says what every possible
assignment has in common: how many units of each group are treated, for none, one or several groupings.

================  ===========================================  ===============================
design            groupings                                    what is kept
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

Rows = NDArray[np.int8]
_State = tuple[int, ...]

LISTED_MAX = 50_000
"""Most assignments that are listed; of more, some are drawn."""
STATES_MAX = 400_000
"""Most partial sums that are kept in mind to count assignments with several groupings."""


class TooManyError(ValueError):
    """There are too many assignments to count."""


@dataclass(frozen=True, slots=True)
class Assignments:
    """All assignments that treat as many units of every group as the observed one does.

    Parameters
    ----------
    observed : tuple of int
        The assignment that was made: 0 or 1 for each unit.
    groupings : tuple of sequences
        Each gives every unit the group that it belongs to.

    Examples
    --------
    Two weeks of four days, two new days in each week, each weekday once new and once old (Bard 1971):

    >>> weeks, days = [1] * 4 + [2] * 4, [1, 2, 3, 4] * 2
    >>> Assignments((1, 0, 0, 1, 0, 1, 1, 0), (weeks, days)).count()
    6
    """

    observed: tuple[int, ...]
    groupings: tuple[Sequence[Hashable], ...] = ()

    def __post_init__(self) -> None:
        """Refuse what is no assignment."""
        if set(self.observed) - {0, 1}:
            raise ValueError("an assignment is made of zeros and ones")
        if any(len(grouping) != len(self.observed) for grouping in self.groupings):
            raise ValueError("every grouping names a group for each unit")

    def count(self) -> int:
        r"""Count them exactly.

        Without groupings there are :math:`2^n`; with one, :math:`\prod_g \binom{n_g}{k_g}` of k treated
        among n units; with several the partial sums of all groups are followed from unit to unit.

        Raises
        ------
        TooManyError
            The groupings cross each other in more ways than can be followed.
        """
        if not self.groupings:
            return int(2 ** len(self.observed))
        if len(self.groupings) == 1:
            sizes, treated = Counter(self.groupings[0]), self.treated(self.groupings[0])
            return math.prod(math.comb(sizes[group], number) for group, number in treated.items())
        return _Walk(self).count()

    def listed(self) -> Rows:
        """All of them, a row each.

        Raises
        ------
        TooManyError
            There are more than `LISTED_MAX`.
        """
        if self.count() > LISTED_MAX:
            raise TooManyError(f"{self.count()} assignments are too many to list; draw some")
        return _Walk(self).listed()

    def drawn(self, count: int, random: np.random.Generator) -> Rows:
        """`count` of them at random, each as likely as any other, with replacement.

        Raises
        ------
        TooManyError
            The groupings cross each other in more ways than can be followed.
        """
        n = len(self.observed)
        if not self.groupings:
            return random.integers(0, 2, (count, n)).astype(np.int8)
        if len(self.groupings) > 1:
            return _Walk(self).drawn(count, random)
        found = np.tile(np.asarray(self.observed, dtype=np.int8), (count, 1))
        for members in _members(self.groupings[0]).values():
            found[:, members] = random.permuted(found[:, members], axis=1)
        return found

    def treated(self, grouping: Sequence[Hashable]) -> dict[Hashable, int]:
        """How many units of each group are treated."""
        return {
            group: sum(self.observed[unit] for unit in units) for group, units in _members(grouping).items()
        }


def _members(grouping: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    """Units of each group."""
    found: dict[Hashable, list[int]] = {}
    for unit, group in enumerate(grouping):
        found.setdefault(group, []).append(unit)
    return found


class _Walk:
    """A walk from unit to unit that knows in how many ways it can still be ended.

    A state is the number of treated units that each group still needs. Units go group by group of the
    first grouping, so that few groups are open at any time.
    """

    def __init__(self, assignments: Assignments) -> None:
        start: list[int] = []
        slots: list[dict[Hashable, int]] = []
        for grouping in assignments.groupings:
            needs = assignments.treated(grouping)
            slots.append({group: len(start) + at for at, group in enumerate(needs)})
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
        for at in range(len(self._order)):
            joined: dict[_State, list[Rows]] = {}
            for state, rows in partial.items():
                for choice, following in self._choices(at, state):
                    column = np.full((len(rows), 1), choice, dtype=np.int8)
                    joined.setdefault(following, []).append(np.hstack([rows, column]))
            partial = {state: np.vstack(parts) for state, parts in joined.items()}
        (found,) = partial.values()
        return self._in_place(found)

    def drawn(self, count: int, random: np.random.Generator) -> Rows:
        """Draw unit by unit: a choice is as likely as the assignments that it leaves are many."""
        found = np.zeros((count, len(self._order)), dtype=np.int8)
        members: dict[_State, NDArray[np.int64]] = {self._start: np.arange(count)}
        for at in range(len(self._order)):
            joined: dict[_State, list[NDArray[np.int64]]] = {}
            for state, rows in members.items():
                ends = dict(self._choices(at, state))
                ways = self._ways[at + 1][ends[1]] if 1 in ends else 0
                chosen = random.random(len(rows)) < ways / self._ways[at][state]
                found[rows[chosen], at] = 1
                for choice, following in ends.items():
                    joined.setdefault(following, []).append(rows[chosen == bool(choice)])
            members = {state: np.concatenate(parts) for state, parts in joined.items()}
        return self._in_place(found)

    def _choices(self, at: int, state: _State) -> list[tuple[int, _State]]:
        """Choices for a unit from which the walk can be ended, and where they lead."""
        return [
            (choice, following)
            for choice in (0, 1)
            if (following := self._after(at, state, choice)) in self._ways[at + 1]
        ]

    def _after(self, at: int, state: _State, choice: int) -> _State:
        if not choice:
            return state
        left = list(state)
        for slot in self._slots[at]:
            left[slot] -= 1
        return tuple(left)

    def _reached(self) -> list[set[_State]]:
        """States that can be reached at each unit without asking too much or too little of a group."""
        units = Counter(slot for slots in self._slots for slot in slots)
        reached: list[set[_State]] = [{self._start}]
        for at, slots in enumerate(self._slots):
            units.subtract(slots)
            following = {self._after(at, state, choice) for state in reached[-1] for choice in (0, 1)}
            reached.append(
                {state for state in following if all(0 <= state[slot] <= units[slot] for slot in slots)}
            )
            if sum(map(len, reached)) > STATES_MAX:
                raise TooManyError("the groups cross each other in too many ways to count the assignments")
        return reached

    def _counted(self, reached: list[set[_State]]) -> list[dict[_State, int]]:
        """Add up the ways from the last unit back to the first; states without one are left out."""
        levels: list[dict[_State, int]] = [{} for _ in reached]
        levels[-1] = dict.fromkeys(reached[-1], 1)
        for at in range(len(self._order) - 1, -1, -1):
            for state in reached[at]:
                ways = sum(levels[at + 1].get(self._after(at, state, choice), 0) for choice in (0, 1))
                if ways:
                    levels[at][state] = ways
        return levels

    def _in_place(self, rows: Rows) -> Rows:
        found = np.empty_like(rows)
        found[:, self._order] = rows
        return found
