"""Numbers in print: the only place where units are scaled and digits are rounded.

The digits shown follow from the interval: 377.2 µs with an interval of ±12.4 is shown as 377 ± 12 µs.
A number without an interval is shown with three significant digits, a count in full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from thinktime.stats.estimate import Estimate

ABSENT = "–"
"""Shown where nothing was measured; never a zero."""

THIN = "\N{NARROW NO-BREAK SPACE}"
SPACE = "\N{NO-BREAK SPACE}"
DIGITS = 3
SIGNIFICANT_MAX = 5

_SYMBOLS = {"byte": "B", "1/s": "/s"}
# Symbol, factor; largest first. Seconds have no multiples: nobody reads kiloseconds.
_SECONDS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))
_BYTES = (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))
_COUNTS = (("G", 1e9), ("M", 1e6), ("", 1.0))


class Scale(NamedTuple):
    """Divisor of a number, and the resulting unit.

    A tuple with names: messages of short commands need this module, and data classes take as long to load as
    all else that those need.
    """

    factor: float
    unit: str


def scale(magnitude: float, unit: str) -> Scale:
    """Prefix for a number of about `magnitude`, in `unit` (SI)."""
    head, slash, per = unit.partition("/")
    tail = f"/{per}" if slash else ""
    if unit == "share":
        return Scale(0.01, "%")
    if not unit:
        return Scale(1.0, "")
    if head == "s":
        return _first(magnitude, _SECONDS, "", tail)
    if head == "byte":
        return _first(magnitude, _BYTES, "", tail)
    return _first(magnitude, _COUNTS, _SYMBOLS.get(unit, plural(unit)), "")


def plural(noun: str) -> str:
    """Plural of a unit that is a noun (`fault/s`: `faults/s`); symbols stay as they are."""
    head, slash, rest = noun.partition("/")
    if len(head) < 3 or not head.replace(" ", "").replace("-", "").isalpha():
        return noun
    ending = "es" if head.endswith(("s", "x", "ch", "sh")) else "s"
    return f"{head}{ending}{slash}{rest}"


def count(amount: int, noun: str) -> str:
    """Number of things in words: 1 gap, 12 gaps."""
    return _joined(number(amount), noun if amount == 1 else plural(noun))


def _first(magnitude: float, steps: Sequence[tuple[str, float]], name: str, tail: str) -> Scale:
    # 999.6 ms would be printed as 1000 ms: a figure moves up as soon as three digits round up to the step.
    base = next(step for step in steps if step[1] == 1.0)
    small = steps[-1]
    chosen = next((step for step in steps if magnitude >= step[1] * (1 - 5e-4)), small)
    if magnitude == 0 or magnitude >= 1e15 * steps[0][1]:
        chosen = base
    symbol, factor = chosen
    return Scale(factor, f"{symbol}{SPACE if symbol and name else ''}{name}{tail}")


def decimals(width: float, digits: int) -> int:
    """Decimal places that show `width` with `digits` significant digits."""
    if width == 0 or not math.isfinite(width):
        return 0
    return digits - 1 - math.floor(math.log10(abs(width)) + 1e-12)


def fixed(value: float, places: int) -> str:
    """`value` with `places` decimals (negative: rounded to tens, hundreds), grouped in threes."""
    if math.isnan(value):
        return ABSENT
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    rounded = round(value, places)
    if abs(rounded) >= 1e15:
        return _scientific(rounded)
    # At five digits and more, groups help; at four they only make noise.
    group = "," if abs(rounded) >= 10_000 else ""
    text = f"{rounded + 0.0:{group}.{max(places, 0)}f}".replace(",", THIN)
    return "−" + text[1:] if text.startswith("-") else text


def _scientific(value: float) -> str:
    mantissa, exponent = f"{value:.2e}".split("e")
    power = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa}{SPACE}×{SPACE}10{power}".replace("-", "−", 1)


def number(value: float, digits: int = DIGITS) -> str:
    """Pure number with `digits` significant digits; an int in full."""
    if isinstance(value, int):
        return _scientific(float(value)) if abs(value) >= 10**15 else fixed(value, 0)
    if value and abs(value) < 1e-4:
        return _scientific(value)
    # Trailing digits left of the point are kept: 12 345 is not 12 300.
    return fixed(value, min(max(decimals(value, digits), 0), 8))


def _joined(text: str, unit: str) -> str:
    if not unit or text == ABSENT:
        return text
    return f"{text}{unit}" if unit.startswith("/") else f"{text}{SPACE}{unit}"


def quantity(value: float | None, unit: str = "") -> str:
    """Number with its unit, scaled: ``quantity(0.000377, "s/fork")`` is 377 µs/fork."""
    if value is None or math.isnan(value):
        return ABSENT
    if _counted(value, unit):
        return count(int(value), unit)
    chosen = scale(abs(value), unit)
    return _joined(number(value / chosen.factor), chosen.unit)


def probability(p: float) -> str:
    """Probability of a test; below 0.001 its size is of no interest."""
    return "< 0.001" if p < 0.001 else fixed(p, 3 if p < 0.1 else 2)


def _counted(value: float, unit: str) -> bool:
    """True for a whole number of items rather than an amount."""
    noun = unit.isalpha() and unit not in {"s", "byte", "share"}
    return (
        abs(value) < 1e6
        and (isinstance(value, int) or value.is_integer())
        and (noun or (isinstance(value, int) and not unit))
    )


def interval(estimate: Estimate, chosen: Scale) -> str:
    """Value and interval in the scaled unit, without the unit."""
    value = estimate.value / chosen.factor
    low = None if estimate.low is None else estimate.low / chosen.factor
    high = None if estimate.high is None else estimate.high / chosen.factor
    ends = [end for end in (low, high) if end is not None and math.isfinite(end) and end != value]
    if not ends:
        whole = chosen.factor == 1.0 and _counted(estimate.value, estimate.unit)
        alone = fixed(value, 0) if whole else number(value)
        if (low is None) == (high is None):
            return alone
        # The extreme of a few observations is the only end that they give: the other stays open.
        first, last = (ABSENT if end is None else alone for end in (low, high))
        return f"{alone}{SPACE}({first}{SPACE}to{SPACE}{last})"
    half = sum(abs(end - value) for end in ends) / len(ends)
    # An interval far below the value is an artefact of constant data, not a reason for ten digits.
    places = min(decimals(half, 2), 12, decimals(max(abs(value), half), SIGNIFICANT_MAX))
    if chosen.factor == 1.0 and all(_counted(one, estimate.unit) for one in (value, *ends)):
        # Nobody counts tenths of a user.
        places = min(places, 0)
    if fixed(half, places) == fixed(0.0, places):
        return fixed(value, places)
    # A symmetric interval reads best as ±; 5 % of skew is below the two digits shown.
    if (
        low is not None
        and high is not None
        and low < value < high
        and abs(low + high - 2 * value) <= 0.1 * half
    ):
        return f"{fixed(value, places)}{SPACE}±{SPACE}{fixed(half, places)}"
    # A long tail on one side must not round the value itself away.
    places = max(places, min(decimals(value, 1), 12))
    first = ABSENT if low is None else fixed(low, places)
    last = ABSENT if high is None else fixed(high, places)
    return f"{fixed(value, places)}{SPACE}({first}{SPACE}to{SPACE}{last})"


def magnitude(value: Estimate) -> float:
    """Magnitude that decides the scale: the value, or its interval where the value is next to zero."""
    ends = [abs(end) for end in (value.low, value.high) if end is not None and math.isfinite(end)]
    biggest = max(ends, default=0.0)
    return abs(value.value) if abs(value.value) > biggest / 1e3 else biggest


def estimate(value: Estimate) -> str:
    """Estimate with interval and unit: 377 ± 12 µs/fork."""
    if math.isnan(value.value):
        return ABSENT
    alone = (value.low is None) == (value.high is None) and {value.low, value.high} <= {None, value.value}
    if alone and _counted(value.value, value.unit):
        return count(int(value.value), value.unit)
    chosen = scale(magnitude(value), value.unit)
    return _joined(interval(value, chosen), chosen.unit)


def apart(value: Estimate) -> tuple[str, str]:
    """Value with its unit, and its interval apart from it: 2.1 s, and 1.8 to 2.4 s.

    The interval is empty where the estimate has none.
    """
    chosen = scale(magnitude(value), value.unit)
    if value.low is None or value.high is None:
        return quantity(value.value, value.unit), ""
    half = (value.high - value.low) / 2.0 / chosen.factor
    places = min(decimals(half, 2), 12)
    ends = [end / chosen.factor for end in (value.low, value.high) if end]
    # An end next to zero keeps its side: the verdict on the interval goes by it.
    places = max([places, *(min(decimals(end, 1), places + 2) for end in ends)])
    middle, low, high = (fixed(end / chosen.factor, places) for end in (value.value, value.low, value.high))
    return _joined(middle, chosen.unit), f"{low} to {_joined(high, chosen.unit)}"


def plain(text: str) -> str:
    """Text with ordinary spaces, for terminals and programs: a print without layout needs no others."""
    return text.replace(SPACE, " ").replace(THIN, " ")
