"""What must be known before a comparison of two logs is relied on."""

from __future__ import annotations

from collections.abc import Sequence

from thinktime.analyses.compare.logs_result import BeforeAfter
from thinktime.stats import critical_values
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import ALPHA, holm

__all__ = ["caveats"]

OVERLAP_LEAST = 0.5
"""Part of the narrower range of load that both logs must share."""
FOLLOWS_MOST = 0.5
"""Correlation of pieces above which they are too short to be counted as independent."""
NAMED_MOST = 3


def caveats(result: BeforeAfter, hosts: Sequence[str]) -> tuple[str, ...]:
    """Sentences in the order of their weight."""
    return tuple(
        sentence
        for sentence in (
            "Nothing was assigned by a plan: whatever else changed between the two logs, users and their "
            "work above all, is in these differences and cannot be told from the change. A change that "
            "is switched on and off by a plan can (--treatment, --design).",
            _machines(hosts),
            _loads(result),
            _drifts(result),
            _pieces(result),
            _missing(result),
        )
        if sentence
    )


def _machines(hosts: Sequence[str]) -> str:
    if len(hosts) < 2:
        return ""
    return f"The logs are of different machines ({', '.join(hosts)}), whose difference is in it too."


def _loads(result: BeforeAfter) -> str:
    if result.load_range is None:
        return ""
    (low, high), (start, end) = result.load_range
    shared = min(high, end) - max(low, start)
    narrower = min(high - low, end - start)
    if narrower <= 0.0 or shared >= OVERLAP_LEAST * narrower:
        return ""
    return (
        f"The loads hardly overlap ({_range(low, high)} before, {_range(start, end)} after): what is "
        "compared at equal load is largely what the curves say where one of the logs has no observations."
    )


def _range(low: float, high: float) -> str:
    return f"{max(0.0, low):.3g} to {high:.3g}"


def _drifts(result: BeforeAfter) -> str:
    """Name trends that are none by chance, by Holm over all quantities of both logs."""
    found = [
        (item, side, drift)
        for item in result.effects
        for side, drift in (("before", item.drift_before), ("after", item.drift_after))
        if drift is not None
    ]
    sure = holm([_chance(drift) for *_, drift in found]) < ALPHA if found else ()
    drifting = [one for one, true in zip(found, sure, strict=True) if true]
    if not drifting:
        return ""
    named = "; ".join(
        f"{item.label} at equal {item.adjusted} by {drift.value:+.2g} {item.unit} from begin to end of {side}"
        for item, side, drift in drifting[:NAMED_MOST]
    )
    more = f", and {len(drifting) - NAMED_MOST} more" if len(drifting) > NAMED_MOST else ""
    return (
        f"Time and change go together, and there is a trend within the logs already: {named}{more}. "
        "Had it just gone on, there would be a difference without any change."
    )


def _chance(drift: Estimate) -> float:
    """Probability of a slope as far from zero by chance, from its interval: Student's t, two-sided."""
    degrees = drift.n - 2
    reach = 0.0 if drift.high is None else drift.high - drift.value
    if reach <= 0.0:
        return 0.0 if drift.value else 1.0
    t = drift.value / reach * critical_values.student_t(drift.level, degrees)
    return critical_values.f_tail(t * t, 1.0, degrees)


def _pieces(result: BeforeAfter) -> str:
    if result.between_pieces is None or result.between_pieces <= FOLLOWS_MOST:
        return ""
    return (
        f"Successive {result.piece}s are still alike (correlation "
        f"{result.between_pieces:.2f}): the intervals are too narrow. Longer logs have longer pieces."
    )


def _missing(result: BeforeAfter) -> str:
    parts = [f"only one of the logs has {', '.join(result.not_common)}"] if result.not_common else []
    parts += [f"{what}, since {why}" for what, why in result.left_out]
    return f"Not compared: {'; '.join(parts)}." if parts else ""
