"""Effect of a change that was switched on and off within one log (Bard 1971, free-fret experiment)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from thinktime.analyses.compare.design import Plan, TreatmentColumn, chosen_blocks, labels
from thinktime.analyses.compare.effects import Experiment, adjusted_means, cost_rows, effect
from thinktime.analyses.compare.randomisation_sets import Statement, statements
from thinktime.analyses.compare.result import Comparison, CostChange, Effect, Randomisation
from thinktime.analyses.compare.treatments import Assigned, by_treatment
from thinktime.analyses.compare.unit_means import autocorrelation
from thinktime.analyses.compare.variables import Question, Variables, questions, variables
from thinktime.analyses.overhead.analysis import BASE, N_LEAST, ROWS_PER_REQUEST
from thinktime.analyses.overhead.design import Design, Target, build
from thinktime.analyses.overhead.regression import FitOptions, fit
from thinktime.log import facts, observations
from thinktime.log.observations import Observations, Quantity
from thinktime.questions.checks import check_level, check_log
from thinktime.stats.difference import difference as estimated_difference
from thinktime.stats.estimate import Caveat, Estimate, NotApplicable
from thinktime.stats.hypothesis import ALPHA
from thinktime.stats.randomisation.power import permutation_power

if TYPE_CHECKING:
    from thinktime.log import Log

UNITS_LEAST = 2
"""Units of each treatment: with one, the treatment cannot be separated from that unit."""
SHORT_UNIT = 0.5
"""A unit with less than this share of the median's time is short."""
TREND_LEAST = 0.5
"""Share of the assignment explained by a line over time, from which a trend can look like an effect."""
TESTS_MANY = 3
"""Comparisons from which on a caveat says that there are several tests."""


def analyse(
    log: Log,
    design: Plan | TreatmentColumn,
    *,
    quantities: Sequence[str] | None = None,
    load: str | None = None,
    requests: Sequence[str] | None = None,
    difference: float | Mapping[str, float] | None = None,
    level: float = 0.95,
    seed: int = 1,
) -> Comparison | NotApplicable:
    r"""Effects of two treatments that were assigned to units of time.

    The unit of analysis is the unit of assignment, a day say, and not the observation of five minutes:
    observations of one day follow one another and share its users, so that a hundred of them hold hardly
    more information on chance than a few. For every quantity the units' means are compared,

    .. math:: y_u = \mu + \sum_f \beta_{f(u)} + \tau z_u + e_u

    with the effects of blocks :math:`\beta` (weeks, weekdays) removed. Chance is judged by the assignments
    that were possible (`stats.randomisation.permutation`): the probability that one of them shows as much
    is exact, and needs no assumption about the e. Student's test and interval, which take the e as normal
    and independent, are given for comparison.

    Work at equal load is compared by removing from each unit's mean the effect of its load, by the slopes
    within units (`compare.effects.adjusted_means`); overhead at equal work likewise by requests and user
    time.

    Parameters
    ----------
    log : Log
    design : Plan or TreatmentColumn
        Treatments of the units.
    quantities : sequence of str, optional
        ``user_time``, ``system_time``, ``idle_time``, kinds of request and columns to compare; by default
        all times, requests and the load.
    load : str, optional
        Column for comparisons at equal load; by default the first with the role load that varies.
    requests : sequence of str, optional
        Requests that cost system time, for comparisons at equal work and for costs; by default every kind
        of request and user time.
    difference : float or mapping, optional
        True difference whose power is reported: a share of the control's mean, or by quantity in its own
        unit. By default the observed one.
    level : float
        Confidence of the intervals.
    seed : int
        Of assignments that are drawn where they cannot be listed, and of the simulated power.

    Raises
    ------
    InputError
        A column does not exist, or the plan names a time that is not in the log.
    """
    check_log(log)
    check_level(level)
    chosen = variables(log, quantities, load, requests)
    if isinstance(chosen, NotApplicable):
        return chosen
    assigned = by_treatment(log, chosen.columns, design)
    if isinstance(assigned, NotApplicable):
        return assigned
    treated = np.array([item.treatment == assigned.treated for item in assigned.units])
    least = min(int(treated.sum()), int((~treated).sum()))
    if least < UNITS_LEAST:
        return NotApplicable(
            f"one of the treatments has only {least} {assigned.noun}: the treatment cannot be separated from "
            "everything else that was different then",
            "switch several times over several days; or use shorter units (--unit 6h), or compare two logs",
        )
    blocks = _blocks(assigned)
    randomisation = design.randomisation or _tightest(blocks)
    every = statements(treated.tolist(), blocks, randomisation, noun=assigned.noun, seed=seed)
    made = next(item for item in every if item.allowed.chosen)
    if made.design is None:
        return NotApplicable(
            f"the treatment is confounded with {' and '.join(blocks)}, or they cross in too many ways",
            "remove fewer blocks (--block)",
        )
    experiment = Experiment(
        treated=treated,
        design=made.design,
        others=tuple(item.design for item in every),
        power=permutation_power(made.design, seed=seed),
        difference=difference,
        level=level,
    )
    costs = _costs(log, chosen, assigned, experiment)
    result = _result(
        chosen, assigned, blocks=blocks, every=every, experiment=experiment, costs=costs, factor=design.name
    )
    of_users = facts.caveats_of_users(log) if chosen.load else ()
    return replace(result, caveats=(*of_users, *_caveats(result)))


