"""The answer in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

from thinktime.documents import format as shown
from thinktime.predictions.size.answer import Fits, Reached
from thinktime.stats.estimate import Estimate

LIMITS = {
    "cpu": "the CPUs",
    "rest": "what serves one interaction at a time (a disk, a lock)",
    "memory": "memory",
    "users": "nothing within the numbers of users looked at",
    "unmeasured": "nothing that was measured",
}


def answer(found: Reached) -> Iterator[str]:
    """Users who fit, what one more costs, the knee, and the other goals."""
    best = found.answer
    machine = f"{shown.count(found.machine.cpus, 'CPU')}"
    if best.users is None:
        yield (
            f"All {best.at_least} users that were looked at fit on {machine}: no goal fails."
            if best.limit == "users"
            else f"No goal could be judged: {LIMITS[best.limit]} limits the users."
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
        return f"With all {one.at_least} users looked at, {one.goal.words}."
    return f"Up to {_between(one.users)} users, {one.goal.words}."
