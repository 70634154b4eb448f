"""How many users fit by what users use of CPU and memory, where response times are not known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from thinktime.documents import format as shown
from thinktime.documents.document import Col, Cols, Document, Finding, Section, Table
from thinktime.documents.render.json import answer
from thinktime.errors import InputError
from thinktime.models.sizing import DRAWS, ENDS
from thinktime.notation import plain
from thinktime.predictions.size import record
from thinktime.predictions.size.activity import Activity
from thinktime.predictions.size.answer import RESERVE, USERS_MOST, Plan
from thinktime.predictions.size.fits import MEASURED, Fits, Seen, judged, reconciled, refuting
from thinktime.predictions.size.goals import Goal
from thinktime.predictions.size.percentiles import SHARING
from thinktime.predictions.size.section import number
from thinktime.predictions.size.words import ASIDE_WORTH, LIMITS, aside_words, because, measured_alone
from thinktime.stats.estimate import Estimate

Array = NDArray[np.float64]

UTILISATION = Goal(kind="utilisation", limit=0.8)
"""Goal where none is given: waits grow fast beyond it on a machine of few CPUs."""
INSTEAD = (
    "response times are not in the log. Record interactions: play users of that kind with `thinktime play`, "
    "or give goals such as 'utilisation < 80%' or 'memory > 95%'"
)
SEED = 3
PEOPLE_MOST = 20
"""People in the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UseRow:
    """Prediction for one number of users."""

    users: int
    utilisation: Estimate
    memory: Estimate | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeByUse:
    """Answer for one plan."""

    activity: Activity
    plan: Plan
    cpus: int
    met: tuple[Fits, ...]
    """One for each goal; the first to fail comes first."""
    rows: tuple[UseRow, ...]


def by_use(found: Activity, plan: Plan, goals: Sequence[Goal], asked: Sequence[int]) -> SizeByUse:
    """Answer of a log without interactions: users until CPUs or memory are used up to a limit.

    The mean utilisation with N users is that of the background and N times the mean use of a user who is
    present; the memory suffices as in `Memory.suffices`.

    Raises
    ------
    InputError
        A goal or a change concerns response times, or a number of users is too large.
    """
    for goal in goals:
        if goal.kind not in ("utilisation", "memory") and not goal.relative:
            raise InputError(f"--goal: that {goal.words} cannot be judged: {INSTEAD}")
    if plan != replace(
        plan, think_s=None, rest=1.0, swap_speed=None, disk_speed=1.0, scheduler=SHARING, mix=()
    ):
        raise InputError(
            f"think, rest, swap-speed, disk-speed, scheduler and class need interactions: {INSTEAD}"
        )
    if asked and max(asked) > USERS_MOST:
        raise InputError(f"--users {max(asked)}: give at most {USERS_MOST}")
    wanted = [goal for goal in goals if not goal.relative]
    if not any(goal.kind == "utilisation" for goal in wanted):
        wanted.insert(0, UTILISATION)
    cpus = plan.cpus or found.cpus
    users = np.arange(1.0, USERS_MOST + 1.0)
    busy, enough = _utilisation(found, plan, cpus, users), _enough(found, plan, users)
    met = [_met(goal, busy, enough) for goal in wanted]
    if replace(plan, cpus=None if plan.cpus == found.cpus else plan.cpus).is_as_measured:
        seen_of = {goal: _seen(goal, found) for goal in wanted if goal.kind == "utilisation"}
        met = list(reconciled(met, seen_of, partial(_most, busy, enough)))
    met.sort(key=attrgetter("order"))
    number = met[0].number
    top = max(round(1.5 * number), 2) if number < USERS_MOST else 2 * found.peak
    chosen = sorted(set(asked)) or sorted(
        {*np.unique(np.rint(np.linspace(1, top, min(top, 8))).astype(int)).tolist(), max(number, 1)}
    )
    return SizeByUse(
        activity=found,
        plan=plan,
        cpus=cpus,
        met=tuple(met),
        rows=tuple(
            UseRow(
                users=one,
                utilisation=_row(busy[:, one - 1], found, "share"),
                memory=None if enough is None else _row(enough[:, one - 1], found, "share"),
            )
            for one in chosen
            if one <= USERS_MOST
        ),
    )


def _seen(goal: Goal, found: Activity) -> tuple[Seen, ...]:
    """Numbers of users present with whom the CPUs met a goal or missed it for sure, up to the first miss."""
    result = []
    for users, value in found.seen:
        met = judged(goal, value, (goal.limit, goal.limit))
        if met is not None:
            result.append(Seen(goal=goal, users=users, value=value, met=met))
        if met is False:
            break
    return tuple(result)


