"""What an experiment found: which level is better, by how much, and which cannot be told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from thinktime.analyses.experiment import words
from thinktime.documents import format as shown
from thinktime.documents.wording import capital, listed
from thinktime.stats.estimate import Estimate

if TYPE_CHECKING:
    from thinktime.analyses.experiment.result import Difference, Experiment
    from thinktime.stats.designs.factorial import Level

OTHERS_MAX = 4
"""Levels that the best one is compared with; with more, the next best and the worst are."""


def logarithmic(result: Experiment) -> bool:
    """True if differences are logarithms of ratios."""
    return result.transformation.startswith("log10")


def ratio(difference: Estimate) -> Estimate:
    """Ratio of two values, from the difference of their logarithms to base ten."""
    low, high = (None if end is None else 10.0**end for end in (difference.low, difference.high))
    return replace(difference, value=10.0**difference.value, unit="", low=low, high=high)


def findings(result: Experiment) -> list[str]:
    """Which level of each factor is better, and by how much; the largest effect first."""
    effect = {item.factors[0]: item.f or 0.0 for item in result.sources if len(item.factors) == 1}
    names = sorted({item.factor for item in result.differences}, key=lambda name: -effect.get(name, 0.0))
    sentences: list[str] = []
    for name in names:
        sentences += _of_factor(result, name)
    return [*sentences, best_cell(result)]


def best_cell(result: Experiment) -> str:
    """The cell with the best mean; the lowest where neither direction is better."""
    more = words.better(result.response) == "more"
    best = (max if more else min)(result.cells, key=lambda item: item.mean.value)
    names = [factor.name for factor in result.factors]
    given = words.together(zip(names, best.levels, strict=True))
    return (
        f"Of the {len(result.cells)} cells, the {words.response(result.response)} is "
        f"{'highest' if more else 'lowest'} {given}: {shown.estimate(best.mean)}."
    )


def together(result: Experiment) -> str:
    """On what the intervals of the comparisons hold."""
    if not result.differences:
        return ""
    level = f"{100 * result.differences[0].estimate.level:g} %"
    how = (
        "paired by workload, with Bonferroni's correction"
        if result.blocked
        else "by Tukey's studentized range"
    )
    return f"The intervals of one factor hold together with a confidence of {level} ({how})."


def _of_factor(result: Experiment, name: str) -> Iterator[str]:
    means = {item.level: item.mean.value for item in result.levels if item.factor == name}
    more = words.better(result.response) == "more"
    best, *others = sorted(means, key=lambda level: means[level], reverse=more)
    if len(others) > OTHERS_MAX:
        others = [others[0], others[-1]]
    pairs = [item for item in result.differences if item.factor == name]
    dependence = _dependence(result, name, best, others[-1])
    # What was found comes before what was not; on what it depends follows the largest difference.
    for other in sorted(others, key=lambda level: not _between(pairs, best, level).significant):
        yield compared(result, _between(pairs, best, other), best)
        if dependence and other == others[-1]:
            yield dependence


def _between(pairs: Sequence[Difference], one: Level, other: Level) -> Difference:
    return next(item for item in pairs if {item.first, item.second} == {one, other})


def compared(result: Experiment, item: Difference, best: Level) -> str:
    """Two levels of a factor compared: Processor sharing answers 2.1 s sooner (1.8 to 2.4) than FB2."""
    other = item.first if item.second == best else item.second
    noun = words.response(result.response)
    one, two = (words.level(item.factor, level) for level in (best, other))
    difference = _less(item, best)
    if not item.significant:
        return f"{capital(one)} and {two} cannot be told apart by the {noun}: {_open(result, difference)}."
    if logarithmic(result):
        times = ratio(difference)
        factor, ends = shown.apart(times)
        return (
            f"{capital(words.given(item.factor, other))}, the {noun} is {factor} times ({ends}) that "
            f"{words.given(item.factor, best)}."
        )
    if result.response in words.ANSWERS and isinstance(best, str) and _scale(result) == "":
        amount, ends = shown.apart(difference)
        return f"{capital(one)} answers {amount} sooner ({ends}) than {two}."
    return (
        f"{capital(words.given(item.factor, best))}, the {noun} is {_amount(result, difference)} than "
        f"{words.given(item.factor, other)}."
    )


def _less(item: Difference, best: Level) -> Estimate:
    """The difference as the other level less the best."""
    return item.estimate if item.first == best else _negative(item.estimate)


def _negative(value: Estimate) -> Estimate:
    low, high = (None if end is None else -end for end in (value.high, value.low))
    return replace(value, value=-value.value, low=low, high=high)


def _open(result: Experiment, difference: Estimate) -> str:
    if logarithmic(result):
        return f"ratio {shown.apart(ratio(difference))[1]}"
    return f"difference {shown.apart(difference)[1]}{_scale(result)}"


def _scale(result: Experiment) -> str:
    """Scale of differences, where it is not that of the response."""
    return (
        ""
        if result.transformation == "y" or logarithmic(result)
        else f" on the scale of {result.transformation}"
    )


def _amount(result: Experiment, other_less_best: Estimate) -> str:
    """How the best level differs from the other: 2.1 s shorter (1.8 to 2.4)."""
    positive = other_less_best.value >= 0.0
    amount, ends = shown.apart(other_less_best if positive else _negative(other_less_best))
    time = result.unit == "s"
    way = ("shorter" if time else "lower") if positive else ("longer" if time else "higher")
    return f"{amount} {way} ({ends}{_scale(result)})"


def _dependence(result: Experiment, name: str, best: Level, worst: Level) -> str:
    """How the difference between the best and the worst level depends on another factor."""
    inside = [
        item for item in result.simple if item.factor == name and {item.first, item.second} == {best, worst}
    ]
    if not inside:
        return ""
    other = inside[0].within[0][0]
    parts = []
    for item in inside:
        if item.within[0][0] != other:
            continue
        difference = _less(item, best)
        given = words.given(*item.within[0])
        if logarithmic(result):
            factor, ends = shown.apart(ratio(difference))
            parts.append(f"{factor} times ({ends}) {given}")
        elif item.significant:
            parts.append(f"{_amount(result, difference)} {given}")
        else:
            parts.append(f"not to be told apart ({_open(result, difference)}) {given}")
    one, two = (words.given(name, level) for level in (worst, best))
    if logarithmic(result):
        return f"The ratio of {one} to {two} depends on the {words.factor(other)}: {listed(parts)}."
    against = f"compared {one}" if one.startswith("with ") else f"compared with a run {one}"
    return (
        f"The size of this difference depends on the {words.factor(other)}: {two}, {against}, "
        f"the {words.response(result.response)} is {listed(parts)}."
    )
