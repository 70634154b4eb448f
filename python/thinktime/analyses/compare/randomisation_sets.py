"""Statements of which assignments of a design were possible, and the tests that follow from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.compare.result import Allowed, Randomisation
from thinktime.stats.randomisation.assignments import Assignments, TooManyError
from thinktime.stats.randomisation.permutation import Confounded, Reassignment

__all__ = ["Statement", "indicators", "statements"]

_Array = NDArray[np.float64]

TIGHTEST_FIRST: tuple[Randomisation, ...] = ("counterbalanced", "blocks", "complete", "switchback")
GROUPS_NAMED = 6


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with its test; None where the treatment cannot be told from the blocks."""

    allowed: Allowed
    design: Reassignment | None


def statements(
    treated: Sequence[bool],
    blocks: Mapping[str, Sequence[str]],
    chosen: Randomisation,
    *,
    noun: str,
    seed: int,
) -> tuple[Statement, ...]:
    """Return the chosen statement and those that could have been made instead, tightest first.

    Parameters
    ----------
    treated : sequence of bool
        One a unit.
    blocks : mapping of str to sequence of str
        Blocking factors, with the block of each unit.
    chosen : str
        How the treatments were assigned. Its test takes the effects of all blocks out; that of another
        statement the blocks that it keeps.
    noun : str
        What a unit is called.
    seed : int
        Of assignments that are drawn.
    """
    found = []
    for name in TIGHTEST_FIRST:
        # Two factors counterbalance each other; without one there is nothing to keep.
        if name != chosen and len(blocks) < {"counterbalanced": 2, "blocks": 1}.get(name, 0):
            continue
        kept = _kept(name, blocks)
        groupings = tuple(kept.values()) or ((("",) * len(treated),) if name == "complete" else ())
        out = blocks if name == chosen else kept
        assignments = Assignments(tuple(int(item) for item in treated), groupings)
        found.append(_statement(name, assignments, kept, out, name == chosen, noun, seed))
    return tuple(found)


def _kept(name: Randomisation, blocks: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Blocking factors in which a statement keeps the number of treated units."""
    if name == "counterbalanced":
        return dict(blocks)
    if name == "blocks":
        return dict(list(blocks.items())[:1])
    return {}


def _statement(
    name: Randomisation,
    assignments: Assignments,
    kept: Mapping[str, Sequence[str]],
    out: Mapping[str, Sequence[str]],
    chosen: bool,
    noun: str,
    seed: int,
) -> Statement:
    try:
        design = Reassignment(assignments, indicators(out), seed=seed)
    except (Confounded, TooManyError):
        design = None
    number = design.possible if design is not None else 0
    allowed = Allowed(
        name,
        _words(name, assignments, kept, noun),
        tuple(out),
        number,
        design.smallest_p if design is not None else None,
        design.degrees if design is not None else None,
        chosen,
    )
    return Statement(allowed, design)


def indicators(blocks: Mapping[str, Sequence[str]]) -> _Array | None:
    """Columns of zeros and ones for every block but the first of each factor: their effects add up."""
    columns = [
        [float(block == other) for block in labels]
        for labels in blocks.values()
        for other in list(dict.fromkeys(labels))[1:]
    ]
    return np.array(columns).T if columns else None


def _words(
    name: Randomisation, assignments: Assignments, kept: Mapping[str, Sequence[str]], noun: str
) -> str:
    n, treated = len(assignments.observed), sum(assignments.observed)
    if name == "switchback":
        return f"a coin was thrown for each of {n} {noun}s"
    if name == "complete":
        return f"any {treated} of {n} {noun}s were treated"
    return ", ".join(_margins(factor, labels, assignments, noun) for factor, labels in kept.items())


def _margins(factor: str, labels: Sequence[str], assignments: Assignments, noun: str) -> str:
    sizes, treated = Counter(labels), assignments.treated(labels)
    pairs = {group: (treated[group], sizes[group]) for group in sizes}
    if len(set(pairs.values())) == 1:
        chosen, size = next(iter(pairs.values()))
        verb = "was" if chosen == 1 else "were"
        return f"{chosen} of the {size} {noun}s of each {factor} {verb} treated"
    if len(pairs) > GROUPS_NAMED:
        return f"as many {noun}s of each {factor} were treated as are in this plan"
    each = ", ".join(f"{chosen} of {size} of {group}" for group, (chosen, size) in pairs.items())
    return f"{noun}s were treated so: {each}"