def _drawn(estimate: Estimate, random: np.random.Generator) -> Array:
    from scipy.special import ndtri

    assert estimate.low is not None
    assert estimate.high is not None
    # The lower end may be cut at zero; the upper one tells the spread.
    error = (estimate.high - estimate.value) / 1.96
    drawn = estimate.value + error * random.permutation(ndtri((np.arange(DRAWS) + 0.5) / DRAWS))
    result: Array = np.maximum(drawn, 0.0)
    return result


def _utilisation(found: Activity, plan: Plan, cpus: int, users: Array) -> Array:
    """Mean utilisation of the CPUs by draw and number of users."""
    random = np.random.default_rng([SEED, cpus])
    each, background = _drawn(found.cpu, random) * plan.cpu, _drawn(found.background, random)
    busy = (background[:, None] + each[:, None] * users) / (cpus * plan.cpu_speed)
    result: Array = np.minimum(busy, 1.0)
    return result


def _enough(found: Activity, plan: Plan, users: Array) -> Array | None:
    if found.memory is None:
        return None
    there = plan.memory_bytes or found.memory.total_bytes
    return found.memory.times(plan.memory).suffices(there * (1.0 - RESERVE), users, DRAWS)


def _most(busy: Array, enough: Array | None, goal: Goal) -> NDArray[np.int64]:
    """Most users with whom a goal is met, by draw."""
    meets = busy <= goal.limit if enough is None or goal.kind == "utilisation" else enough >= goal.limit
    fails = ~meets
    result: NDArray[np.int64] = np.where(fails.any(axis=1), fails.argmax(axis=1), USERS_MOST)
    return result


def _met(goal: Goal, busy: Array, enough: Array | None) -> Fits:
    if goal.kind == "memory" and enough is None:
        return Fits(goal=goal, users=None, at_least=0, limit="unmeasured")
    low, middle, high = np.quantile(_most(busy, enough, goal), ENDS, method="inverted_cdf")
    if middle >= USERS_MOST:
        return Fits(goal=goal, users=None, at_least=USERS_MOST, limit="users")
    users = Estimate(
        value=float(middle),
        unit="user",
        low=float(low),
        high=None if high >= USERS_MOST else float(high),
        n=DRAWS,
        method="largest number that meets the goal, over draws",
    )
    limit = "cpu" if goal.kind == "utilisation" else "memory"
    return Fits(goal=goal, users=users, at_least=int(low), limit=limit)


def _row(values: Array, found: Activity, unit: str) -> Estimate:
    low, middle, high = np.quantile(values, ENDS)
    return Estimate(
        value=float(middle),
        unit=unit,
        low=float(low),
        high=float(high),
        n=len(found.people),
        method="predicted",
    )


WORDS = {
    "cpu": "the CPUs",
    "memory": "memory",
    "users": f"nothing up to {USERS_MOST} users",
    "unmeasured": "not measured",
    MEASURED: LIMITS[MEASURED],
}


def section(size: SizeByUse, variants: Sequence[tuple[str, SizeByUse]] = ()) -> Section:
    """Section of an answer, with those of other plans by their names."""
    found = size.activity
    memory = found.memory is not None
    return Section(
        name="size",
        title="How many users fit?",
        summary=tuple(_sentences(size)),
        tables=(
            Table.of(
                size.met,
                Col("goal", lambda one: one.goal.words),
                Col("users", _cell),
                Col("limit", lambda one: WORDS[one.limit]),
                name="size-limits",
                caption="Users that meet each goal",
            ),
            *((_plans(variants),) if variants else ()),
            Table.of(
                size.rows,
                Col("users", lambda one: one.users),
                Col("CPUs busy", lambda one: one.utilisation, unit="share"),
                Cols(
                    ["memory suffices"] if memory else [],
                    lambda one: [one.memory] if memory else [],
                    unit="share",
                ),
                name="size-users",
                caption="Predicted by number of users who are present",
            ),
            Table.of(
                found.people[:PEOPLE_MOST],
                Col("user", lambda one: one.name),
                Col("present", lambda one: one.present_s, unit="s"),
                Col("active", lambda one: _share(one.active_s, one.present_s), unit="share"),
                Col("CPU time", lambda one: one.cpu_s, unit="s"),
                Col("transferred", lambda one: one.transferred_bytes, unit="byte"),
                name="size-people",
                caption="Users by CPU time",
                folded=True,
            ),
        ),
        caveats=tuple(_caveats(size)),
        method=(
            "CPU time per second of a user who is present, times the number of users, with the load that is "
            "nobody's; its interval is by the larger of the variations between users and over time. Memory: "
            "the sum over users of the distribution seen. Nothing is predicted of response times."
        ),
    )


def _cell(one: Fits) -> Estimate | str:
    """Cell of the users who meet a goal."""
    return number(one) if one.users is not None or one.limit == MEASURED else "not limited"


