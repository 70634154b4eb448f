"""The answer about a fleet, against machines of which everything is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import simulated_fleet as simulated
from simulated_fleet import COSTS, EPOCH_US, Machine

from thinktime.fleets import answer as answers
from thinktime.fleets import models
from thinktime.fleets.answer import Fleet, fleet, of_summaries
from thinktime.fleets.costs import Coefficient
from thinktime.fleets.machines import BUSY_MOST, Joined, join
from thinktime.fleets.summary import HOUR_US, Summary, Unusable, summarise
from thinktime.stats.hypothesis import ALPHA, holm

NAMES = {"forks": "forks", "page_faults_minor": "page_faults", "context_switches": "context_switches"}
NAMES |= {"disk_reads": "disk_operations"}
HOURS, INTERVAL_S = 6.0, 10.0
SLOW = 1.6
SATURATED = {"a02": (1, 2), "b01": (4,)}
COSTLY = "a05"


def machines() -> list[Machine]:
    """Twelve machines of one model and ten of a slower one; two saturate, and on one forks cost twice as
    much."""
    common = {"hours": HOURS, "interval_s": INTERVAL_S}
    fast = [Machine(host=f"a{number:02}", model="Alpha", seed=number, **common) for number in range(12)]
    slow = [
        Machine(host=f"b{number:02}", model="Beta", speed=1.0 / SLOW, seed=100 + number, **common)
        for number in range(10)
    ]
    return [
        replace(one, saturated=SATURATED.get(one.host, ()), forks=2.0 if one.host == COSTLY else 1.0)
        for one in (*fast, *slow)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated.write_all(tmp_path_factory.mktemp("fleet"), machines())


@pytest.fixture(scope="module")
def answer(folder: Path) -> Fleet:
    return fleet(folder)


def test_saturated_hours_are_those_that_were_made(answer: Fleet) -> None:
    found = {one.name: [(start - EPOCH_US) // HOUR_US for start in one.saturated] for one in answer.machines}
    assert found == {one.host: list(one.saturated) for one in machines()}
    assert {one.limit for one in answer.machines if one.saturated} == {"cpu"}
    assert {one.name for one in answer.machines[:2]} == set(SATURATED)
    by_hour = [hour.saturated for hour in answer.by_hour]
    assert by_hour == [0, 1, 1, 0, 1, 0]


@pytest.mark.parametrize("request_", list(COSTS))
def test_costs_by_model_are_those_that_were_made(answer: Fleet, request_: str) -> None:
    cost = next(item for item in answer.costs if item.name == NAMES[request_])
    for model, factor in (("Alpha", 1.0), ("Beta", SLOW)):
        found = next(item for item in cost.models if item.model == model)
        truth = COSTS[request_] * factor
        if (request_, model) == ("forks", "Alpha"):
            truth *= 13 / 12  # the mean of twelve, one of which is twice as costly
        assert found.cost.low is not None
        # Twice as wide as an interval of 95 %: missed once in 2,000 times, over 9 degrees of freedom.
        assert abs(found.cost.value - truth) < 2.0 * (found.cost.value - found.cost.low)
    # Page faults and context switches follow the users, and their costs are known less well.
    assert cost.test is not None
    assert cost.test.rejected() or request_ not in ("forks", "disk_reads")


def test_the_outlier_is_found_and_no_other(answer: Fleet) -> None:
    assert [(item.machine, item.name) for item in answer.outliers.outliers] == [(COSTLY, "forks")]
    assert answer.outliers.outliers[0].value.value == pytest.approx(2.0 * COSTS["forks"], rel=0.15)
    assert answer.outliers.tests >= 22 * 6


def test_the_room_of_all_machines_is_bounded_on_both_sides(answer: Fleet) -> None:
    """Whole users: a lower end may be the value itself, which is no end left open."""
    one = next(one for one in answer.machines if one.room.users is not None and one.room.users.value > 0.0)
    assert one.room.users is not None
    users = replace(one.room.users, value=31.0, low=31.0, high=32.0)
    found = answers._room([replace(one, room=replace(one.room, users=users))] * 4, 0.95)
    assert found is not None
    assert (found.low, found.value, found.high) == (124.0, 124.0, 126.0)


def test_a_machine_has_room_for_as_many_users_as_fill_it(answer: Fleet) -> None:
    """By theory: what is left in the busiest hour over what a user takes; and no room where it is
    saturated."""
    made = {one.host: one for one in machines()}
    for one in answer.machines:
        if one.saturated:
            assert one.room.reason == "saturated"
            assert one.room.users is not None
            assert one.room.users.value == 0.0
            continue
        assert one.busiest is not None
        assert one.cpu_of_user is not None
        share = made[one.name].of_user() / made[one.name].cpus
        assert one.cpu_of_user.value == pytest.approx(share, rel=0.05)
        by_cpu = (BUSY_MOST - one.busiest) / share
        assert one.room.users is not None
        if one.room.limit == "cpu":
            assert one.room.users.value == pytest.approx(by_cpu, rel=0.05)
        else:
            assert one.room.users.value < 1.05 * by_cpu
    # A user takes half a gigabyte: on the faster machines the memory is full first, else the CPUs.
    limits = {(one.model, one.room.limit) for one in answer.machines if not one.saturated}
    assert limits == {("Alpha", "memory"), ("Beta", "cpu")}


def test_as_many_users_more_fill_the_cpus(tmp_path: Path) -> None:
    """The closed loop: a machine with as many users more as it has room for is 80 % busy."""
    one = Machine(host="one", model="Alpha", cpus=1, users=10.0, hours=3.0, interval_s=INTERVAL_S)
    found = fleet(simulated.write(tmp_path, one)).machines[0]
    assert found.room.users is not None
    assert found.room.limit == "cpu"
    assert found.busiest_us is not None
    users = 10.0 + found.room.users.value
    assert found.room.users.value >= 2
    more = replace(one, host="more", users=users, seed=2)
    full = fleet(simulated.write(tmp_path, more)).machines[0]
    # The numbers of users swing by a fifth about their mean for five minutes: by 4 % over three hours.
    assert full.busy.value == pytest.approx(BUSY_MOST, rel=0.12)


def test_the_answer_does_not_depend_on_the_number_of_threads(folder: Path, answer: Fleet) -> None:
    assert fleet(folder, threads=1).to_dict() == answer.to_dict()
    assert fleet(folder, threads=5).to_dict() == answer.to_dict()


# No difference


@pytest.fixture(scope="module")
def equal(tmp_path_factory: pytest.TempPathFactory) -> list[Summary]:
    """Forty machines of one kind."""
    folder = tmp_path_factory.mktemp("equal")
    made = [
        Machine(host=f"m{number:02}", model="One", hours=2.0, interval_s=INTERVAL_S, seed=500 + number)
        for number in range(40)
    ]
    found = [summarise(simulated.write(folder, one)) for one in made]
    return [item for item in found if isinstance(item, Summary)]


def divided(summaries: list[Summary], seed: int, slower: float = 1.0) -> list[Joined]:
    """Machines divided at random into three models, of which the last is slower."""
    import numpy as np

    models_of = np.random.default_rng(seed).permutation(np.arange(len(summaries)) % 3)
    result = []
    for item, number in zip(summaries, models_of.tolist(), strict=True):
        factor = slower if number == 2 else 1.0
        scaled = {
            name: replace(one, value=one.value * factor, error=one.error * factor)
            for name, one in item.coefficients.items()
        }
        result.append(replace(item, model=f"model {number}", coefficients=scaled))
    return list(join(result))


def test_equal_machines_do_not_differ(equal: list[Summary]) -> None:
    """One false alarm or more among all kinds of request in 5 % of the divisions: at most 18 of 200 (1 in
    100)."""
    alarms = [
        any(
            cost.test is not None and cost.test.rejected()
            for cost in models.costs(divided(equal, seed), 0.95)
        )
        for seed in range(200)
    ]
    assert sum(alarms) <= 18
    # The canary: without the adjustment for the number of tests there are far more.
    unadjusted = [
        any(models._same("", groups).rejected() for groups in by_request(divided(equal, seed)).values())
        for seed in range(200)
    ]
    assert sum(unadjusted) > 25


def by_request(joined: list[Joined]) -> dict[str, list[list[Coefficient]]]:
    """Coefficients of each kind of request, by model."""
    names = [name for name in joined[0].summaries[0].coefficients if name not in ("user", "memory")]
    order = sorted({one.model for one in joined})
    found = {}
    for name in names:
        found[name] = [
            [item for one in joined if one.model == model if (item := one.coefficient(name)) is not None]
            for model in order
        ]
    return found


def test_a_difference_is_found(equal: list[Summary]) -> None:
    for seed in range(10):
        costs = models.costs(divided(equal, seed, slower=2.0), 0.95)
        base = next(cost for cost in costs if cost.name == "disk_operations")
        assert base.test is not None
        assert base.test.rejected()
        slow = next(item for item in base.models if item.model == "model 2")
        first = base.models[0]
        if first.model != "model 2":
            assert slow.ratio is not None
            assert slow.ratio.low is not None
            assert slow.ratio.high is not None
            assert slow.ratio.low < 2.0 * 1.1
            assert slow.ratio.high > 2.0 * 0.9


def test_equal_machines_have_no_outliers(equal: list[Summary]) -> None:
    """At 5 % for all machines and quantities of a fleet: at most 5 of 40 samples of 30 (1 in 100)."""
    import numpy as np

    alarms = 0
    for seed in range(40):
        chosen = np.random.default_rng(seed).permutation(len(equal))[:30]
        found = of_summaries([equal[number] for number in chosen.tolist()], [])
        assert found.outliers.tests >= 30 * 6
        alarms += bool(found.outliers.outliers)
    assert alarms <= 5
    assert ALPHA == 0.05
    assert holm([0.01, 0.04]).tolist() == [0.02, 0.04]


def test_what_cannot_be_tested_says_so(equal: list[Summary]) -> None:
    few = of_summaries(
        [replace(item, model=f"model {number % 2}") for number, item in enumerate(equal[:4])], []
    )
    assert all(cost.test is None for cost in few.costs)
    assert few.outliers.tests == 0
    nameless = of_summaries([replace(item, model=None) for item in equal[:9]], [])
    assert nameless.costs == ()
    assert nameless.without_model == 9
    assert nameless.outliers.tests == 0


def test_an_imprecise_log_takes_no_part(equal: list[Summary]) -> None:
    vague = dict(equal[0].coefficients)
    vague["forks"] = replace(vague["forks"], value=1.0, error=1.0)
    found = of_summaries([replace(equal[0], coefficients=vague), *equal[1:12]], [])
    forks = next(cost for cost in found.costs if cost.name == "forks").models[0]
    assert (forks.machines, forks.vague) == (11, 1)
    assert forks.cost.value == pytest.approx(COSTS["forks"], rel=0.1)
    assert not found.outliers.outliers


def test_nothing_is_no_fleet() -> None:
    found = of_summaries([], [Unusable(path="x", kind="short", reason="short")])
    assert (found.machines, found.room, found.costs, found.by_hour) == ((), None, (), ())
