"""Capacity by event, from meters: Sekino 1971, Tables 1 to 3, and intervals that cover."""

import functools

import numpy as np
import pytest
import time_meters as made
from known_logs import starts
from scipy import stats

from thinktime.analyses.capacity import analysis as capacity
from thinktime.analyses.capacity import comparison as capacity_comparison
from thinktime.analyses.capacity import comparison_section as several
from thinktime.analyses.capacity import section as one
from thinktime.analyses.overhead import comparison as overhead_comparison
from thinktime.errors import InputError
from thinktime.log import LogError
from thinktime.stats.difference import difference
from thinktime.stats.estimate import NotApplicable
from thinktime.stats.series import batch_means

RUNS = 120
FALSE_ALARM = 1e-4
EVENT = "page fault"
QUANTITIES = ("share", "overhead", "time_between")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    columns = made.intervals(made.SMALL, 1, made.IDLE["small"], 1, n=2000)
    columns["eligible_mean"] = np.full(2000, 4.5)
    return made.write(tmp_path_factory.mktemp("small") / "small", columns, 1, core_kwords=256)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    columns = made.intervals(made.LARGE, 2, made.IDLE["large"], 2, n=2000)
    return made.write(tmp_path_factory.mktemp("large") / "large", columns, 2, core_kwords=384)


def test_metered_events_give_the_three_tables(small):
    """Figures put in come out, within what 2000 correlated intervals leave open (six standard errors)."""
    result = capacity.analyse(small)
    assert result.metered
    assert [event.label for event in result.events] == list(made.SMALL)
    for event in result.events:
        between, overhead, share = made.SMALL[event.label]
        assert _near(event.time_between, between / 1e3)
        assert _near(event.overhead, overhead / 1e3)
        # Printed shares are of printed digits.
        assert 100 * event.share.value == pytest.approx(share, abs=6 * 100 * _error(event.share) + 0.05)


def _error(estimate):
    return (estimate.high - estimate.low) / 4


def _near(estimate, truth):
    return abs(estimate.value - truth) < 6 * _error(estimate)


def test_the_identity_holds_and_the_column_adds_to_a_hundred(small):
    result = capacity.analyse(small)
    assert [check.label for check in result.checks] == list(made.SMALL)
    for check in result.checks:
        assert check.product == pytest.approx(check.share, rel=1e-9)
    assert result.accounted == pytest.approx(1.0)
    assert sum(part.share.value for part in result.states) == pytest.approx(1.0)
    # The order of Table 1.
    assert [part.label for part in result.states] == [*made.SMALL, "idle", "useful work"]
    assert result.unattributed is None
    assert result.lock_wait is None
    names = {item.name: item.value for item in result.conditions}
    assert names["core_kwords"] == 256
    assert names["eligible_mean"].value == pytest.approx(4.5)


def test_time_that_no_state_has_breaks_the_identity_and_is_said(tmp_path):
    columns = made.intervals(made.SMALL, 1, made.IDLE["small"], 1, n=50)
    columns["idle_s"] = 0.0 * columns["idle_s"]
    result = capacity.analyse(made.write(tmp_path / "log", columns, 1))
    assert result.accounted < 0.9
    assert all(check.product < 0.9 * check.share for check in result.checks)
    (caveat,) = [item for item in result.caveats if item.kind == "states_incomplete"]
    assert caveat.values["measured"] == pytest.approx(result.accounted)


def test_system_time_that_no_meter_counts_is_set_apart(tmp_path):
    columns = made.intervals(made.SMALL, 1, made.IDLE["small"], 1, n=50)
    columns["other_s"] = 0.25 * columns["useful_s"]
    columns["useful_s"] = 0.75 * columns["useful_s"]
    result = capacity.analyse(made.write(tmp_path / "log", columns, 1))
    expected = columns["other_s"].sum() / (15.0 * 50)
    assert result.unattributed.value == pytest.approx(expected)
    assert [part.label for part in result.states][-3:] == ["other", "idle", "useful work"]