def _blocks(assigned: Assigned) -> dict[str, tuple[str, ...]]:
    """Blocking factors and the block of each unit."""
    starts = [item.start_us for item in assigned.units]
    names = assigned.blocks
    if names is None:
        names = (*chosen_blocks(assigned.units, assigned.short, assigned.treated), *assigned.own)
    return {name: assigned.own[name] if name in assigned.own else labels(name, starts) for name in names}


def _tightest(blocks: Mapping[str, Sequence[str]]) -> Randomisation:
    return "complete" if not blocks else "blocks" if len(blocks) == 1 else "counterbalanced"


def _result(
    chosen: Variables,
    assigned: Assigned,
    *,
    blocks: Mapping[str, tuple[str, ...]],
    every: tuple[Statement, ...],
    experiment: Experiment,
    costs: tuple[CostChange, ...] | NotApplicable,
    factor: str,
) -> Comparison:
    cells = assigned.cells
    asked, refused = questions(chosen, cells)
    return Comparison(
        factor=factor,
        control=assigned.control,
        treated=assigned.treated,
        unit=assigned.noun,
        units=tuple(
            replace(item, blocks=tuple(values[index] for values in blocks.values()))
            for index, item in enumerate(assigned.units)
        ),
        blocks=tuple(blocks),
        randomisation=next(item.allowed.randomisation for item in every if item.allowed.chosen),
        allowed=tuple(item.allowed for item in every),
        effects=tuple(
            effect(question, adjusted_means(cells, question.target, question.covariates), experiment)
            for question in asked
        ),
        costs=() if isinstance(costs, NotApplicable) else costs,
        costs_unknown=costs.reason if isinstance(costs, NotApplicable) else "",
        autocorrelation=autocorrelation(cells),
        dropped=assigned.dropped,
        incomplete=assigned.incomplete,
        left_out=(*chosen.left_out, *refused),
        caveats=(),
    )


# Costs


def _costs(
    log: Log, chosen: Variables, assigned: Assigned, experiment: Experiment
) -> tuple[CostChange, ...] | NotApplicable:
    """Costs of the compared requests under both treatments, the base first (Bard 1971, Table 11).

    Two estimates are given: the regression on all observations of each treatment, without outliers
    (`overhead.regression.fit`), as Bard made it; and regressions on each unit by itself, whose coefficients
    are responses of the units like any others, so that their randomisation test is exact.
    """
    columns = observations.role_columns(log, "system_time")
    if not columns or not chosen.work:
        return NotApplicable("system time or requests were not measured")
    target = Target(label="system time", unit="s", columns=columns)
    by_unit = _by_unit(chosen, assigned, experiment)
    sides = _sides(log, chosen, assigned, target, experiment.level)
    if isinstance(sides, NotApplicable) and not by_unit:
        return sides
    control, treated = ({}, {}) if isinstance(sides, NotApplicable) else sides
    place = {item.name: item.quantity for item in chosen.columns}
    changes = []
    for index, name in enumerate((BASE.name, *chosen.work)):
        before, after = control.get(name), treated.get(name)
        changes.append(
            CostChange(
                request=name,
                label=(BASE if index == 0 else place[name]).label,
                control=before,
                treated=after,
                difference=None if before is None or after is None else estimated_difference(before, after),
                by_unit=by_unit[index] if by_unit else None,
            )
        )
    return tuple(changes)


def _unit(quantity: Quantity) -> str:
    """Unit of the cost of a quantity."""
    if quantity.name == BASE.name or quantity.unit == "s":
        return "s/s"
    return f"s/{quantity.unit}" if quantity.unit else "s"


