"""An answer is never refuted by its own log: what was measured goes before what the model says."""

from __future__ import annotations

import json

import numpy as np
import pytest

from thinktime.documents import explorer as exploring
from thinktime.documents.render.json import answer as as_json
from thinktime.models.sizing import Machine, Work, course, fit
from thinktime.predictions.size import goals, record, section
from thinktime.predictions.size.answer import Plan, Reached
from thinktime.predictions.size.fits import Fits, Seen, alone, judged, reconciled, seen
from thinktime.predictions.size.measured import Measured, Stretch
from thinktime.predictions.size.words import caveats, sentences
from thinktime.stats.estimate import Estimate

THINK_S, CPU_S = 0.4, 0.008
MEAN, P90 = goals.read(["mean response < 50ms", "p90 response < 100ms"])[:2]
DEFAULT = goals.default()[0]


def estimate(value: float, half: float = 0.1, unit: str = "s") -> Estimate:
    """Value with an interval of plus or minus `half` of it."""
    low, high = (1.0 - half) * value, (1.0 + half) * value
    return Estimate(value=value, unit=unit, low=low, high=high, n=400, method="given")


def stretch(users: int, response_s: float, half: float = 0.1) -> Stretch:
    throughput = users / (THINK_S + response_s)
    return Stretch(
        users=users,
        n=400,
        seconds=60.0,
        throughput=estimate(throughput, 0.03, "1/s"),
        response=estimate(response_s, half),
        p90=estimate(2.0 * response_s, half),
        service=estimate(CPU_S, 0.03),
        think=estimate(THINK_S, 0.03),
        waited=None,
        machine_cpu=1.9,
    )


def measured(responses: dict[int, float], *, background: float = 1.8, half: float = 0.1) -> Measured:
    """Log whose users had these mean responses, beside others who keep both CPUs busy."""
    return Measured(
        names=("log",),
        machine=Machine(cpus=2, background=background),
        stretches=tuple(stretch(users, response_s, half) for users, response_s in responses.items()),
        extra_cpu_s=0.0,
        services=np.full(400, CPU_S),
        memory=None,
        caveats=(),
    )


CALM = {5: 0.015, 10: 0.016, 15: 0.016, 20: 0.017}
"""Nobody waits for the others, although these keep both CPUs busy."""


def said(found: Reached) -> list[str]:
    """Sentences of an answer with ordinary blanks."""
    return [" ".join(sentence.split()) for sentence in sentences(found)]


AS_MEASURED = (Plan(),)


def answers(found: Measured, *texts: str, plans=AS_MEASURED) -> section.Answers:
    fitted = fit(found.levels(), found.machine)
    return section.Answers.of(found, fitted, plans=plans, goals=goals.read(texts))


@pytest.fixture(scope="module")
def calm() -> section.Answers:
    return answers(measured(CALM), "mean response < 50ms", plans=(Plan(), Plan(cpus=4)))


def test_the_model_alone_would_say_less_than_was_measured(calm):
    against = calm.first.found.refuted
    assert against is not None
    assert not against.agrees
    assert against.model.high < 20
    assert against.by.users == 20


def test_what_was_measured_is_said_first(calm):
    first, *_ = said(calm.first.found)
    assert first.startswith("At least 20 users fit on 2 CPUs")
    assert "with 20, a mean response of" in first
    assert "which meets the goal" in first
    assert "so it does not describe this log, and nothing is predicted beyond what was measured" in first
    assert f"The model says {calm.first.found.refuted.model_words}" in first
    # Neither a knee nor the cost of a further user, which are the model's.
    rest = " ".join(said(calm.first.found))
    assert "knee" not in rest
    assert "one more user" not in rest


def test_everything_else_says_the_same(calm):
    found = json.loads(as_json("size", record.of(calm)))
    assert found["answer"] == found["goals"][0] == {key: found["plans"][0][key] for key in found["answer"]}
    assert found["answer"]["users"] is None
    assert (found["answer"]["low"], found["answer"]["high"]) == (20, None)
    assert found["answer"]["limit"] == "measured"
    (refuted,) = found["refuted"]
    assert (refuted["users"], refuted["met"], refuted["agrees"]) == (20, True, False)
    assert refuted["high"] <= 0.05
    # Predictions stand beside what was measured, not beyond it.
    assert {one["users"] for one in found["predictions"]} == set(CALM)
    assert calm.first.found.at is None
    assert calm.first.found.marginal_s is None
    page = section.section(calm)
    cells = {table.name: table for table in page.tables}
    assert "at least 20" in str(cells["size-plans"].rows[0])
    assert "at least 20" in str(cells["size-limits"].rows)
    assert any("does not describe this log" in caveat for caveat in page.caveats)


def test_a_plan_that_changes_something_says_that_the_model_is_wrong(calm):
    changed = calm.sizes[1]
    assert changed.answer.limit != "measured"
    told = " ".join(" ".join(caveats(changed.found, None, calm.measured)).split())
    assert "with 20 users, a mean response of" in told
    assert "For this plan it may be as far off" in told


@pytest.mark.parametrize("plan", [Plan(cpus=2), Plan(memory=2.0), Plan(swap_speed=1e8)])
def test_a_plan_that_changes_no_time_is_the_one_measured(plan):
    found = answers(measured(CALM), "mean response < 50ms", plans=(plan,))
    assert found.first.answer.limit == "measured"
    assert found.first.found.number == 20


