"""CPU time of an interaction, part by part: Sekino 1969, Figures 1 to 3, and slopes whose intervals cover."""

import functools
from dataclasses import replace

import metered_interactions as made
import numpy as np
import pytest
from known_logs import instants, starts
from scipy import stats

from thinktime.analyses.capacity import analysis as capacity
from thinktime.analyses.cpu_per_interaction import analysis as cpu_per_interaction
from thinktime.analyses.cpu_per_interaction.section import section
from thinktime.log import Log
from thinktime.sources.simulated import simulate
from thinktime.stats.estimate import Caveat, NotApplicable
from thinktime.stats.series import ratio_regression

RUNS = 100
FALSE_ALARM = 1e-4
USERS = tuple(made.FAULTS)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("users")
    return [made.write(folder / f"users-{users}", made.intervals(users, 1)) for users in USERS]


@pytest.fixture(scope="module")
def result(logs):
    return cpu_per_interaction.analyse(logs, [log.path.name for log in logs])


def _error(estimate):
    return (estimate.high - estimate.low) / 4


def _near(estimate, truth):
    return abs(estimate.value - truth) < 6 * _error(estimate)


def test_what_was_put_in_comes_out_at_each_number_of_users(result):
    """Within six standard errors."""
    assert [point.users_low for point in result.points] == list(USERS)
    for point, faults in zip(result.points, made.FAULTS.values(), strict=True):
        run, processing, other = point.components
        assert _near(run, made.RUN_S)
        assert _near(processing, made.processing(faults))
        assert _near(other, made.OTHER_S * faults)
        assert _near(point.events, faults)
        assert point.cpu.value == pytest.approx(sum(part.value for part in point.components))
        assert sum(share.value for share in point.shares) == pytest.approx(1.0)
        assert point.per_event[1].value == pytest.approx(processing.value / point.events.value)
        assert not point.few


def test_lines_tell_what_an_added_page_fault_goes_with(result):
    slopes = {line.component: line.slope for line in result.lines}
    assert _near(slopes["page-fault processing"], made.ADDED_S)
    assert _near(slopes["run"], 0.0)
    assert _near(slopes["other faults"], made.OTHER_S)
    parts = sum(slopes[name].value for name in result.components)
    assert slopes["CPU time"].value == pytest.approx(parts)
    # The run share falls as users are added.
    shares = [point.shares[0].value for point in result.points]
    assert shares == sorted(shares, reverse=True)
    assert Caveat("slopes_are_associations") in result.caveats


def test_points_on_no_line_are_said_to_be_on_none(tmp_path):
    columns = {
        users: made.intervals(users, 1, faults=faults) for users, faults in ((4, 10), (10, 40), (17, 20))
    }
    columns[10]["script_other_fault_s"] = 2.0 * columns[10]["script_other_fault_s"]
    columns[17]["script_other_fault_s"] = 4.0 * columns[17]["script_other_fault_s"]
    found = cpu_per_interaction.analyse(
        [made.write(tmp_path / "log", made.joined(list(columns.values())))], ["log"]
    )
    (caveat,) = (caveat for caveat in found.caveats if caveat.kind == "not_a_line")
    assert "other faults" in caveat.values["components"]
    assert "run" not in caveat.values["components"]


def test_one_log_whose_users_vary_says_the_same_as_one_a_number_of_users(result, tmp_path):
    whole = made.write(tmp_path / "all", made.joined([made.intervals(users, 1) for users in USERS]))
    both = cpu_per_interaction.analyse([whole], ["all"])
    for ours, theirs in zip(both.points, result.points, strict=True):
        assert (ours.cpu, ours.components, ours.n) == (theirs.cpu, theirs.components, theirs.n)
    assert both.lines == result.lines


def test_a_section_has_tables_and_the_three_figures(result):
    shown = section(result)
    assert {table.name for table in shown.tables} == {
        "cpu-per-interaction-times",
        "cpu-per-interaction-shares",
        "cpu-per-interaction-per-event",
        "cpu-per-interaction-lines",
    }
    assert {figure.name for figure in shown.figures} == {
        "cpu-per-interaction-shares",
        "cpu-per-interaction-users",
        "cpu-per-interaction-events",
        "cpu-per-interaction-lines",
    }
    assert all(figure.chart()["config"] for figure in shown.figures)
    assert "an additional one came with" in shown.summary[2]


