"""Sums by group are those of a plain loop over the rows, to the bit, in order of first appearance."""

from __future__ import annotations

import random

import polars as pl
import pytest

from thinktime.log.sums import by_group

Rows = list[tuple[str, str, float | None]]


def looped(parts: list[Rows]) -> list[tuple[str, str, float | None]]:
    """Sum of each group; the rows of a part are added first, as they come."""
    sums: dict[tuple[str, str], float | None] = {}
    for part in parts:
        added: dict[tuple[str, str], float] = {}
        for first, second, value in part:
            sums.setdefault((first, second), None)
            if value is not None:
                added[first, second] = added.get((first, second), 0.0) + value
        for key, value in added.items():
            sums[key] = value + (sums[key] or 0.0)
    return [(*key, value) for key, value in sums.items()]


@pytest.mark.parametrize("kinds", [2, 5, 40, 10_000])
def test_they_are_those_of_a_loop(kinds: int) -> None:
    """Few combinations and many, of which each occurs once at most."""
    drawn = random.Random(kinds)
    parts: list[Rows] = [
        [
            (
                f"a{drawn.randrange(kinds)}",
                f"b{drawn.randrange(kinds)}",
                None if drawn.random() < 0.2 else drawn.expovariate(1.0),
            )
            for _ in range(500)
        ]
        for _ in range(3)
    ]
    frames = [pl.DataFrame(part, schema=["a", "b", "value"], orient="row").lazy() for part in parts]
    found = by_group(frames, ("a", "b"), ("value",)).rows()
    assert found == looped(parts)
