"""The answer in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

from thinktime.documents import format as shown
from thinktime.documents.wording import listed
from thinktime.predictions.size import cliff, disks, rules
from thinktime.predictions.size.answer import Fits, Reached, Row, Unknown, longer
from thinktime.predictions.size.measured import Measured
from thinktime.stats.estimate import Estimate

LIMITS = {
    "cpu": "the CPUs",
    "rest": "what serves one interaction at a time (a disk, a lock)",
    "memory": "memory",
    "users": "nothing within the numbers of users looked at",
    "unmeasured": "nothing that was measured",
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
    best = found.answer
    machine = f"{shown.count(found.machine.cpus, 'CPU')}"
    if best.users is None:
        yield (
            f"At least {best.at_least} users fit on {machine}: no goal fails with as many."
            if best.limit == "users"
            else "No goal could be judged: the log does not have what they limit."
        )
    else:
        number = round(best.users.value)
        yield (
            f"{_fitting(best)} on {machine}: {best.goal.words}. Beyond that, {LIMITS[best.limit]} "
            f"{'run' if best.limit == 'cpu' else 'runs'} short."
        )
        if number >= 1 and found.marginal_s is not None:
            more = shown.quantity(found.marginal_s, "s")
            yield f"At that number one more user makes the mean response {more} longer."
        if found.at is not None:
            told = disks.sentence(found.disks, number, best.limit, found.at.rest)
            if told is not None:
                yield told
    yield f"The knee is at {_between(found.knee)} users: from there on, each further user mostly waits."
    for other in found.fits[1:]:
        yield _other(other)


def _fitting(best: Fits) -> str:
    assert best.users is not None
    number, low, high = best.users.value, best.users.low, best.users.high
    if number < 1.0:
        return "Not one user fits"
    if low is None or high is None or low == high:
        return f"{shown.count(round(number), 'user')} fit" + ("s" if round(number) == 1 else "")
    return f"{number:.0f} users fit ({low:.0f} to {high:.0f})"


def _between(users: Estimate) -> str:
    low, high = users.low, users.high
    if low is None or high is None or round(low) == round(high):
        return f"{users.value:.0f}"
    return f"{users.value:.0f} ({low:.0f} to {high:.0f})"


def _other(one: Fits) -> str:
    if one.limit == "unmeasured":
        return f"Whether {one.goal.words} is not known: the log does not have it."
    if one.goal.kind == "throughput":
        what = one.goal.words
        return (
            f"From {one.at_least} users on, {what}." if one.at_least else f"With no number of users, {what}."
        )
    if one.users is None:
        return f"With at least {one.at_least} users, {one.goal.words}."
    return f"Up to {_between(one.users)} users, {one.goal.words}."


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
        if needed is not None:
            yield (
                f"The response time at that number is known to {_half(found.at):.0f} % only. Beyond the knee "
                f"1 % of demand is 2 to 3 % of response; record for about {shown.duration(needed)} in all to "
                f"know it to {100 * HALF_WIDTH:.0f} %."
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
