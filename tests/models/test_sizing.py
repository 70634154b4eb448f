"""How many users fit: against exact networks, on measurements of known truth, and as a command."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from thinktime.cli import run
from thinktime.errors import InputError
from thinktime.log import Log, LogWriter
from thinktime.models import Customers, Station, mixed
from thinktime.models.queueing.networks import mva
from thinktime.models.sizing import (
    GROWTH_SD,
    MODEL_SD,
    Changes,
    Level,
    Machine,
    Work,
    course,
    crowding,
    fit,
)
from thinktime.predictions.size import goals, mix
from thinktime.predictions.size.answer import Curves, Plan, Unknown, size
from thinktime.predictions.size.measured import Measured, measured, share_within, with_cut
from thinktime.predictions.size.own_error import own_error
from thinktime.predictions.size.percentiles import Scheduler, percentiles
from thinktime.predictions.size.words import caveats, sentences
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import NotApplicable

WORK = Work(think_s=1.0, cpu_s=0.1, delay_s=0.02, serial_s=0.01)


def test_the_course_is_that_of_an_exact_network():
    stations = [
        Station("cpu", WORK.cpu_s, servers=3),
        Station("serial", WORK.serial_s),
        Station("rest", WORK.delay_s, servers=float("inf")),
    ]
    exact = mva(stations, 60, WORK.think_s, course=True)
    found = course(WORK, Machine(cpus=3), 60)
    np.testing.assert_allclose(found.response_s, exact["response_s"], rtol=1e-9)
    np.testing.assert_allclose(found.throughput_per_s, exact["throughput_per_s"], rtol=1e-9)
    np.testing.assert_allclose(found.utilisation, exact["utilisation"][:, 0], rtol=1e-9)


def test_background_load_is_an_open_class():
    stations = [Station("cpu", [WORK.cpu_s, 0.05], servers=2)]
    customers = [Customers("users", users=12, think_s=1.0), Customers("others", arrivals_per_s=8.0)]
    exact = mixed(stations, customers)["response_s"][0]
    found = course(replace(WORK, delay_s=0.0, serial_s=0.0), Machine(cpus=2, background=0.4), 12)
    assert found.response_s[-1] == pytest.approx(exact, rel=1e-9)


def test_fewer_users_than_cpus_have_all_of_them():
    # Background of 1.2 CPUs is more than the one that a user alone can use, and leaves 0.8 of two.
    machine = Machine(cpus=2, background=1.2)
    stations = [Station("cpu", [WORK.cpu_s, 0.05], servers=2)]
    customers = [Customers("users", users=1, think_s=1.0), Customers("others", arrivals_per_s=24.0)]
    exact = mixed(stations, customers)["response_s"][0]
    plain = replace(WORK, delay_s=0.0, serial_s=0.0)
    assert course(plain, machine, 1).response_s[0] == pytest.approx(exact, rel=1e-9)
    assert course(plain, machine, 40).response_s[0] == pytest.approx(exact, rel=1e-9)


def test_a_user_alone_has_the_demand_whatever_its_growth():
    found = course(replace(WORK, growth=0.5), Machine(cpus=2, cpu_speed=2.0), 2)
    assert found.response_s[0] == pytest.approx(0.1 / 2.0 + 0.02 + 0.01)


def test_growth_lengthens_responses_and_lowers_the_most_that_is_done():
    plain, grown = (course(replace(WORK, growth=g), Machine(cpus=2), 200) for g in (0.0, 0.2))
    assert grown.response_s[-1] > plain.response_s[-1]
    # With ever more users waiting for a CPU the demand tends to 1.2 times that at rest.
    assert grown.throughput_per_s[-1] == pytest.approx(2 / (0.1 * 1.2), rel=0.01)


def test_the_interval_of_a_mean_of_skew_draws_contains_it():
    """Of 400 draws of a probability, 396 are one: the mean of all lies below their 2.5 % quantile."""
    sure = np.where(np.arange(400)[:, None] < 396, 1.0, 0.9)
    same = SimpleNamespace(response_s=sure, throughput_per_s=sure, utilisation=sure, serial=sure)
    curves = Curves(
        machine=Machine(cpus=2),
        courses=same,
        percentiles=SimpleNamespace(ratio=lambda _quantile, _most: 1.0),
        sufficing=SimpleNamespace(upto=lambda _users: sure),
        alone_s=sure[:, 0],
        n=400,
    )
    memory = curves.row(1).memory
    assert memory.low <= memory.value <= memory.high
    assert memory.value < 1.0


def levels(machine: Machine, work: Work, users: tuple[int, ...], noise: float, seed: int) -> list[Level]:
    """A measurement of `work` whose demands and responses err by `noise`, the responses with the demands."""
    random = np.random.default_rng(seed)
    found = []
    for number in users:
        demand = work.cpu_s * float(np.exp(noise * random.standard_normal()))
        exact = course(replace(work, cpu_s=demand), machine, number)
        response = float(exact.response_s[-1])
        found.append(
            Level(
                users=number,
                response_s=response * float(np.exp(0.5 * noise * random.standard_normal())),
                response_error=noise * response,
                cpu_s=demand,
                cpu_error=noise * demand,
                think_s=work.think_s,
                think_error=0.0,
                throughput_per_s=float(exact.throughput_per_s[-1]),
            )
        )
    return found


def covered(users: tuple[int, ...], *, trials: int = 200, overconfident: bool = False) -> float:
    """Share of measurements whose 95 % interval for twice the users holds the truth."""
    machine = Machine(cpus=2)
    held = []
    for seed in range(trials):
        random = np.random.default_rng([seed, 7])
        work = Work(
            think_s=1.0,
            cpu_s=float(random.uniform(0.02, 0.2)),
            delay_s=float(random.uniform(0.0, 0.05)),
            serial_s=float(random.uniform(0.0, 0.02)),
        )
        found = levels(machine, work, users, 0.06, seed)
        if overconfident:
            found = [replace(one, cpu_error=1e-9, response_error=1e-9) for one in found]
        fitted = fit(found, machine)
        number = 2 * users[-1]
        draws = fitted.courses(machine, number).response_s[:, -1]
        if overconfident:
            draws = draws / fitted.errors
        low, high = np.quantile(draws, (0.025, 0.975))
        held.append(low <= course(work, machine, number).response_s[-1] <= high)
    return float(np.mean(held))


@pytest.mark.parametrize("users", [(8,), pytest.param((4, 8), marks=pytest.mark.thorough)])
def test_intervals_hold_the_truth(users):
    # Below 0.90 by chance alone in fewer than 2 of 1,000 such tests, if 95 % hold.
    assert covered(users) >= 0.90


def test_intervals_that_ignore_the_error_of_the_demand_do_not():
    assert covered((4, 8), trials=60, overconfident=True) < 0.8


def covered_of_the_population(users: tuple[int, ...], *, certain: bool = False) -> float:
    """Share of 200 machines whose 95 % interval for twice the users holds the truth.

    Their demand grows with the load, and their responses differ from those of the model, by as much as both
    are taken to do before a log shows it; `certain` leaves that out of the prediction.
    """
    machine, held = Machine(cpus=2), []
    for seed in range(200):
        random = np.random.default_rng([seed, 7])
        work = Work(
            think_s=1.0,
            cpu_s=float(random.uniform(0.02, 0.2)),
            growth=float(np.expm1(GROWTH_SD * random.standard_normal())),
            delay_s=float(random.uniform(0.0, 0.05)),
            serial_s=float(random.uniform(0.0, 0.02)),
        )
        found = []
        for level in levels(machine, work, users, 0.02, seed):
            number = level.throughput_per_s * level.response_s
            grown = 1.0 + work.growth * float(crowding(number, machine.cpus))
            own = float(np.exp(MODEL_SD * random.standard_normal()))
            found.append(
                replace(
                    level,
                    cpu_s=level.cpu_s * grown,
                    cpu_error=level.cpu_error * grown,
                    response_s=level.response_s * own,
                )
            )
        fitted = fit(found, machine)
        if certain:
            # Nothing but the demand as measured, and the model as it is.
            fitted = replace(
                fitted,
                draws=tuple(replace(one, growth=0.0) for one in fitted.draws),
                errors=np.ones(len(fitted.draws)),
            )
        number = 2 * users[-1]
        low, high = np.quantile(fitted.courses(machine, number).response_s[:, -1], (0.025, 0.975))
        truth = course(work, machine, number).response_s[-1] * np.exp(MODEL_SD * random.standard_normal())
        held.append(low <= truth <= high)
    return float(np.mean(held))


@pytest.mark.parametrize("users", [pytest.param((8,), marks=pytest.mark.thorough), (2, 4, 8, 16)])
def test_intervals_hold_for_machines_like_those_that_are_assumed(users):
    # Measured 0.96 to 0.97. Of 200, below 0.92 or above 0.995 by chance in fewer than 2 of 100 tests at 0.96.
    assert 0.92 <= covered_of_the_population(users) <= 0.995


def test_intervals_without_growth_and_error_of_the_model_do_not():
    assert covered_of_the_population((8,), certain=True) < 0.85


def told_apart(serial: bool, *, slope: bool = True) -> tuple[float, float]:
    """Interval for 60 users of a machine seen with 10: its time without a CPU is a queue or a delay.

    The slope of that time against the others in progress is the one of the exact network.
    """
    rest = {"serial_s": 0.05} if serial else {"delay_s": 0.05}
    machine, work = Machine(cpus=4), Work(think_s=1.0, cpu_s=0.02, **rest)
    exact = course(work, machine, 10)
    (level,) = levels(machine, work, (10,), 0.03, 1)
    at_serial = exact.at_serial[-1] / (exact.throughput_per_s[-1] * exact.response_s[-1])
    if slope:
        level = replace(level, rest_slope_s=work.serial_s * float(at_serial), rest_slope_error=0.004)
    drawn = fit([level], machine).courses(machine, 60).response_s[:, -1]
    low, high = np.quantile(drawn, (0.025, 0.975)).tolist()
    return low, high


def test_one_number_of_users_tells_a_delay_from_a_queue():
    truths = [
        float(course(Work(think_s=1.0, cpu_s=0.02, **rest), Machine(cpus=4), 60).response_s[-1])
        for rest in ({"delay_s": 0.05}, {"serial_s": 0.05})
    ]
    delay, queue = told_apart(False), told_apart(True)
    assert delay[0] <= truths[0] <= delay[1]
    assert queue[0] <= truths[1] <= queue[1]
    # A queue would make responses 20 times as long; without the slope it cannot be excluded.
    assert delay[1] < truths[1] / 2
    assert told_apart(False, slope=False)[1] > truths[1] / 2


def test_interactions_cut_off_by_the_end_are_not_missing_from_the_mean():
    """Exponential times of mean 2, begun at random times of a recording of 10; 200 recordings of 300."""
    held, naive = [], []
    for seed in range(200):
        random = np.random.default_rng(seed)
        begun, taken = random.uniform(0.0, 10.0, 300), random.exponential(2.0, 300)
        done = begun + taken <= 10.0
        for found, cut in ((held, 10.0 - begun[~done]), (naive, np.empty(0))):
            estimate = with_cut(taken[done], cut)
            found.append(estimate.low <= 2.0 <= estimate.high)
    # Below 0.90 by chance alone in fewer than 2 of 1,000 such tests, if 95 % hold.
    assert np.mean(held) >= 0.90
    assert np.mean(naive) < 0.5


def test_percentiles_count_interactions_that_were_cut_off():
    # By hand: of ten, the third and the eighth shortest were cut off; survival 0.9, 0.8, 0.686, 0.571, 0.457,
    # 0.343, 0.171, 0: 60 % are within the sixth time, the sixth of eight that were completed.
    times = np.arange(1.0, 11.0)
    cut = np.array([3.0, 8.0])
    completed = np.setdiff1d(times, cut)
    assert share_within(completed, cut, 0.6) == pytest.approx(6 / 8)
    assert share_within(completed, np.empty(0), 0.6) == 0.6


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Logs of a simulated machine with two CPUs, at four numbers of users."""
    folder = tmp_path_factory.mktemp("size")
    station = {
        "name": "cpu",
        "discipline": "processor_sharing",
        "servers": 2,
        "service": "exponential(mean=0.05)",
    }
    paths = []
    for users in (5, 10, 15, 20):
        given = {"users": users, "think": "exponential(mean=0.5)", "length": 120, "interval": 1.0}
        simulate("network", given | {"stations": [station]}, seed=users).record(
            folder / str(users), trace=True
        )
        paths.append(folder / str(users))
    return paths