def test_the_page_says_the_same_at_each_position(calm):
    explorer = section.document(calm).explorer
    lines = exploring.at_start(explorer.lines, explorer.controls)
    assert tuple(lines) == tuple(sentences(calm.first.found))
    places = [" ".join(line[0].split()) for line in explorer.lines.values]
    assert sum(line.startswith("At least 20 users fit on 2 CPUs") for line in places) == 1
    for told in explorer.caveats.values:
        assert any("does not describe this log" in one for one in told)


def test_a_number_that_was_measured_to_miss_a_goal_does_not_fit():
    # Something delays those with 8 users, which neither CPUs nor a queue would.
    found = answers(measured({4: 0.02, 8: 0.3, 16: 0.02}, background=0.0), "mean response < 150ms")
    against = found.first.found.refuted
    assert against is not None
    assert (against.by.users, against.by.met) == (8, False)
    best = found.first.answer
    assert (best.users, best.at_least, best.at_most) == (None, 4, 7)
    first, *_ = said(found.first.found)
    assert first.startswith("With 8 users on 2 CPUs")
    assert "which misses the goal" in first
    assert "fewer fit, and at least 4" in first
    assert "nothing is predicted beyond what was measured" in first


def test_a_log_that_the_model_describes_changes_nothing():
    # The responses of the exact network.
    exact = course(Work(think_s=THINK_S, cpu_s=CPU_S, delay_s=0.01), Machine(cpus=2, background=0.2), 80)
    responses = {users: float(exact.response_s[users - 1]) for users in (10, 20, 40, 80)}
    found = answers(measured(responses, background=0.2), "mean response < 100ms")
    assert found.first.found.refuted is None
    assert all(one.otherwise is None for one in found.first.found.fits)
    assert found.first.found.at is not None


def test_a_goal_relative_to_a_user_alone_is_judged_too():
    found = answers(measured(CALM, half=0.05))
    assert found.first.answer.goal == DEFAULT
    assert found.first.answer.limit == "measured"
    assert found.first.found.number == 20


GOALS = [(0.04, True), (0.048, None), (0.052, None), (0.06, False)]


@pytest.mark.parametrize(("response_s", "met"), GOALS)
def test_a_goal_is_met_only_by_all_of_the_interval(response_s, met):
    # Of 10 % above and below, by hand.
    assert judged(MEAN, estimate(response_s), (0.05, 0.05)) is met
    # Without an interval, by the value; with one that is open, never.
    plain = Estimate(value=response_s, unit="s", n=5, method="given")
    assert judged(MEAN, plain, (0.05, 0.05)) is (response_s <= 0.05)
    half = Estimate(value=response_s, unit="s", low=0.9 * response_s, n=5, method="given")
    assert judged(MEAN, half, (0.05, 0.05)) is (False if met is False else None)


def test_without_an_interval_it_is_said_so():
    found = Seen(goal=MEAN, users=3, value=Estimate(value=0.02, unit="s", n=5, method="given"), met=True)
    assert "without an interval" in found.words


def test_a_number_beyond_one_that_misses_the_goal_is_of_no_use():
    found = seen(MEAN, measured({4: 0.02, 8: 0.3, 16: 0.02}), (0.0, 0.0))
    assert [(one.users, one.met) for one in found] == [(4, True), (8, False)]


def test_a_user_alone_that_was_measured_is_known():
    assert alone(measured({1: 0.02, 8: 0.03}), 0.001) == pytest.approx((0.018, 0.022))
    # The line from 33 ms with 8 through 18 ms with 4 leads to 6.75 ms with 1, that from 22 ms to more.
    assert alone(measured({4: 0.02, 8: 0.03}), 0.009) == pytest.approx((0.009, 0.022))
    assert alone(measured({4: 0.02, 12: 0.02}), 0.009) == pytest.approx((0.018 - 3 * 0.004 / 8, 0.022))


def by_hand(users: int, low: int, high: int) -> Fits:
    number = Estimate(
        value=float(users), unit="user", low=float(low), high=float(high), n=400, method="given"
    )
    return Fits(goal=MEAN, users=number, at_least=low, limit="cpu")


def at(users: int, *, met: bool, goal=MEAN) -> Seen:
    return Seen(goal=goal, users=users, value=estimate(0.02 if met else 0.2), met=met)


DRAWS = np.arange(1, 401) // 40 + 5
"""Forty each of 5 to 14, but one fewer of 5, and one of 15."""


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ([at(8, met=True)], (10, 6, 14)),
        ([at(13, met=True)], (14, 13, 14)),
        ([at(8, met=True), at(10, met=False)], (8, 8, 9)),
        ([at(10, met=False)], (7, 5, 9)),
    ],
)
def test_a_measurement_within_the_interval_narrows_it(what, expected):
    (found,) = reconciled([by_hand(10, 6, 14)], {MEAN: what}, lambda _: DRAWS)
    assert found.limit == "cpu"
    assert (found.users.value, found.users.low, found.users.high) == expected


def test_a_measurement_beyond_the_interval_is_the_answer_for_all_goals_of_time():
    p90 = Fits(goal=P90, users=by_hand(30, 20, 40).users, at_least=20, limit="cpu")
    memory = Fits(goal=goals.default()[1], users=None, at_least=50, limit="users")
    seen_of = {
        MEAN: [at(8, met=True), at(20, met=True)],
        P90: [at(8, met=True, goal=P90), at(20, met=False, goal=P90)],
    }
    mean, other, last = reconciled([by_hand(10, 6, 14), p90, memory], seen_of, lambda _: DRAWS)
    assert (mean.users, mean.at_least, mean.at_most, mean.limit) == (None, 20, None, "measured")
    assert (other.users, other.at_least, other.at_most, other.limit) == (None, 8, 19, "measured")
    assert last == memory