def test_a_time_that_may_be_none_is_no_sentence(result):
    """Half a millisecond with each page fault, give or take two: the table has it, and no sentence."""
    (first, *others), (line, *lines) = result.points, result.lines
    (run, system), wide = first.per_event[:2], {"low": -1e-3, "high": 2e-3}
    unsure = replace(first, per_event=(run, replace(system, **wide), *first.per_event[2:]))
    shown = section(replace(result, points=(unsure, *others)))
    assert not any("came with" in sentence for sentence in shown.summary)
    sloping = [replace(item, slope=replace(item.slope, low=-1.0, high=1.0)) for item in (line, *lines)]
    said = " ".join(section(replace(result, lines=tuple(sloping))).summary)
    assert "came with" in said
    assert "an additional one" not in said


def test_one_number_of_users_has_no_line(logs):
    (point,) = (found := cpu_per_interaction.analyse(logs[:1], ["one"])).points
    assert found.lines == ()
    shown = section(found)
    assert [figure.name for figure in shown.figures] == ["cpu-per-interaction-shares"]
    assert f"{point.users_low:g} users" in shown.summary[0]


def test_no_line_is_drawn_where_events_hardly_differ(tmp_path, logs):
    """Two logs of the same load: the noise of their times would decide the slopes."""
    again = made.write(tmp_path / "again", made.intervals(USERS[0], 2))
    found = cpu_per_interaction.analyse([logs[0], again], ["one", "again"])
    one, other = (point.events.value for point in found.points)
    assert found.lines == ()
    difference = max(one, other) / min(one, other) - 1.0
    assert Caveat("similar_events", difference=difference) in found.caveats
    assert not any(part.name.endswith("-lines") for part in (*section(found).figures, *section(found).tables))


def test_two_points_are_always_on_a_line_and_few_are_left_out(tmp_path, logs):
    short = made.write(tmp_path / "short", made.intervals(17, 5, n=6))
    found = cpu_per_interaction.analyse([*logs[:2], short], ["a", "b", "short"])
    assert [point.few for point in found.points] == [False, False, True]
    assert [line.deviation for line in found.lines] == [0.0] * 4
    assert Caveat("two_points") in found.caveats
    assert Caveat("few", users=(17.0,)) in found.caveats


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"parts": [{"name": "run"}]}, "machine.decomposition.parts[0].time is missing"),
        ({"interactions": "gone"}, "names gone, which the samples lack"),
        ({"parts": "all"}, "is not complete"),
    ],
)
def test_a_description_that_cannot_be_used_is_named(tmp_path, changed, reason):
    log = made.write(tmp_path / "log", made.intervals(4, 1, n=20), {**made.ENTRY, **changed})
    found = cpu_per_interaction.analyse([log], ["log"])
    assert isinstance(found, NotApplicable)
    assert reason in found.reason
    assert section(found).not_applicable


def test_logs_of_other_components_are_not_joined(tmp_path, logs):
    entry = {**made.ENTRY, "parts": made.ENTRY["parts"][:2]}
    other = made.write(tmp_path / "other", made.intervals(10, 1, n=20), entry)
    found = cpu_per_interaction.analyse([logs[0], other], ["first", "other"])
    assert isinstance(found, NotApplicable)
    assert found.reason.startswith(
        "other has other components (run, page-fault processing of scripted users)"
    )


def test_played_interactions_know_their_own_time(log_of):
    """User and system time, and page faults, of the processes that served them."""
    random = np.random.default_rng(3)
    users = np.repeat([1.0, 2.0, 4.0], 100)
    faults = random.poisson(40 + 10 * users)
    arrival = np.arange(300.0)
    played = {
        "user": ["a"] * 300,
        "population": users,
        "due": instants(arrival),
        "completion": instants(arrival + 0.5),
        "user_s": 0.02 * random.gamma(9.0, 1 / 9.0, 300),
        "system_s": 5e-6 * faults + 1e-3,
        "page_faults_minor": faults,
    }
    found = cpu_per_interaction.analyse([log_of(interactions=played)], ["log"])
    assert (found.of, found.event, found.components) == (
        "played users",
        "page fault",
        ("user time", "system time"),
    )
    assert [point.users for point in found.points] == [1.0, 2.0, 4.0]
    slopes = {line.component: line.slope for line in found.lines}
    assert slopes["system time"].value == pytest.approx(5e-6)
    assert Caveat("charged_time") in found.caveats


