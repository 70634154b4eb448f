"""Costs of requests by regression: named, selected, counted together, with intervals joined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from scipy.signal import lfilter

from interval_coverage.registry import Hits, holds, kind
from thinktime.analyses.overhead import claims
from thinktime.analyses.overhead.analysis import costs_of
from thinktime.analyses.overhead.design import Design, Target
from thinktime.analyses.overhead.regression import FitOptions, Regression, fit
from thinktime.log.observations import Observations, Quantity
from thinktime.stats.estimate import NotApplicable

RATES = np.array([100.0, 20_000.0, 6_000.0])
COSTS = np.array([400e-6, 4e-6, 3e-6])
"""Of a fork, a page fault and a context switch [s]."""
BASE, NOISE = 0.02, 0.01
NULLS = 6
"""Candidates of no cost."""


def series(random: np.random.Generator, n: int, columns: int, rho: float) -> np.ndarray:
    """AR(1) with mean zero and variance one, a column a series."""
    noise = random.normal(size=(n + 300, columns)) * np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise, axis=0)[300:]


def design_of(rates: np.ndarray, y: np.ndarray) -> Design:
    """Regression of y on rates, all per second."""
    names = [f"kind{number}" for number in range(rates.shape[1])]
    columns = {name: rates[:, place] for place, name in enumerate(names)} | {"busy": y}

    def pieces(needed: Sequence[str]) -> Iterator[Observations]:
        yield Observations(
            start_us=np.arange(len(y)) * 1_000_000,
            length_s=np.ones(len(y)),
            segments=np.zeros(len(y), dtype=np.int64),
            columns={name: columns[name] for name in needed},
            dropped=0,
        )

    terms = tuple(Quantity(name=name, label=name, unit="", columns=(name,)) for name in names)
    return Design(pieces=pieces, target=Target(label="busy", unit="s", columns=("busy",)), terms=terms)


def made(rates: np.ndarray, y: np.ndarray, *, select: bool) -> Regression:
    """The regression of a log."""
    regression = fit(design_of(rates, y), FitOptions(), select=select)
    assert not isinstance(regression, NotApplicable)
    return regression


def named(n: int, rates_rho: float, errors_rho: float, growing: bool, seed: int) -> Hits:
    """Base and three costs that were asked for; errors that grow with a rate, or of one size."""
    random = np.random.default_rng(seed)
    rates = RATES * np.exp(0.5 * series(random, n, 3, rates_rho))
    errors = NOISE * series(random, n, 1, errors_rho)[:, 0]
    y = BASE + rates @ COSTS + (errors * rates[:, 0] / RATES[0] if growing else errors)
    regression = made(rates, y, select=False)
    held = np.abs(regression.coefficients - [BASE, *COSTS]) <= regression.robust_reach()
    return dict(zip(("base", "fork", "page fault", "context switch"), held.tolist(), strict=True))


def selected(n: int, rates_rho: float, errors_rho: float, noise: float, seed: int) -> Hits:
    """Three costs and six candidates of none: what enters, and the intervals of what has entered."""
    random = np.random.default_rng(seed)
    rates = np.append(RATES, np.full(NULLS, 50.0)) * np.exp(0.5 * series(random, n, 3 + NULLS, rates_rho))
    y = BASE + rates[:, :3] @ COSTS + noise * series(random, n, 1, errors_rho)[:, 0]
    regression = made(rates, y, select=True)
    assert regression.choice is not None
    truth = [BASE, *COSTS, *np.zeros(NULLS)]
    entered = [column for entry in regression.choice.entries for column in entry.columns]
    hits: dict[str, bool | None] = {"no false cost": not any(column > 3 for column in entered)}
    for column, name in enumerate(("base", "fork", "page fault", "context switch")):
        hits[name] = _holds(
            regression.keep, regression.coefficients, regression.robust_reach(), column, truth
        )
        if name == "base" and not all(item.competes for item in regression.choice.rejected):
            hits[name] = (
                None  # it contains the cost of what was not selected, and is printed without interval
            )
        every = regression.everything
        if every is not None:
            hits[f"{name}, among all"] = _holds(every.keep, every.coefficients, every.reach, column, truth)
    return hits


def _holds(
    keep: Sequence[int], values: np.ndarray, reach: np.ndarray, column: int, truth: Sequence[float]
) -> bool | None:
    if column not in keep:
        return None
    place = list(keep).index(column)
    return bool(abs(values[place] - truth[column]) <= reach[place])


def stated(n: int, rates_rho: float, errors_rho: float, noise: float, seed: int) -> Hits:
    """The same: costs that a summary may state, one by one, and whether one of them is false."""
    random = np.random.default_rng(seed)
    rates = np.append(RATES, np.full(NULLS, 50.0)) * np.exp(0.5 * series(random, n, 3 + NULLS, rates_rho))
    y = BASE + rates[:, :3] @ COSTS + noise * series(random, n, 1, errors_rho)[:, 0]
    regression = made(rates, y, select=True)
    costs = claims.judged(costs_of(regression, regression.means[-1], {}), "as recorded")
    truth = dict(zip((f"kind{place}" for place in range(3)), COSTS, strict=True))
    found = {cost.request: cost.seconds for cost in costs[1:] if cost.claimed}
    hits: dict[str, bool | str | None] = {
        name: holds(found[request], truth[request]) if request in found else None
        for name, request in (("fork", "kind0"), ("page fault", "kind1"), ("context switch", "kind2"))
    }
    return hits | {"no false cost": not set(found) - set(truth)}


def few(n: int, burst: int, others: bool, errors_rho: float, seed: int) -> Hits:
    """Cost of a request that came in successive intervals and never else, alone or beside three others."""
    random = np.random.default_rng(seed)
    rare = np.zeros(n)
    first = int(random.integers(0, n - burst))
    rare[first : first + burst] = 50.0 * np.exp(0.3 * random.normal(size=burst))
    rates, costs = rare[:, None], COSTS[:1]
    if others:
        rates = np.column_stack([RATES * np.exp(0.5 * series(random, n, 3, 0.5)), rates])
        costs = np.append(COSTS, costs)
    y = BASE + rates @ costs + NOISE * series(random, n, 1, errors_rho)[:, 0]
    regression = made(rates, y, select=False)
    found = regression.cost(len(costs), "s")
    # What would be printed without the rule, to show where it is needed.
    off = abs(found.value - costs[-1])
    return {
        "rare request": holds(found, costs[-1]),
        "the same, if every cost had an interval": bool(off <= regression.robust_reach()[-1]),
    }


def together(n: int, errors_rho: float, seed: int) -> Hits:
    """Forks and execs that move together (correlation 0.999), of different cost, and two other kinds."""
    random = np.random.default_rng(seed)
    rates = RATES * np.exp(0.5 * series(random, n, 3, 0.7))
    execs = 0.25 * rates[:, 0] * np.exp(0.02 * random.normal(size=n))
    rates, costs = np.column_stack([rates, execs]), [*COSTS, 2 * COSTS[0]]
    y = BASE + rates @ costs + NOISE * series(random, n, 1, errors_rho)[:, 0]
    regression = made(rates, y, select=True)
    assert regression.choice is not None
    groups = {frozenset(entry.columns): place for place, entry in enumerate(regression.choice.entries, 1)}
    pair = groups.get(frozenset({1, 4}))
    truth = (costs[0] + 0.25 * costs[3]) / 1.25
    return {
        "one row": pair is not None,
        "cost of either": None
        if pair is None
        else bool(abs(regression.coefficients[pair] - truth) <= regression.robust_reach()[pair]),
        "base": bool(abs(regression.coefficients[0] - BASE) <= regression.robust_reach()[0]),
    }


def joined(n: int, rates_rho: float, errors_rho: float, seed: int) -> Hits:
    """Nothing was left out: no cost is said to change with the length of the interval."""
    random = np.random.default_rng(seed)
    rates = RATES * np.exp(0.5 * series(random, n, 3, rates_rho))
    y = BASE + rates @ COSTS + NOISE * series(random, n, 1, errors_rho)[:, 0]
    tests = made(rates, y, select=False).length_tests
    return {"no false alarm": not any(test.rejected() for test in tests)}


for n, rates_rho, errors_rho, growing in (
    (200, 0.0, 0.0, False),
    (200, 0.5, 0.5, False),
    (200, 0.5, 0.9, False),
    (200, 0.9, 0.9, False),
    (1000, 0.9, 0.9, False),
    (200, 0.7, 0.7, True),
    (200, 0.97, 0.97, False),
):
    how = ", growing" if growing else ""
    kind(
        name=f"requests-named-{n}-{rates_rho:g}-{errors_rho:g}{'-growing' if growing else ''}",
        interval="Costs of requests that were named",
        data=f"{n} intervals, rates AR {rates_rho:g}, errors AR {errors_rho:g}{how}",
        note="errors last too long: caveat with their correlation" if errors_rho > 0.9 else "",
    )(partial(named, n, rates_rho, errors_rho, growing))

for n in (200, 1000):
    for rates_rho in (0.0, 0.7, 0.9):
        for errors_rho in (0.0, 0.5, 0.7, 0.9):
            kind(
                name=f"requests-selected-{n}-{rates_rho:g}-{errors_rho:g}",
                interval="Costs of requests that were selected among three of a cost and six of none",
                data=f"{n} intervals, rates AR {rates_rho:g}, errors AR {errors_rho:g}",
                trials=400 if n == 200 else 100,
                most=1.0,
            )(partial(selected, n, rates_rho, errors_rho, NOISE))

for noise in (0.03, 0.06):
    kind(
        name=f"requests-weak-{noise:g}",
        interval="Costs of requests that were selected among three of a cost and six of none",
        data=f"200 intervals, rates AR 0.7, errors AR 0.5, {noise / NOISE:g} times as large: weak costs",
        most=1.0,
    )(partial(selected, 200, 0.7, 0.5, noise))

for n, rates_rho, errors_rho, noise in (
    (200, 0.7, 0.5, 0.01),
    (200, 0.7, 0.5, 0.03),
    (200, 0.7, 0.5, 0.06),
    (200, 0.9, 0.9, 0.03),
    (60, 0.5, 0.5, 0.02),
):
    kind(
        name=f"requests-stated-{n}-{rates_rho:g}-{errors_rho:g}-{noise:g}",
        interval="Costs that a summary states",
        data=f"{n} intervals, rates AR {rates_rho:g}, errors AR {errors_rho:g} of {1e3 * noise:g} ms/s",
        least=0.93,
        most=1.0,
    )(partial(stated, n, rates_rho, errors_rho, noise))

for n, burst, others, errors_rho in (
    (80, 2, False, 0.0),
    (80, 3, False, 0.0),
    (80, 5, False, 0.0),
    (80, 8, False, 0.5),
    (200, 6, True, 0.0),
    (200, 12, True, 0.5),
):
    beside = "beside three others" if others else "alone"
    kind(
        name=f"requests-few-{n}-{burst}-{beside.split()[0]}-{errors_rho:g}",
        interval="Costs that few intervals determine",
        data=f"{n} intervals, a request in {burst} successive ones, {beside}, errors AR {errors_rho:g}",
        most=1.0,
        note="no interval is printed in most samples, and the report states that few determine the cost"
        if burst < 5
        else "",
    )(partial(few, n, burst, others, errors_rho))

for n, errors_rho in ((60, 0.0), (200, 0.0), (200, 0.7), (200, 0.9)):
    kind(
        name=f"requests-together-{n}-{errors_rho:g}",
        interval="Forks and execs that come together",
        data=f"{n} intervals, errors AR {errors_rho:g}",
        most=1.0,
    )(partial(together, n, errors_rho))

for n, rates_rho, errors_rho in ((200, 0.0, 0.0), (200, 0.7, 0.5), (200, 0.9, 0.9), (1000, 0.7, 0.5)):
    kind(
        name=f"requests-joined-{n}-{rates_rho:g}-{errors_rho:g}",
        interval="Costs at several lengths of the interval",
        data=f"{n} intervals, rates AR {rates_rho:g}, errors AR {errors_rho:g}",
        least=0.95,
        most=1.0,
    )(partial(joined, n, rates_rho, errors_rho))
