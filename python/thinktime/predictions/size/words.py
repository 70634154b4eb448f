"""The answer in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

from thinktime.documents import format as shown
from thinktime.documents.wording import listed
from thinktime.predictions.size import background, cliff, disks, rules
from thinktime.predictions.size.answer import Reached, Row, Unknown, longer
from thinktime.predictions.size.fits import MEASURED, Fits, Otherwise, between
from thinktime.predictions.size.measured import Measured

LIMITS = {
    "cpu": "the CPUs",
    "rest": "what serves one interaction at a time (a disk, a lock)",
    "memory": "memory",
    "users": "nothing within the numbers of users looked at",
    "unmeasured": "nothing that was measured",
    MEASURED: "not known: the model does not describe the log",
}


HALF_WIDTH = 0.15
"""Interval that an answer should have, as a share of the response time."""
ASIDE_WORTH = 0.05
"""CPUs of work at low priority from which it is mentioned."""


def aside_words(cpus: float) -> str:
    """Sentence on work that gives way to users."""
    return (
        f"Work at low priority used {shown.number(cpus)} CPUs. It gives way to users and is not counted as "
        "background; it still takes up to a tenth of a CPU from whoever shares one with it."
    )


def sentences(found: Reached) -> Iterator[str]:
    """Answer for a plan: users who fit, what comes beyond, and what others would say."""
    yield from _answer(found)
    yield from cliff.words(found.full, found.most)
    others = rules.sentence(found.rules)
    if others is not None:
        yield others


def _answer(found: Reached) -> Iterator[str]:
    """Users who fit, what one more costs, the knee, and the other goals."""
    if found.is_refuted:
        assert found.refuted is not None
        yield from measured_alone(found.answer, found.refuted, shown.count(found.machine.cpus, "CPU"))
        for other in found.fits[1:]:
            yield _other(other)
        return
    best = found.answer
    machine = shown.count(found.machine.cpus, "CPU")
    if best.users is None:
        yield (
            f"At least {best.at_least} users fit on {machine}: no goal fails with as many."
            if best.limit == "users"
            else "No goal could be judged: the log does not have what they limit."
        )
    else:
        number = best.number
        yield _limited(best, machine, because(best))
        if number >= 1 and found.marginal_s is not None:
            more = shown.quantity(found.marginal_s, "s")
            yield f"At that number one more user makes the mean response {more} longer."
        if found.at is not None:
            told = disks.sentence(found.disks, number, best.limit, found.at.rest)
            if told is not None:
                yield told
    yield f"The knee is at {between(found.knee)} users: from there on, each further user mostly waits."
    for other in found.fits[1:]:
        yield _other(other)


def because(best: Fits) -> str:
    """The goal that limits, or what was measured of it, where the model alone has another number."""
    against = best.otherwise
    if against is None:
        return best.goal.words
    return f"with {against.by.users}, {against.by.verdict}. The model alone says {against.model_words}"


def _limited(best: Fits, machine: str, why: str) -> str:
    if best.users is not None and best.users.value < 1.0 and best.otherwise is None:
        return f"{_fitting(best)} on {machine}: one alone misses the goal that {why}."
    runs = "run" if best.limit == "cpu" else "runs"
    return f"{_fitting(best)} on {machine}: {why}. Beyond that, {LIMITS[best.limit]} {runs} short."


def measured_alone(best: Fits, against: Otherwise, machine: str) -> Iterator[str]:
    """Users who were measured to fit, where the model does not describe the log."""
    model = (
        f"The model says {against.model_words}, so it does not describe this log, and nothing is predicted "
        "beyond what was measured."
    )
    if best.limit != MEASURED:
        # Memory is counted, not modelled: its number stands.
        yield _limited(best, machine, best.goal.words)
        yield f"With {_users(against.by.users)}, {against.by.verdict}. {model}"
    elif against.by in (best.met, best.missed):
        yield f"{_as_measured(best, machine)} {model}"
    else:
        yield f"{_as_measured(best, machine)} With {against.by.users}, {against.by.verdict}. {model}"


def _users(number: int) -> str:
    return shown.count(number, "user")


def _as_measured(best: Fits, machine: str) -> str:
    """Number of users by what was measured alone."""
    met, missed = best.met, best.missed
    if missed is None:
        assert met is not None
        return f"At least {_users(met.users)} fit on {machine}: with {met.users}, {met.verdict}."
    fewer = f"With {_users(missed.users)} on {machine}, {missed.verdict}: fewer fit"
    return f"{fewer}." if met is None else f"{fewer}, and at least {met.users}, with whom {met.words}."


def _fitting(best: Fits) -> str:
    assert best.users is not None
    number, low, high = best.users.value, best.users.low, best.users.high
    if number < 1.0:
        return "Not one user fits"
    if low is None or high is None or low == high:
        return f"{shown.count(round(number), 'user')} fit" + ("s" if round(number) == 1 else "")
    return f"{number:.0f} users fit ({low:.0f} to {high:.0f})"


def _other(one: Fits) -> str:
    if one.limit == "unmeasured":
        return f"Whether {one.goal.words} is not known: the log does not have it."
    if one.limit == MEASURED:
        return _other_measured(one)
    if one.goal.kind == "throughput":
        what = one.goal.words
        return (
            f"From {one.at_least} users on, {what}." if one.at_least else f"With no number of users, {what}."
        )
    if one.users is None:
        return f"Up to at least {one.at_least} users, {one.goal.words}."
    return f"Up to {between(one.users)} users, {one.goal.words}."


def _other_measured(one: Fits) -> str:
    """One of the other goals, by what was measured alone."""
    if one.goal.kind == "throughput":
        what = one.goal.words
        return (
            f"From {one.at_least} users on, {what}, as was measured."
            if one.at_least
            else f"With none of the numbers of users that were measured, {what}."
        )
    parts = [f"with {_users(seen.users)}, {seen.words}" for seen in (one.met, one.missed) if seen is not None]
    met = "is met" if one.missed is None else "is missed" if one.met is None else "is met and then missed"
    return f"That {one.goal.words} {met}: {'; '.join(parts)}."


def refuted(against: Otherwise, *, here: bool) -> str:
    """What to beware of where the model does not describe the log; `here` if the plan is as measured."""
    if here:
        return (
            "The model does not describe this log: predictions in tables and curves, and those of other "
            "machines and work, may be as far off as its number of users."
        )
    return (
        f"The model does not describe this log: with {_users(against.by.users)}, {against.by.verdict}, where "
        f"the model says that {against.model_words} fit. For this plan it may be as far off."
    )


def caveats(found: Reached, unknown: Unknown | None, measured: Measured) -> Iterator[str]:
    """What to beware of in the answer for a plan."""
    if found.memory_bytes is None and not measured.stretches:
        yield "No memory is given: the number that fits says nothing about it."
    elif found.memory_bytes is None:
        yield "Memory was not recorded with the users: the number that fits says nothing about it."
    elif measured.memory is not None and not measured.memory.shared_once:
        yield (
            "The memory of a user is its resident memory, in which shared pages count for each: fewer bytes "
            "are needed. A log in which the number of users varies gives what a further user takes."
        )
    if found.refuted is not None:
        yield refuted(found.refuted, here=found.plan.is_as_measured)
    if measured.yielding is not None:
        yield background.sentence(measured.yielding)
    aside = max((one.aside for one in measured.stretches), default=0.0)
    if aside >= ASIDE_WORTH:
        yield aside_words(aside)
    best = found.answer
    if measured.stretches and best.limit != "unmeasured" and found.number > 2 * measured.peak:
        most = f"{shown.count(measured.peak, 'user')} {'was' if measured.peak == 1 else 'were'}"
        yield (
            f"At most {most} measured: the answer goes beyond twice that, where anything that was not short "
            "then may become so."
        )
    if unknown is not None:
        yield _unknown(unknown, measured, found.number)
    if found.at is not None and measured.stretches:
        needed = longer(measured, HALF_WIDTH, found.at.response)
        known = f"The response time at that number is known to {_half(found.at):.0f} % only"
        if needed is not None and unknown is not None:
            yield f"{known}; to record for longer with as many users as here would hardly narrow that."
        elif needed is not None:
            yield (
                f"{known}. Beyond the knee 1 % of demand is 2 to 3 % of response; record for about "
                f"{shown.duration(needed)} in all to know it to {100 * HALF_WIDTH:.0f} %."
            )
    for caveat in measured.caveats:
        if caveat.kind == "few_completed":
            users = listed([str(one) for one in caveat.values["users"]])
            yield (
                f"With {users} users fewer than {caveat.values['least']} interactions were completed; they "
                "are left out."
            )
    if found.agreement > 0.1:
        off = f"{100 * found.agreement:.0f} %"
        yield (
            f"Simulated mean responses differ by up to {off} from those of the model: take the percentiles "
            "with care."
        )


def _unknown(found: Unknown, measured: Measured, number: int) -> str:
    least = min((one.users for one in measured.stretches), default=0)
    if found.until is not None and found.until < least:
        # With users who always wait, only the sum of work and waits shows.
        fewer = f", about {number}" if 1 <= number < least else ""
        return (
            f"With up to {shown.count(found.until, 'user')}, the mean response is not known to a factor of "
            f"three: a log with {least} users or more does not show how long an interaction takes that "
            f"hardly waits. Record with fewer users as well{fewer}."
        )
    hardly = f"From {found.users} users on, the mean response is not known to a factor of three"
    if not measured.stretches:
        return f"{hardly}: give narrower intervals of the figures."
    remedy = f"Record with more users as well, {2 * measured.peak} or more."
    seen = f"up to {shown.count(measured.peak, 'user')}"
    reason = (
        f"a log with {seen} does not show whether interactions wait for each other for what is not a CPU"
        if found.queue
        else f"a log with {seen} shows too little of what they need"
    )
    return f"{hardly}: {reason}. {remedy}"


def _half(row: Row) -> float:
    assert row.response.low is not None
    assert row.response.high is not None
    return 50.0 * (row.response.high - row.response.low) / row.response.value