def test_else_the_whole_machine_is_divided_by_interactions_and_said_to_be(log_of):
    length = np.full(60, 2.0)
    arrival = np.arange(0.05, 119.0, 0.5)
    samples = {
        "start": starts(length),
        "length_s": length,
        "user_s": 0.8 * length,
        "system_s": 0.2 * length,
        "idle_s": length,
    }
    played = {
        "user": ["a"] * len(arrival),
        "population": np.ones(len(arrival)),
        "due": instants(arrival),
        "completion": instants(arrival + 0.1),
    }
    found = cpu_per_interaction.analyse([log_of(samples, played)], ["log"])
    (point,) = found.points
    assert [part.value for part in point.components] == pytest.approx([0.4, 0.1], rel=0.02)
    assert found.event is None
    assert Caveat("whole_machine") in found.caveats


def test_a_log_without_interactions_is_told_what_to_do(log_of):
    found = cpu_per_interaction.analyse([log_of()], ["log"])
    assert isinstance(found, NotApplicable)
    assert "thinktime play" in found.remedy


@functools.cache
def slopes():
    """Lines of page-fault processing of many sets of logs; and with rows whose order is lost."""
    found, random = [], np.random.default_rng(RUNS)
    for seed in range(RUNS):
        groups, rows = [], []
        for users in USERS:
            seen = made.intervals(users, seed)
            columns = [
                seen[name] for name in ("script_page_faults", "script_page_fault_s", "script_interactions")
            ]
            groups.append(ratio_regression.group_sums(*columns))
            order = random.permutation(len(columns[0]))
            rows.append(ratio_regression.group_sums(*(column[order] for column in columns)))
        found.append((ratio_regression.fit_line(groups), ratio_regression.fit_line(rows)))
    return found


def test_slopes_cover_what_was_put_in():
    """H0: coverage of slope and of intercept is 0.95; false alarm of both together 1e-4.

    The canary: intervals of the same rows in random order, without their correlation, do not pass.
    """
    truth = {"slope": made.ADDED_S, "intercept": made.processing(0.0)}
    least = stats.binom.ppf(FALSE_ALARM / 2, RUNS, 0.95)
    for name, true in truth.items():
        for kind, passes in ((0, True), (1, False)):
            intervals = [getattr(lines[kind], name) for lines in slopes()]
            hits = sum(interval.low <= true <= interval.high for interval in intervals)
            assert bool(hits >= least) == passes, (name, kind, hits, least)


def test_a_line_needs_two_groups_that_differ():
    one = ratio_regression.group_sums(np.arange(20.0), np.arange(20.0), np.ones(20))
    assert ratio_regression.fit_line([one]) is None
    assert ratio_regression.fit_line([one, one]) is None
    whole = ratio_regression.GroupSums(
        x=np.array([1.0, 3.0]), y=np.array([1.0, 3.0]), count=np.array([0.0, 1.0])
    )
    assert ratio_regression.fit_line([one, whole]) is None


def test_a_line_that_is_exact_has_no_error():
    groups = [
        ratio_regression.group_sums(x * np.ones(40), (2.0 + 3.0 * x) * np.ones(40), np.ones(40))
        for x in (1.0, 2.0, 5.0)
    ]
    line = ratio_regression.fit_line(groups)
    assert (line.slope.value, line.intercept.value) == pytest.approx((3.0, 2.0))
    assert line.slope.high - line.slope.low == pytest.approx(0.0, abs=1e-9)
    assert line.deviation == pytest.approx(0.0, abs=1e-9)


def test_a_simulated_multics_says_of_itself_what_its_meters_say(tmp_path):
    """Capacity and decomposition of the log, and the responses that the machine gives: one figure each."""
    made_by = simulate("multics", {"cpus": 2, "core": 384, "users": 48, "length": 900.0}, seed=1)
    made_by.record(tmp_path / "log")
    told = made_by.responses.row(0, named=True)
    log = Log.open(tmp_path / "log")
    metered = capacity.analyse(log)
    for event in metered.events:
        name = event.label.replace(" ", "_")
        assert event.share.value == pytest.approx(told[f"{name}_share"])
        assert event.overhead.value == pytest.approx(told[f"{name}_overhead_s"])
        assert event.time_between.value == pytest.approx(told[f"{name}_between_s"])
    assert metered.user.value == pytest.approx(told["useful_share"])
    assert metered.lock_wait.value == pytest.approx(told["lock_wait_share"])
    assert metered.accounted == pytest.approx(1.0)
    found = cpu_per_interaction.analyse([log], ["log"])
    (point,) = found.points
    assert point.cpu.value == pytest.approx(told["cpu_per_interaction_s"])
    names = ("run_per_interaction_s", "page_fault_s_per_interaction", "other_fault_s_per_interaction")
    assert [part.value for part in point.components] == pytest.approx([told[name] for name in names])
    assert point.events.value == pytest.approx(told["page_faults_per_interaction"])