def test_a_log_gives_back_what_was_simulated(simulated):
    found = measured([Log.open(path) for path in simulated], [path.name for path in simulated])
    assert [one.users for one in found.stretches] == [5, 10, 15, 20]
    for one in found.stretches:
        assert one.service.low <= 0.05 <= one.service.high
        assert one.think.low <= 0.5 <= one.think.high
        truth = float(course(Work(think_s=0.5, cpu_s=0.05), Machine(cpus=2), one.users).response_s[-1])
        assert one.response.value == pytest.approx(truth, rel=0.25)


def test_the_upper_half_is_predicted_from_the_lower(simulated):
    found = measured([Log.open(path) for path in simulated], [path.name for path in simulated])
    checked = own_error(found)
    assert [one.users for one in checked] == [15, 20]
    assert all(one.holds for one in checked)


def test_the_answer_is_that_of_the_exact_network(simulated):
    found = measured([Log.open(path) for path in simulated], [path.name for path in simulated])
    answer = size(
        found, fit(found.levels(), found.machine), Plan(), goals.read(["mean response < 200ms"]), []
    )
    truth = course(Work(think_s=0.5, cpu_s=0.05), Machine(cpus=2), 100).response_s
    users = answer.answer.users
    assert users is not None
    assert users.low <= np.count_nonzero(truth <= 0.2) <= users.high
    assert answer.answer.limit == "cpu"
    more = size(
        found, fit(found.levels(), found.machine), Plan(cpus=4), goals.read(["mean response < 200ms"]), []
    )
    fits = np.count_nonzero(course(Work(think_s=0.5, cpu_s=0.05), Machine(cpus=4), 200).response_s <= 0.2)
    assert more.answer.users.low <= fits <= more.answer.users.high


