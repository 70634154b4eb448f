"""Costs of requests by model of machine, with tests of their differences, and machines unlike their model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thinktime.fleets.costs import Coefficient
from thinktime.fleets.machines import UNNAMED, Joined, Machine, estimate
from thinktime.fleets.summary import BASE, INTERACTION, MEMORY, USER
from thinktime.stats import difference
from thinktime.stats.estimate import Estimate
from thinktime.stats.hypothesis import ALPHA, SignificanceTest, adjusted, holm
from thinktime.stats.outliers import MEMBERS_LEAST, outlying
from thinktime.stats.regression.equality import same_mean
from thinktime.stats.series.batch_means import plain_mean

MACHINES_LEAST = 3
"""Machines of a model from which its cost takes part in tests."""
VAGUE = 3.0
"""Standard error over that of the usual machine of its model, beyond which a machine's cost does not
count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCost:
    """What one kind of request costs on one model of machine."""

    model: str
    machines: int
    """Machines of which it is the mean."""
    vague: int
    """Machines that are left out, because their logs tell it far less precisely than those of the others."""
    cost: Estimate
    """Mean over machines, whose differences make the interval; of a single machine, over time."""
    ratio: Estimate | None
    """Cost over that on the first of the models; None for the first, and where the interval reaches zero."""
    test: SignificanceTest | None
    """That the cost is that of the first model, adjusted over all models and kinds of request (Holm); None
    where either has fewer than 3 machines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one kind of request costs."""

    name: str
    """Kind of request, ``base`` or ``interaction``."""
    label: str
    models: tuple[ModelCost, ...]
    """The model with the most machines comes first."""
    test: SignificanceTest | None
    """That the cost is the same on all models with 3 machines or more, adjusted over the kinds of request
    (Holm); None where fewer than two have as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlier:
    """A machine that differs from the others of its model."""

    machine: str
    model: str
    name: str
    """Kind of request, ``base``, ``interaction``, ``user`` or ``memory``."""
    label: str
    value: Estimate
    usual: float
    """Median of its model."""
    p: float
    """Probability of a machine that differs as much, adjusted over all machines and quantities (Holm)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """Where machines unlike their model were looked for."""

    outliers: tuple[Outlier, ...]
    """By model, then by machine."""
    tests: int
    """Machines and quantities that were compared."""
    small: tuple[str, ...]
    """Models with too few machines."""


LABELS = {
    BASE: "base load of the system",
    INTERACTION: "interaction",
    USER: "share of the CPUs by active user",
    MEMORY: "share of the memory by active user",
}
UNITS = {BASE: "s/s", INTERACTION: "s", USER: "share", MEMORY: "share"}
"""Unit of each coefficient; a request costs seconds."""


def unit_of(name: str) -> str:
    """Unit of a coefficient."""
    return UNITS.get(name, "s")


def comparable(joined: Sequence[Joined]) -> list[Joined]:
    """Machines whose logs count the same kinds of request as those of most, so that costs mean the same."""
    counted = [tuple(sorted({name for item in one.summaries for name in item.labels})) for one in joined]
    most = max(Counter(counted).items(), key=lambda pair: (pair[1], pair[0]))[0] if counted else ()
    return [one for one, names in zip(joined, counted, strict=True) if names == most]


def costs(joined: Sequence[Joined], level: float) -> tuple[Cost, ...]:
    r"""Cost of each kind of request on each model, with tests that it is the same on all of them.

    The mean of a model is that over its machines, each counted once, with Student's t: machines are drawn
    from all of their model, and how they differ includes the error of each. That two or more models have one
    mean is tested by Welch's test for means of unequal variances (`regression.equality.same_mean`), so that
    nothing is assumed of the errors within a machine.

    Parameters
    ----------
    joined : sequence of Joined
        Machines whose models are known.
    level : float
        Confidence of the intervals.
    """
    known = [one for one in joined if one.model != UNNAMED]
    sizes = Counter(one.model for one in known)
    order = sorted(sizes, key=lambda model: (-sizes[model], model))
    labels = {name: text for one in known for item in one.summaries for name, text in item.labels.items()}
    labels = {BASE: LABELS[BASE], **labels, INTERACTION: LABELS[INTERACTION]}
    found = [cost for name in labels if (cost := _cost(name, labels[name], known, order, level)) is not None]
    return _adjusted(found)