def _by_unit(chosen: Variables, assigned: Assigned, experiment: Experiment) -> list[Effect]:
    """Effects on the coefficients of each unit by itself; empty where units are too short."""
    place = {item.name: index for index, item in enumerate(chosen.columns)}
    if "system_time" not in place:
        return []
    rows = cost_rows(assigned.cells, place["system_time"], [place[name] for name in chosen.work])
    if rows is None:
        return []
    effects = []
    for index, name in enumerate((BASE.name, *chosen.work)):
        quantity = BASE if index == 0 else chosen.columns[place[name]].quantity
        question = Question(name=f"cost:{name}", label=quantity.label, unit=_unit(quantity), kind="cost")
        effects.append(effect(question, rows[:, index], experiment))
    return effects


def _sides(
    log: Log, chosen: Variables, assigned: Assigned, target: Target, level: float
) -> tuple[dict[str, Estimate], dict[str, Estimate]] | NotApplicable:
    """Costs under the control and under the treatment, each from its own observations."""
    design = build(log, chosen.work, target, assigned.needs)
    if isinstance(design, NotApplicable):
        return design
    sides = []
    for treated in (False, True):
        pieces = _OneTreatment(design=design, assigned=assigned, treated=treated)
        costs = _regressed(replace(design, pieces=pieces), level)
        if isinstance(costs, NotApplicable):
            return costs
        sides.append(costs)
    return sides[0], sides[1]


def _regressed(design: Design, level: float) -> dict[str, Estimate] | NotApplicable:
    """Costs by name of request, with the base, with intervals that hold under autocorrelation."""
    rows = N_LEAST + ROWS_PER_REQUEST * len(design.terms)
    regression = fit(design, FitOptions(level=level), select=False, rows_least=rows)
    if isinstance(regression, NotApplicable):
        return regression
    estimates = {}
    for index, column in enumerate(regression.keep):
        quantity = BASE if column == 0 else design.terms[column - 1]
        estimates[quantity.name] = regression.cost(index, _unit(quantity))
    return estimates


@dataclass(frozen=True, slots=True, kw_only=True)
class _OneTreatment:
    """Passes over the observations of one treatment."""

    design: Design
    assigned: Assigned
    treated: bool

    def __call__(self, names: Sequence[str]) -> Iterator[Observations]:
        wanted = sorted(key for key, treated in self.assigned.codes.items() if treated is self.treated)
        place = self.assigned.placing()
        for piece in self.design.pieces([*names, *self.assigned.needs]):
            yield _taken(piece, np.flatnonzero(_among(wanted, *place(piece))))


def _among(
    wanted: Sequence[tuple[int, float]], units: NDArray[np.int64], treatments: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """True for rows whose unit and treatment are `wanted`, which is ascending and has each unit once."""
    numbers, given = (np.array(values) for values in zip(*wanted, strict=True))
    at = np.minimum(np.searchsorted(numbers, units), len(numbers) - 1)
    among: NDArray[np.bool_] = (numbers[at] == units) & (given[at] == treatments)
    return among


def _taken(piece: Observations, rows: NDArray[np.int64]) -> Observations:
    """Some observations of a piece; one that does not follow directly begins a segment."""
    broken = np.diff(rows, prepend=rows[:1]) > 1
    return replace(
        piece,
        start_us=piece.start_us[rows],
        length_s=piece.length_s[rows],
        segments=piece.segments[rows] + np.cumsum(broken),
        columns={name: values[rows] for name, values in piece.columns.items()},
    )


# Caveats


def _caveats(result: Comparison) -> Iterator[Caveat]:
    """Reservations about the effects, most serious first."""
    made = next(item for item in result.allowed if item.chosen)
    if made.smallest_p is not None and made.smallest_p > ALPHA:
        yield Caveat("few_assignments", assignments=made.assignments, smallest_p=made.smallest_p)
    times = np.array([unit.start_us for unit in result.units], dtype=np.float64)
    treated = np.array([unit.treatment == result.treated for unit in result.units], dtype=np.float64)
    explained = float(np.corrcoef(times, treated)[0, 1]) ** 2
    if explained >= TREND_LEAST:
        yield Caveat("trend", share=explained)
    yield Caveat("drawn_by_lot", assignments=made.assignments)
    if any(item.adjusted for item in result.effects):
        loads = [item for item in result.effects if item.kind == "load" and item.test.p <= ALPHA]
        yield Caveat("load_not_assigned", changed=loads[0].label if loads else "")
    if len(result.effects) >= TESTS_MANY:
        yield Caveat("many_tests", tests=len(result.effects))
    lengths = [unit.length_s for unit in result.units]
    median = float(np.median(lengths))
    if short := [unit.label for unit in result.units if unit.length_s < SHORT_UNIT * median]:
        yield Caveat("short_units", labels=short, unit=result.unit)
    if result.dropped or result.incomplete:
        yield Caveat(
            "observations_left_out", dropped=result.dropped, incomplete=result.incomplete, unit=result.unit
        )
    yield Caveat("carried_over", unit=result.unit)
