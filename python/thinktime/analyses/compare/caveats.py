"""What must be known before a comparison of treatments is relied on."""

from __future__ import annotations

import numpy as np

from thinktime.analyses.compare.result import Comparison
from thinktime.stats.hypothesis import ALPHA

__all__ = ["caveats"]

SHORT_PART = 0.5
"""A unit with less than this part of the median's time is short."""
TREND_LEAST = 0.5
"""Part of the assignment that a line over time explains, from which a trend can look like an effect."""


def caveats(result: Comparison) -> tuple[str, ...]:
    """Sentences in the order of their weight."""
    return tuple(
        sentence
        for sentence in (
            _few_assignments(result),
            _trend(result),
            _chance(result),
            _touched(result),
            _several(result),
            _short(result),
            _dropped(result),
            "What a treatment leaves behind for the next one (work put off, warm caches) is counted to the "
            f"next {result.unit}.",
        )
        if sentence
    )


def _few_assignments(result: Comparison) -> str:
    made = next(item for item in result.allowed if item.chosen)
    if made.smallest_p is None or made.smallest_p <= ALPHA:
        return ""
    return (
        f"The design allows {made.assignments} assignments only: no data could give the randomisation test "
        f"a probability below {made.smallest_p:.2g}, so that it cannot find any effect at {ALPHA:g}, however "
        "large. Student's test can, if the units are normal and independent."
    )


def _trend(result: Comparison) -> str:
    times = np.array([unit.start_us for unit in result.units], dtype=np.float64)
    treated = np.array([unit.treatment == result.treated for unit in result.units], dtype=np.float64)
    explained = float(np.corrcoef(times, treated)[0, 1]) ** 2
    if explained < TREND_LEAST:
        return ""
    return (
        f"Treatment and time go together ({explained:.0%} of the treatment's variation is a line over time): "
        "whatever else changed steadily meanwhile looks like an effect."
    )


def _chance(result: Comparison) -> str:
    made = next(item for item in result.allowed if item.chosen)
    return (
        f"The probabilities are exact if the plan was drawn by lot from the {made.assignments:,} "
        "that were possible; of a plan that somebody laid down they are as good as its independence "
        "of everything else that differed."
    )


def _touched(result: Comparison) -> str:
    adjusted = {item.adjusted for item in result.effects} - {""}
    if not adjusted:
        return ""
    changed = [item.label for item in result.effects if item.kind == "load" and _found(item.test.p)]
    said = f", and {changed[0]} did differ" if changed else ""
    return (
        "Load and requests were not assigned: if the treatment itself changed them, comparing at equal load "
        f"or work takes that part of its effect away{said}."
    )


def _found(p: float) -> bool:
    return p <= ALPHA


def _several(result: Comparison) -> str:
    tests = len(result.effects)
    if tests < 3:
        return ""
    return (
        f"{tests} comparisons are made, each with a false-alarm rate of {ALPHA:g}: decide beforehand which "
        "one answers the question."
    )


def _short(result: Comparison) -> str:
    lengths = np.array([unit.length_s for unit in result.units])
    short = [
        unit.label
        for unit, length in zip(result.units, lengths, strict=True)
        if length < SHORT_PART * float(np.median(lengths))
    ]
    if not short:
        return ""
    return (
        f"{', '.join(short)}: observed for less than half of the time of the others, and counted as one "
        f"{result.unit} all the same."
    )


def _dropped(result: Comparison) -> str:
    parts = []
    if result.dropped:
        parts.append(f"{result.dropped} belong to no {result.unit} of the comparison")
    if result.incomplete:
        parts.append(f"{result.incomplete} lack something that is compared")
    return f"Observations that are left out: {'; '.join(parts)}." if parts else ""