def _cost(name: str, label: str, known: Sequence[Joined], order: Sequence[str], level: float) -> Cost | None:
    groups: dict[str, tuple[list[Coefficient], int]] = {}
    for model in order:
        items = [item for one in known if one.model == model if (item := one.coefficient(name)) is not None]
        kept = _precise(items)
        if kept:
            groups[model] = kept, len(items) - len(kept)
    if not groups:
        return None
    means = {model: _mean(kept, unit_of(name), level) for model, (kept, _) in groups.items()}
    large = [model for model, (kept, _) in groups.items() if len(kept) >= MACHINES_LEAST]
    first = next(iter(groups))
    return Cost(
        name=name,
        label=label,
        models=tuple(
            ModelCost(
                model=model,
                machines=len(kept),
                vague=vague,
                cost=means[model],
                ratio=None if model == first else _ratio(means[first], means[model]),
                test=_same(label, [groups[first][0], kept])
                if model != first and {first, model} <= set(large)
                else None,
            )
            for model, (kept, vague) in groups.items()
        ),
        test=_same(label, [groups[model][0] for model in large]) if len(large) > 1 else None,
    )


def _precise(items: Sequence[Coefficient]) -> list[Coefficient]:
    """Coefficients that are known about as well as those of the usual machine."""
    if not items:
        return []
    usual = float(np.median([item.error for item in items]))
    return [item for item in items if item.error <= VAGUE * usual]


def _mean(items: Sequence[Coefficient], unit: str, level: float) -> Estimate:
    if len(items) == 1:
        return estimate(items[0], unit, level)
    return replace(
        plain_mean([item.value for item in items], level), unit=unit, method="mean over machines, Student's t"
    )


def _ratio(first: Estimate, second: Estimate) -> Estimate | None:
    if first.value <= 0.0 or second.value <= 0.0:
        return None
    ratio = difference.ratio(first, second)
    return None if ratio.low is None or ratio.high is None else ratio


def _same(label: str, groups: Sequence[Sequence[Coefficient]]) -> SignificanceTest:
    """Welch's test that the means of groups of machines are one."""
    values = [np.array([item.value for item in group]) for group in groups]
    return same_mean(
        [np.array([one.mean()]) for one in values],
        [np.array([[one.var(ddof=1) / len(one)]]) for one in values],
        [len(one) - 1.0 for one in values],
        f"{label}: the cost is the same on all models",
    )


def _adjusted(found: Sequence[Cost]) -> tuple[Cost, ...]:
    """Costs with their tests adjusted: those of all models together, and those of pairs."""
    over_all = [cost.test for cost in found if cost.test is not None]
    pairs = [item.test for cost in found for item in cost.models if item.test is not None]
    all_left = iter(adjusted(over_all) if over_all else ())
    pairs_left = iter(adjusted(pairs) if pairs else ())
    return tuple(
        replace(
            cost,
            test=None if cost.test is None else next(all_left),
            models=tuple(
                item if item.test is None else replace(item, test=next(pairs_left)) for item in cost.models
            ),
        )
        for cost in found
    )


def outliers(joined: Sequence[Joined], machines: Sequence[Machine], level: float) -> Sought:
    """Machines of which a cost, or what a user takes, is unlike that of the others of their model.

    Parameters
    ----------
    joined, machines : sequences of Joined and Machine
        The same machines, in the same order.
    level : float
        Confidence of the intervals. A machine is an outlier by `hypothesis.ALPHA`, for all comparisons
        together.
    """
    names = {machine.name: one for machine, one in zip(machines, joined, strict=True)}
    groups: dict[str, list[Joined]] = {}
    for one in names.values():
        groups.setdefault(one.model, []).append(one)
    found: list[tuple[Outlier, float]] = []
    for model in sorted(groups):
        if model != UNNAMED and len(groups[model]) >= MEMBERS_LEAST:
            found += _compared(model, groups[model], level)
    p: Sequence[float] = holm([probability for _, probability in found]).tolist() if found else []
    judged = [replace(item, p=adjusted_p) for (item, _), adjusted_p in zip(found, p, strict=True)]
    return Sought(
        outliers=tuple(item for item in judged if item.p < ALPHA),
        tests=len(judged),
        small=tuple(
            model for model in sorted(groups) if len(groups[model]) < MEMBERS_LEAST or model == UNNAMED
        ),
    )


def _compared(model: str, group: Sequence[Joined], level: float) -> Iterator[tuple[Outlier, float]]:
    """Every machine of a model with each of its quantities, and the probability of its distance."""
    labels = {name: text for one in group for item in one.summaries for name, text in item.labels.items()}
    for name, label in {**LABELS, **labels}.items():
        having = [(one, item) for one in group if (item := one.coefficient(name)) is not None]
        if len(having) < MEMBERS_LEAST:
            continue
        values = np.array([item.value for _, item in having])
        probabilities = outlying(values, [item.error for _, item in having])
        for (one, item), p in zip(having, probabilities.tolist(), strict=True):
            yield (
                Outlier(
                    machine=one.name,
                    model=model,
                    name=name,
                    label=label,
                    value=estimate(item, unit_of(name), level),
                    usual=float(np.median(values)),
                    p=1.0,
                ),
                p,
            )
