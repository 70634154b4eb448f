"""Sets of assignments that were possible, by how treatments were randomised, with their tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.compare.result import Allowed, Randomisation
from thinktime.stats.randomisation.assignments import Assignments, TooManyError
from thinktime.stats.randomisation.permutation import Confounded, Reassignment

_Array = NDArray[np.float64]

TIGHTEST_FIRST: tuple[Randomisation, ...] = ("counterbalanced", "blocks", "complete", "switchback")
GROUPS_NAMED = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A statement with its test; None where the treatment is confounded with the blocks."""

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
    """The chosen statement and its alternatives, tightest first.

    Parameters
    ----------
    treated : sequence of bool
        One a unit.
    blocks : mapping of str to sequence of str
        Blocking factors, with the block of each unit.
    chosen : str
        How the treatments were assigned. Its test removes the effects of all blocks; that of another
        statement those of the blocks that it keeps.
    noun : str
        Name of a unit.
    seed : int
        Of assignments that are drawn.
    """
    result = []
    for name in TIGHTEST_FIRST:
        # Counterbalancing needs two factors, blocks need one.
        if name != chosen and len(blocks) < {"counterbalanced": 2, "blocks": 1}.get(name, 0):
            continue
        kept = _kept(name, blocks)
        groupings = tuple(kept.values()) or ((("",) * len(treated),) if name == "complete" else ())
        assignments = Assignments(tuple(int(item) for item in treated), groupings)
        removed = blocks if name == chosen else kept
        try:
            design = Reassignment(assignments, indicators(removed), seed=seed)
        except (Confounded, TooManyError):
            design = None
        allowed = Allowed(
            randomisation=name,
            statement=_words(name, assignments, kept, noun),
            blocks=tuple(removed),
            assignments=0 if design is None else design.possible,
            smallest_p=None if design is None else design.smallest_p,
            degrees=None if design is None else design.degrees,
            chosen=name == chosen,
        )
        result.append(Statement(allowed=allowed, design=design))
    return tuple(result)


def _kept(name: Randomisation, blocks: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Blocking factors in which a statement keeps the number of treated units."""
    if name == "counterbalanced":
        return dict(blocks)
    if name == "blocks":
        return dict(list(blocks.items())[:1])
    return {}


def indicators(blocks: Mapping[str, Sequence[str]]) -> _Array | None:
    """Columns of zeros and ones for every block but the first of each factor."""
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
        return f"a coin was tossed for each of {n} {noun}s"
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
    counts = ", ".join(f"{chosen} of {size} of {group}" for group, (chosen, size) in pairs.items())
    return f"{noun}s were treated as follows: {counts}"