def test_an_event_that_never_happened_has_no_overhead(tmp_path):
    columns = made.intervals(made.SMALL, 1, made.IDLE["small"], 1, n=50)
    columns["gate_faults"] = columns["gate_fault_s"] = np.zeros(50)
    log = made.write(tmp_path / "log", columns, 1)
    result = capacity.analyse(log)
    event = result.events[-1]
    assert (event.overhead, event.time_between, event.share.value) == (None, None, 0.0)
    assert "gate fault" not in [check.label for check in result.checks]
    assert [row[0] for row in one.section(result).tables[1].rows][-1] == "Gate fault"


@pytest.mark.parametrize(
    ("meters", "said"),
    [
        ([{"event": "page fault", "count": "page_faults", "time": "gone_s"}], "no column gone_s"),
        ([{"event": "page fault"}], "does not name an event, its count and its time"),
        ([made.METERS[0], made.METERS[0]], "is in another meter too"),
    ],
)
def test_meters_that_cannot_be_used_are_named(tmp_path, meters, said):
    columns = made.intervals(made.SMALL, 1, made.IDLE["small"], 1, n=15)
    result = capacity.analyse(made.write(tmp_path / "log", columns, 1, meters=meters))
    assert any(said in text for text in one.section(result).caveats), result.caveats


def test_meters_of_a_wrong_type_are_refused_with_the_place(tmp_path):
    columns = made.intervals(made.SMALL, 1, made.IDLE["small"], 1, n=15)
    with pytest.raises(LogError, match=r"manifest\.json: session 1: machine\.meters is 'all of them'"):
        capacity.analyse(made.write(tmp_path / "log", columns, 1, meters="all of them"))


def test_configurations_stand_side_by_side(small, large):
    result = capacity_comparison.compare([small, large], ["small", "large"])
    assert result.metered
    fault = next(line for line in result.overheads if line.label == EVENT)
    assert fault.differences[0].value == pytest.approx(fault.values[1].value - fault.values[0].value)
    assert _near(fault.differences[0], (4.31 - 1.95) / 1e3)
    assert [line.label for line in result.states] == [*made.SMALL, "idle", "useful work"]
    assert sum(line.differences[0].value for line in result.states) == pytest.approx(0.0, abs=1e-12)
    # Only where two processors wait for each other, and part of the page faults' time.
    assert result.results[1].lock_wait.value == pytest.approx(0.1 * result.states[0].values[1].value)
    settings = {item.label: item.values for item in result.settings}
    assert settings["CPUs"] == (1, 2)
    assert settings["core"] == (256, 384)
    section = several.section(result)
    # A smaller share of twice the capacity is more work.
    assert section.summary[1].startswith("The capacities differ: that is ")
    assert section.summary[1].endswith("CPUs in large.")
    assert "1.9" in section.summary[3]
    assert section.figures[0].chart()["layer"]
    with pytest.raises(InputError, match="needs 2 or more"):
        capacity_comparison.compare([small], ["small"])


def test_logs_without_meters_are_given_the_same_events(log_of):
    found = [log_of(_plain(seed), machine={"cpus": 1}, name=f"log{seed}") for seed in (1, 2)]
    result = capacity_comparison.compare(found, ["a", "b"])
    assert not result.metered
    (line,) = result.overheads
    assert line.name == "forks"
    for value in line.values:
        assert value.value == pytest.approx(1e-3, rel=0.05)
    assert {part.column for part in result.results[0].states} == {"user_s", "system_s", "idle_s"}


def _plain(seed, n=120):
    random = np.random.default_rng(seed)
    forks = 100.0 * made.varied(random, n)
    system = 1e-3 * forks + 0.05 + 0.002 * random.normal(size=n)
    length = np.full(n, 1.0)
    return {
        "start": starts(length),
        "length_s": length,
        "system_s": system,
        "user_s": 0.5 * length,
        "idle_s": 0.5 - system,
        "forks": forks,
    }


def test_a_log_without_states_is_named_in_a_comparison(small, log_of):
    result = capacity_comparison.compare([small, log_of(name="empty")], ["small", "empty"])
    assert isinstance(result, NotApplicable)
    assert result.reason.startswith("empty: no CPU state")
    assert several.section(result).not_applicable