def _plans(variants: Sequence[tuple[str, SizeByUse]]) -> Table:
    return Table.of(
        variants,
        Col("plan", lambda item: item[0]),
        Col("users that fit", lambda item: _cell(item[1].met[0])),
        Col("limit", lambda item: WORDS[item[1].met[0].limit]),
        name="size-plans",
        caption="What would a change bring?",
    )


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole > 0.0 else None


def _sentences(size: SizeByUse) -> Iterator[str]:
    found, best = size.activity, size.met[0]
    machine = shown.count(size.cpus, "CPU")
    against = refuting(size.met)
    if against is not None:
        yield from measured_alone(best, against, machine)
    elif best.users is None:
        yield f"All {USERS_MOST} users that were looked at fit on {machine}: no goal that was judged fails."
    else:
        number, low, high = best.users.value, best.users.low, best.users.high
        ends = f" ({low:.0f} to {high:.0f})" if low is not None and high is not None else ""
        yield (
            f"{number:.0f} users fit{ends} on {machine}: {because(best)}. Beyond that, {WORDS[best.limit]} "
            f"{'run' if best.limit == 'cpu' else 'runs'} short."
        )
    yield (
        f"A user who is present uses {shown.estimate(found.cpu)} of CPU time, and is active for "
        f"{100 * found.active.value:.0f} % of the time; "
        f"{shown.number(found.background.value)} CPUs are used by nobody who logs in."
    )
    if found.busiest > 1.0:
        yield (
            f"In the busiest tenth of the time a user uses {found.busiest:.1f} times as much as on average: "
            f"for these times, --demand cpu*{found.busiest:.1f} gives the number."
        )
    for other in size.met[1:]:
        if other.users is not None:
            yield f"Up to {other.users.value:.0f} users, {other.goal.words}."


FULL_WORTH = 0.05
"""Share of the time with full CPUs from which it is said."""


def _caveats(size: SizeByUse) -> Iterator[str]:
    found = size.activity
    if refuting(size.met) is not None:
        yield (
            "The model does not describe this log: users use more or less by how many there are. What it "
            "says of other numbers, machines and work may be as far off."
        )
    yield f"The log has no interactions: {INSTEAD}."
    if found.full >= FULL_WORTH:
        yield (
            f"The CPUs were full for {shown.quantity(found.full, 'share')} of the time: what was used then "
            "is what they gave, not what was asked for. With more CPUs, or less other work, users may use "
            "more than predicted here, so that fewer fit: record while CPUs are left."
        )
    if found.aside >= ASIDE_WORTH:
        yield aside_words(found.aside)
    if not found.idle_seen:
        yield (
            "Users who were logged in and idle are not in the log: a user counts as present from the first "
            "to the last time of activity."
        )
    if len(found.people) < 5:
        yield f"The log has {shown.count(len(found.people), 'user')}: others may use more or less."
    if found.memory is None:
        yield "Memory was not recorded by user: the number that fits says nothing about it."
    elif not found.memory.shared_once:
        yield "Memory that users share is counted for each: fewer bytes are needed."


def document(size: SizeByUse, variants: Sequence[tuple[str, SizeByUse]] = ()) -> Document:
    """Page of an answer."""
    answer = section(size, variants)
    return Document(
        title=answer.title,
        subtitle=f"{shown.count(size.cpus, 'CPU')}; from {size.activity.name}.",
        findings=tuple(Finding(text, section=answer.name) for text in answer.summary),
        highlights=(),
        sections=(answer,),
        facts=(
            ("Users", str(len(size.activity.people))),
            ("Time", shown.duration(size.activity.seconds)),
        ),
        facts_title="What was measured?",
        origin="Made by thinktime: the same log and options give the same page.",
    )


def as_json(size: SizeByUse, variants: Sequence[tuple[str, SizeByUse]] = ()) -> str:
    """Answer and predictions for programs, with the names that a log with interactions gives."""
    rows = []
    for one in size.rows:
        rows.append(record.row(one.users, record.UTILISATION, one.utilisation, "predicted", resource="cpu"))
        if one.memory is not None:
            rows.append(record.row(one.users, "memory_suffices", one.memory, "predicted"))
    plans = [{"plan": plain(name)} | _answer(one) for name, one in variants]
    refuted = record.refuted(size.met)
    return answer("size", {"answer": _answer(size), "plans": plans, "predictions": rows, "refuted": refuted})


def _answer(size: SizeByUse) -> dict[str, object]:
    best, users = size.met[0], size.met[0].users
    measured = best.limit == MEASURED
    return {
        "users": None if users is None else round(users.value),
        "low": (best.at_least if measured else None)
        if users is None or users.low is None
        else round(users.low),
        "high": best.at_most if users is None or users.high is None else round(users.high),
        "limit": best.limit,
        "goal": plain(best.goal.words),
    }