def test_json_of_the_command(simulated, capsys):
    paths = [str(path) for path in simulated]
    assert run(["size", *paths, "--users", "20,40", "--what-if", "cpus=4", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"users", "low", "high", "limit", "goal"} <= found["answer"].keys()
    assert [plan["plan"] for plan in found["plans"]] == ["as measured", "4 CPUs"]
    assert found["plans"][1]["users"] > found["plans"][0]["users"]
    predicted = [one for one in found["predictions"] if one["kind"] == "predicted"]
    assert {one["users"] for one in predicted} == {20, 40}
    quantities = {"response_s", "p90_response_s", "throughput_per_s", "utilisation"}
    assert {one["quantity"] for one in predicted} == quantities
    keys = {"users", "quantity", "value", "low", "high", "unit", "kind"}
    for one in found["predictions"]:
        assert one.keys() - {"resource"} == keys
        assert ("resource" in one) == (one["quantity"] == "utilisation")
    assert {one["resource"] for one in predicted if "resource" in one} == {"cpu", "rest"}
    measured_ = [one for one in found["predictions"] if one["kind"] == "measured"]
    assert {one["users"] for one in measured_} == {5, 10, 15, 20}
    assert {one["unit"] for one in found["predictions"]} == {"s", "1/s", "share"}
    for one in predicted:
        assert one["low"] <= one["value"] <= one["high"]


def test_a_throughput_goal_is_met_from_the_number_of_the_exact_network(simulated, capsys):
    paths = [str(path) for path in simulated]
    assert run(["size", *paths, "--goal", "throughput > 25/s", "--format", "json"]) == 0
    (goal,) = [one for one in json.loads(capsys.readouterr().out)["goals"] if "completed" in one["goal"]]
    truth = course(Work(think_s=0.5, cpu_s=0.05), Machine(cpus=2), 40).throughput_per_s
    assert goal["from"] == pytest.approx(1 + np.count_nonzero(truth < 25.0), abs=1)
    # Two CPUs complete 40 in a second at most.
    assert run(["size", *paths, "--goal", "throughput > 60/s"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "With no number of users, at least 60.0/s are completed." in said


@pytest.mark.parametrize(
    ("given", "numbers"), [("7", [7]), ("3..5", [3, 4, 5]), ("10..30..10", [10, 20, 30]), ("20,4", [4, 20])]
)
def test_numbers_of_users(simulated, capsys, given, numbers):
    assert run(["size", str(simulated[0]), "--users", given, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["predictions"]
    rows = [one["users"] for one in found if one["kind"] == "predicted" and one["quantity"] == "response_s"]
    assert rows == numbers


def test_the_answer_does_not_depend_on_the_numbers_that_are_asked_for(simulated, capsys):
    answers, rows = [], []
    for asked in ("8", "8,150"):
        assert run(["size", str(simulated[0]), "--users", asked, "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
        answers.append((found["answer"], found["goals"]))
        rows.append([one for one in found["predictions"] if one["users"] == 8])
    assert answers[0] == answers[1]
    assert rows[0] == rows[1]


def test_a_log_that_cannot_answer_is_refused_with_the_remedy(tmp_path, capsys):
    given = {
        "users": 2,
        "think": 1.0,
        "length": 60,
        "stations": [{"name": "cpu", "discipline": "fcfs", "service": 0.1}],
    }
    simulate("network", given, seed=1).record(tmp_path / "untraced")
    assert run(["size", str(tmp_path / "untraced")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "untraced has no interactions, and no users" in said
    assert "thinktime play" in said
    assert "thinktime record" in said


def test_one_user_alone_still_gets_an_answer(tmp_path, capsys):
    given = {"users": 1, "think": "exponential(mean=0.5)", "length": 120, "interval": 1.0}
    station = {
        "name": "cpu",
        "discipline": "processor_sharing",
        "servers": 2,
        "service": "exponential(mean=0.05)",
    }
    simulate("network", given | {"stations": [station]}, seed=3).record(tmp_path / "one", trace=True)
    assert run(["size", str(tmp_path / "one")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "cannot be checked on it" in said
    assert "the answer goes beyond twice that" in said


def logged(path, users: int, *, cpu_s: float = 0.05, think_s: float = 0.5, seed: int = 1):
    """Log of a simulated machine with two CPUs."""
    station = {
        "name": "cpu",
        "discipline": "processor_sharing",
        "servers": 2,
        "service": f"exponential(mean={cpu_s})",
    }
    given = {"users": users, "think": f"exponential(mean={think_s})", "length": 200, "interval": 1.0}
    simulate("network", given | {"stations": [station]}, seed=seed).record(path, trace=True)
    return Log.open(path)


def test_a_log_that_is_saturated_throughout_still_tells_how_many_fit(tmp_path):
    # 22 users fill two CPUs: with 60 and 80 nobody saw an idle one. CPU and think times say it all the same.
    logs = [logged(tmp_path / str(users), users) for users in (60, 80)]
    found = measured(logs, ["60", "80"])
    wanted = goals.read(["mean response < 200ms"])
    answer = size(found, fit(found.levels(), found.machine), Plan(), wanted, [])
    truth = np.count_nonzero(course(Work(think_s=0.5, cpu_s=0.05), Machine(cpus=2), 80).response_s <= 0.2)
    assert answer.answer.users is not None
    assert answer.answer.users.low <= truth <= answer.answer.users.high
    assert answer.answer.limit == "cpu"
    # How long one takes that does not wait, it hardly shows: the remedy is fewer users, not more.
    said = " ".join(" ".join(caveats(answer.found, Unknown(users=1, until=18, queue=False), found)).split())
    assert "With up to 18 users, the mean response is not known to a factor of three" in said
    assert "Record with fewer users as well" in said
    # Nor does more of the same tell it: only where the curve is known does time narrow the answer.
    wide = replace(answer.found.at, response=replace(answer.found.at.response, value=1.0, low=0.5, high=2.0))
    found_widely = replace(answer.found, at=wide)
    for unknown, is_known in ((Unknown(users=1, until=18, queue=False), False), (None, True)):
        said = " ".join(" ".join(caveats(found_widely, unknown, found)).split())
        assert "at that number is known to 75 % only" in said
        assert ("in all to know it to 15 %" in said) is is_known
        assert ("to record for longer with as many users as here would hardly narrow" in said) is not is_known


def test_light_work_of_which_any_number_fits_is_said_to_fit(tmp_path):
    found = measured([logged(tmp_path / "light", 6, cpu_s=0.001, think_s=5.0)], ["light"])
    answer = size(found, fit(found.levels(), found.machine), Plan(), goals.default(), [])
    # Memory was not recorded, which is no answer; the mean response is one.
    assert answer.answer.goal.kind == "response"
    assert answer.answer.users is None
    first, *_ = sentences(answer.found)
    assert first.startswith(f"At least {answer.answer.at_least} users fit on 2")
    said = " ".join(" ".join(caveats(answer.found, None, found)).split())
    assert "At most 6 users were measured" in said


def test_a_demand_that_grows_with_the_load_is_seen_to(tmp_path):
    # 30 % more CPU time with ever more waiting: 0.05 s alone, at 4, 12 and 20 users by the crowding there.
    work, machine, logs = Work(think_s=0.5, cpu_s=0.05, growth=0.3), Machine(cpus=2), []
    for users in (4, 12, 20, 28):
        exact = course(work, machine, users)
        number = float(exact.throughput_per_s[-1] * exact.response_s[-1])
        demand = work.cpu_s * (1.0 + work.growth * float(crowding(number, 2)))
        logs.append(logged(tmp_path / str(users), users, cpu_s=demand, seed=users))
    found = measured(logs, [str(users) for users in (4, 12, 20, 28)])
    fitted = fit(found.levels(), found.machine)
    assert np.quantile([one.growth for one in fitted.draws], 0.025) > 0.0
    low, high = np.quantile(fitted.courses(machine, 56).response_s[:, -1], (0.025, 0.975))
    truth = course(work, machine, 56).response_s[-1]
    assert low <= truth <= high
    # As if the demand at rest were that under load: too short.
    assert course(replace(work, growth=0.0), machine, 56).response_s[-1] < low


def test_an_idle_log_is_refused_with_the_remedy(tmp_path):
    found = measured([logged(tmp_path / "idle", 3, think_s=60.0)], ["idle"])
    assert isinstance(found, NotApplicable)
    assert "20 completed interactions" in found.reason
    assert "record for longer" in found.remedy


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--goal", "speed"], "is no goal"),
        (["--goal", "p42 response < 1s"], "p42 is not known here"),
        (["--goal", "response > 1s"], "write response < 1s"),
        (["--goal", "utilisation < 180%"], "give a part between 0 and 1"),
        (["--what-if", "cores=4"], "there are: cpus, cpu-speed"),
        (["--what-if", "cpu=-1"], "cpu -1: give a number"),
        (["--demand", "gpu*2"], "give cpu*FACTOR"),
        (["--users", "0"], "--users"),
        (["--users", "100000"], "give at most"),
        (["--memory", "much"], "much"),
        (["--memory", "64"], "64 is 64 bytes; give a unit, such as 64GB"),
    ],
)
def test_wrong_options_are_refused(simulated, capsys, options, said):
    assert run(["size", str(simulated[0]), *options]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_goals_say_what_they_mean():
    assert [goal.words for goal in goals.read(["p90 response < 2s", "utilisation < 80%"])] == [
        "90 % of the responses take at most 2.00\N{NO-BREAK SPACE}s",
        "the CPUs are busy for at most 80 % of the time",
        "memory suffices with a probability of at least 95 %",
    ]


def test_background_that_fills_the_machine_is_refused():
    with pytest.raises(InputError, match="leaves nothing of 2"):
        Machine(cpus=2, background=2.0)


def test_other_schedulers_are_those_of_theory():
    """Machine of one CPU; FCFS is exact for exponential demands, and sharing is insensitive to them."""
    work, machine = Work(think_s=1.0, cpu_s=0.1), Machine(cpus=1)
    random = np.random.default_rng(1)
    # Of variation 1: as sharing. Of variation 2.5: longer by first come, first served, not by short slices.
    plain, rare = -np.log1p(-(np.arange(4000) + 0.5) / 4000), np.where(random.random(4000) < 0.1, 8.0, 0.2)

    def slower(services, scheduler):
        found = percentiles(work, machine, services, 8, (0.9,), seed=1, scheduler=scheduler)
        return float(found.slower(8)[-1])

    fcfs, slices = Scheduler(name="fcfs"), Scheduler(name="round_robin", slice_s=0.001)
    # Errors of 24,000 interactions with common random numbers: some 2 %.
    assert slower(plain, fcfs) == pytest.approx(1.0, abs=0.06)
    assert slower(rare, fcfs) > 1.2
    assert slower(rare, slices) == pytest.approx(1.0, abs=0.06)
    # On two CPUs too, and slices longer than any demand are first come, first served.
    machine = Machine(cpus=2)
    assert slower(rare, slices) == pytest.approx(1.0, abs=0.06)
    assert slower(rare, Scheduler(name="round_robin", slice_s=10.0)) == pytest.approx(slower(rare, fcfs))


def test_a_scheduler_that_is_not_simulated_is_refused(simulated, capsys):
    assert run(["size", str(simulated[0]), "--what-if", "scheduler=lottery"]) == 2
    assert "give sharing, fcfs, or round-robin" in " ".join(capsys.readouterr().err.split())


def classed(random: np.random.Generator, n: int = 3000) -> Measured:
    """Interactions of two classes: three of four take 0.02 s of CPU time, the fourth 0.2 s, exponential."""
    kinds = np.where(random.random(n) < 0.25, "long", "short")
    services = random.exponential(np.where(kinds == "long", 0.2, 0.02))
    return Measured(
        names=("log",),
        machine=Machine(cpus=2),
        stretches=(),
        extra_cpu_s=0.0,
        services=services,
        memory=None,
        caveats=(),
        kinds=kinds,
    )


def test_shares_and_changes_of_classes_are_computed_by_hand():
    found = classed(np.random.default_rng(1))
    first, second = mix.classes(found)
    assert (first.name, second.name) == ("long", "short")
    assert first.cpu_share == pytest.approx(0.05 / 0.065, rel=0.05)
    assert first.cpu.low <= 0.2 <= first.cpu.high
    removed = mix.resolved(Plan(mix=(("long", 0.0),)), found)
    assert removed.mix_cpu == pytest.approx(0.02 / 0.065, rel=0.1)
    assert removed.changes.cpu == removed.mix_cpu
    doubled = mix.resolved(Plan(mix=(("long", 2.0),)), found)
    assert doubled.mix_cpu == pytest.approx((0.6 * 0.02 + 0.4 * 0.2) / 0.065, rel=0.1)
    short = found.services_of((("long", 0.0),))
    assert short.mean() == pytest.approx(found.services[found.kinds == "short"].mean(), rel=0.01)


def test_the_error_of_a_change_of_classes_holds():
    truth = np.log(0.02 / 0.065)
    plans = [
        mix.resolved(Plan(mix=(("long", 0.0),)), classed(np.random.default_rng(seed), 400))
        for seed in range(200)
    ]
    held = [abs(np.log(plan.mix_cpu) - truth) <= 1.96 * plan.mix_error for plan in plans]
    # Below 0.90 by chance in fewer than 2 of 1,000 such tests, if 95 % hold.
    assert np.mean(held) >= 0.90
    assert np.mean([abs(np.log(plan.mix_cpu) - truth) <= 0.98 * plan.mix_error for plan in plans]) < 0.8


def test_the_error_of_a_change_widens_the_answer():
    fitted = fit(levels(Machine(cpus=2), WORK, (4, 8), 0.02, 1), Machine(cpus=2))
    plain = fitted.courses(Machine(cpus=2), 16, Changes(cpu=0.5)).response_s[:, -1]
    wide = fitted.courses(Machine(cpus=2), 16, Changes(cpu=0.5, cpu_error=0.2)).response_s[:, -1]
    assert np.std(wide) > 1.5 * np.std(plain)


def test_work_at_low_priority_is_no_background(tmp_path):
    """Half a CPU of a batch job at nice 19 while four users are at work."""
    given = {"users": 4, "think": "exponential(mean=0.5)", "length": 120, "interval": 1.0}
    station = {"name": "cpu", "discipline": "processor_sharing", "service": "exponential(mean=0.05)"}
    simulate("network", given | {"stations": [station | {"servers": 2}]}, seed=3).record(
        tmp_path / "plain", trace=True
    )
    plain = Log.open(tmp_path / "plain")
    samples = plain.samples().select("start", "length_s").collect()
    inputs = plain.interactions().collect()
    ends = (samples["start"].dt.epoch("us") / 1e6 + samples["length_s"]).to_numpy()
    done = (inputs["completion"].dt.epoch("us") / 1e6).fill_null(ends[-1]).to_numpy()
    service = inputs["service_s"].fill_null(0.0).to_numpy()
    used = np.bincount(np.searchsorted(ends, done), service, minlength=len(ends) + 1)[: len(ends)]
    found = {}
    for low in (True, False):
        path = tmp_path / f"with-{low}"
        job = 0.5 * samples["length_s"].to_numpy()
        columns = [
            pl.Series("cpu_exact_s", used + job),
            pl.Series("low_priority_s", job if low else 0.0 * job),
        ]
        with LogWriter.open(path, source="test", machine={"cpus": 2}, start_us=0) as writer:
            writer.write("samples", samples.with_columns(columns))
            writer.write("interactions", inputs)
        found[low] = measured([Log.open(path)], ["log"])
    assert found[True].machine.background < 0.05
    assert found[True].stretches[0].aside == pytest.approx(0.5, rel=0.01)
    assert found[False].machine.background == pytest.approx(0.5, abs=0.05)


def test_a_class_that_is_not_there_is_refused(simulated, capsys):
    assert run(["size", str(simulated[0]), "--what-if", "class:compile=2"]) == 2
    assert "class:compile: is not in the log" in " ".join(capsys.readouterr().err.split())
    with pytest.raises(InputError, match="no interactions are left"):
        mix.resolved(Plan(mix=(("long", 0.0), ("short", 0.0))), classed(np.random.default_rng(1)))