@functools.cache
def runs():
    """Estimates of many logs of either configuration, and intervals that take rows as independent."""
    found = []
    for seed in range(RUNS):
        pair = []
        for table, cpus, idle in ((made.SMALL, 1, "small"), (made.LARGE, 2, "large")):
            columns = made.intervals(table, cpus, made.IDLE[idle], (seed, cpus))
            seen = made.states(columns)
            event = capacity.metered_event(seen, seen.meters[0], cpus, 0.95)
            count, time = columns["page_faults"], columns["page_fault_s"]
            all_s = sum(columns[name] for name in seen.uses)
            naive = (
                batch_means.batch_ratio(time, all_s, independent=True),
                batch_means.batch_ratio(time, count, independent=True),
                batch_means.batch_ratio(all_s, count, independent=True),
            )
            pair.append(([getattr(event, name) for name in QUANTITIES], naive))
        found.append(pair)
    return found


def truths(table):
    """Share, overhead [s] and time between events [s] that were put in."""
    between, overhead, _ = table[EVENT]
    return overhead / between, overhead / 1e3, between / 1e3


def covered(intervals, truth):
    return sum(interval.low <= truth <= interval.high for interval in intervals)


@pytest.mark.parametrize("at", range(3), ids=QUANTITIES)
def test_intervals_cover_what_was_put_in(at):
    """H0: coverage is 0.95; false alarm of all three together 1e-4, over both configurations.

    The canary: intervals that take successive rows as independent do not pass.
    """
    least = stats.binom.ppf(FALSE_ALARM / 3, 2 * RUNS, 0.95)
    for kind, passes in ((0, True), (1, False)):
        hits = sum(
            covered([pair[which][kind][at] for pair in runs()], truths(table)[at])
            for which, table in enumerate((made.SMALL, made.LARGE))
        )
        assert bool(hits >= least) == passes, (hits, least)


@pytest.mark.parametrize("at", range(3), ids=QUANTITIES)
def test_intervals_of_differences_cover_the_difference(at):
    """H0: coverage is 0.95; false alarm of all three together 1e-4.

    The canary: a difference that is wrong by a fifth of the first value is not covered so often.
    """
    found = [difference(small[0][at], large[0][at]) for small, large in runs()]
    first, second = truths(made.SMALL)[at], truths(made.LARGE)[at]
    least = stats.binom.ppf(FALSE_ALARM / 3, RUNS, 0.95)
    assert covered(found, second - first) >= least
    assert covered(found, second - 0.8 * first) < least


def test_logs_without_a_request_in_common_are_each_fitted_by_themselves(log_of):
    first, second = _plain(1), _plain(2)
    second["interrupts"] = second.pop("forks")
    found = [log_of(columns, machine={"cpus": 1}, name=str(at)) for at, columns in enumerate((first, second))]
    refused = overhead_comparison.compare(found, ["a", "b"])
    assert isinstance(refused, NotApplicable)
    assert "no request is counted in all" in refused.reason
    result = capacity_comparison.compare(found, ["a", "b"])
    lines = {line.name: line.values for line in result.overheads}
    assert set(lines) == {"forks", "interrupts"}
    assert lines["forks"][1] is None
    assert lines["interrupts"][0] is None
    # The difference of nothing is not shown; that of the uses is.
    names = {table.name for table in several.section(result).tables}
    assert "capacity-overheads-differences" not in names
    assert "capacity-uses-differences" in names


@pytest.mark.parametrize(("users", "has_interval"), [("12", True), (12, True), ("1..12", False)])
def test_shares_of_a_play_that_steps_through_loads_are_described(log_of, users, has_interval):
    """How many intervals have which load was chosen: an interval of their mean would be of nothing."""
    random, length = np.random.default_rng(1), np.full(200, 1.0)
    busy = 0.9 * random.random(200)
    made = {"start": starts(length), "length_s": length, "user_s": busy, "system_s": 0.1 * busy}
    made["idle_s"] = 1.0 - 1.1 * busy
    result = capacity.analyse(log_of(made, terminals={"users": users}))
    assert (result.user.low is not None) == has_interval
    assert result.user.value == pytest.approx(busy.mean())
    assert any(caveat.kind == "loads_chosen" for caveat in result.caveats) != has_interval
