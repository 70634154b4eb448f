"""Whether a change helped: a designed experiment with two treatments (Bard 1971, free-fret experiment)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from thinktime.analyses.compare.caveats import caveats
from thinktime.analyses.compare.contrasts import questions
from thinktime.analyses.compare.costs import CostAsked, costs
from thinktime.analyses.compare.design import BLOCKS, Plan, chosen_blocks, labels
from thinktime.analyses.compare.effects import Bench, adjusted_means, effect
from thinktime.analyses.compare.randomisation_sets import Statement, statements
from thinktime.analyses.compare.result import Comparison, Effect, Randomisation, Unit
from thinktime.analyses.compare.treatments import Assigned, by_treatment
from thinktime.analyses.compare.variables import Wanted, wanted
from thinktime.errors import InputError
from thinktime.stats.estimate import NotApplicable
from thinktime.stats.randomisation.power import permutation_power

if TYPE_CHECKING:
    from thinktime.log import Log

__all__ = ["Comparison", "Effect", "Plan", "Unit", "analyse"]

UNITS_LEAST = 2


def analyse(
    log: Log,
    *,
    treatment: str | None = None,
    plan: Plan | None = None,
    unit: str = "day",
    blocks: Sequence[str] | None = None,
    randomisation: Randomisation | None = None,
    control: str | None = None,
    quantities: Sequence[str] | None = None,
    load: str | None = None,
    requests: Sequence[str] | None = None,
    difference: float | Mapping[str, float] | None = None,
    level: float = 0.95,
    seed: int = 1,
) -> Comparison | NotApplicable:
    r"""Compare two treatments that were assigned to units of time.

    The unit of analysis is what was assigned, a day say, and not the observation of five minutes:
    observations of one day follow one another and share its users, so that a hundred of them tell hardly
    more of chance than a few. For every quantity the units' means are compared,

    .. math:: y_u = \mu + \sum_f \beta_{f(u)} + \tau z_u + e_u

    with the effects of blocks :math:`\beta` (weeks, weekdays) taken out. Chance is judged by the
    assignments that were possible (`stats.permutation`): the probability that one of them shows as much is
    exact, and needs no assumption about the e. Student's test and interval, which take the e to be
    normal and independent, stand beside it.

    Work at equal load is compared by taking out of each unit's mean what its load differs from the others',
    by the slopes within units (`compare_effects.adjusted_means`); overhead at equal work likewise by
    requests and user time.

    Parameters
    ----------
    log : Log
    treatment : str, optional
        Column of the samples that says which treatment was in force.
    plan : Plan, optional
        Or the plan that says it.
    unit : str
        Units of a treatment column: ``day`` (UTC), ``run`` (a stretch of one treatment), or a length such
        as ``6h``. A plan names its own.
    blocks, randomisation, control
        See `Plan`, whose values they replace.
    quantities : sequence of str, optional
        ``user_time``, ``system_time``, ``idle_time``, kinds of request and columns to compare; by default
        all times, requests and the load.
    load : str, optional
        Column for comparisons at equal load; by default the first with the role load that varies.
    requests : sequence of str, optional
        What costs system time, for comparisons at equal work and for costs; by default every kind of request
        and user time.
    difference : float or mapping, optional
        True difference whose chance to be found is stated: a part of the control's mean, or by
        quantity in its own unit. By default the one that was seen.
    level : float
        Confidence of the intervals.
    seed : int
        Of assignments that are drawn where they cannot be listed, and of the simulated power.

    Raises
    ------
    InputError
        A column does not exist, the plan names a time that is not in the log, or both or neither of
        `treatment` and `plan` are given.
    """
    asked = wanted(log, quantities, load, requests)
    if isinstance(asked, NotApplicable):
        return asked
    assigned = by_treatment(log, asked.columns, treatment, plan, unit, control)
    if isinstance(assigned, NotApplicable):
        return assigned
    treated = np.array([item.treatment == assigned.treated for item in assigned.units])
    least = min(int(treated.sum()), int((~treated).sum()))
    if least < UNITS_LEAST:
        return NotApplicable(
            f"one of the treatments has {least} {assigned.noun} only: nothing tells the treatment from "
            "what else was different then",
            "change to and fro over several days; or cut the time finer (--unit 6h), or compare two logs",
        )
    known = _blocks(assigned, blocks)
    chosen = randomisation or (plan.randomisation if plan else None) or _tightest(known)
    every = statements(treated.tolist(), known, chosen, noun=assigned.noun, seed=seed)
    made = next(item for item in every if item.allowed.chosen)
    if made.design is None:
        return NotApplicable(
            f"the treatment cannot be told from {' and '.join(known)}, or they cross in too many ways",
            "take fewer blocks out (--block)",
        )
    bench = Bench(
        treated,
        made.design,
        tuple(item.design for item in every),
        permutation_power(made.design, seed=seed),
        difference,
        level,
    )
    return _result(log, asked, assigned, known, every, bench, treatment or (plan.name if plan else ""))


def _blocks(assigned: Assigned, asked: Sequence[str] | None) -> dict[str, tuple[str, ...]]:
    """Blocking factors and the block of each unit."""
    starts = [item.start_us for item in assigned.units]
    names = asked if asked is not None else assigned.blocks
    if names is None:
        names = (*chosen_blocks(assigned.units, assigned.short, assigned.treated), *assigned.own)
    found = {}
    for name in names:
        if name not in BLOCKS and name not in assigned.own:
            raise InputError(
                f"--block {name}: there is no such factor; there are {', '.join((*BLOCKS, *assigned.own))}"
            )
        found[name] = assigned.own[name] if name in assigned.own else labels(name, starts)
    return found


def _tightest(blocks: Mapping[str, Sequence[str]]) -> Randomisation:
    return "complete" if not blocks else "blocks" if len(blocks) == 1 else "counterbalanced"


def _result(
    log: Log,
    asked: Wanted,
    assigned: Assigned,
    blocks: Mapping[str, tuple[str, ...]],
    every: tuple[Statement, ...],
    bench: Bench,
    factor: str,
) -> Comparison:
    cells = assigned.cells
    every_question, refused = questions(asked, cells)
    effects = tuple(
        effect(question, adjusted_means(cells, question.target, question.covariates), bench)
        for question in every_question
    )
    found = costs(log, CostAsked(asked, assigned, bench))
    follows = sum(float(cell.follows[0]) for cell in cells)
    squares = sum(float(cell.squares[0]) for cell in cells)
    result = Comparison(
        factor=factor,
        control=assigned.control,
        treated=assigned.treated,
        unit=assigned.noun,
        units=tuple(
            replace(item, blocks=tuple(values[at] for values in blocks.values()))
            for at, item in enumerate(assigned.units)
        ),
        blocks=tuple(blocks),
        randomisation=next(item.allowed.randomisation for item in every if item.allowed.chosen),
        allowed=tuple(item.allowed for item in every),
        effects=effects,
        costs=() if isinstance(found, str) else found,
        costs_unknown=found if isinstance(found, str) else "",
        autocorrelation=follows / squares if squares > 0.0 else None,
        dropped=assigned.dropped,
        incomplete=assigned.incomplete,
        left_out=(*asked.left_out, *refused),
        caveats=(),
    )
    return replace(result, caveats=caveats(result))
