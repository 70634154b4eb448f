"""Two logs compared: at equal load what was changed is found, and nothing where nothing was."""

import changed_logs
import numpy as np
import pytest
from changed_logs import LENGTH_S
from interval_coverage.compared import stretches
from scipy import stats

from thinktime import cli
from thinktime.analyses.compare.comparison import compare
from thinktime.analyses.compare.comparison_section import section
from thinktime.analyses.compare.pieces import Line, adjusted_difference
from thinktime.analyses.compare.unit_means import Cell
from thinktime.errors import InputError
from thinktime.log import Column
from thinktime.stats.estimate import NotApplicable

EARLY, LATE = range(8), range(14, 22)


def columns(at, treated=0, **options):
    return changed_logs.days((treated,) * len(at), at, **options)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Eight days before and eight after: a VSIO costs 1.8 ms less, and users are four more."""
    folder = tmp_path_factory.mktemp("logs")
    before = changed_logs.write(folder / "before", columns(EARLY, seed=11))
    after = changed_logs.write(folder / "after", columns(LATE, 1, saved=0.0018, loaded=4.0, seed=12))
    return before, after


@pytest.fixture(scope="module")
def result(logs):
    return compare(*logs)


def covers(estimate, truth):
    return estimate.low <= truth <= estimate.high


def test_the_change_is_found_and_nothing_else(result):
    work = result.effect("system_time", "work")
    assert work.test.p < 1e-4
    assert work.difference.value < 0.0
    costs = {item.request: item for item in result.costs}
    assert covers(costs["vsio"].differences[0], -0.0018)
    assert costs["vsio"].test.p < 1e-4
    assert covers(costs["page_ios"].differences[0], 0.0)
    assert covers(result.effect("user_time", "load").difference, 0.0)
    assert covers(result.effect("vsio", "load").difference, 0.0)


def test_slopes_and_ranges_of_load_agree(result):
    """Two ways to the same difference at equal load: each lies in the other's interval."""
    for name in ("user_time", "system_time", "vsio", "page_ios"):
        effect = result.effect(name, "load")
        assert covers(effect.by_range, effect.difference.value)
        assert covers(effect.difference, effect.by_range.value)
    assert result.effect("system_time", "work").by_range is None


def test_whole_means_are_not_compared(result):
    assert {item.adjusted for item in result.effects} == {"load", "work"}
    kinds = [caveat.kind for caveat in result.caveats]
    assert "trend_within" not in kinds
    assert result.after.load.value - result.before.load.value == pytest.approx(4.0, abs=2.5)
    assert (result.piece, result.before.pieces, result.after.pieces) == ("day", 8, 8)
    assert kinds[0] == "not_assigned"


def cells(found):
    """Moments of each day of `changed_logs.days`: problem time, users and their square."""
    users = found["active_users"]
    values = np.column_stack([found["problem_s"] / LENGTH_S, users, users**2])
    made = []
    for rows in np.split(np.arange(len(users)), len(users) // 100):
        made.append(Cell())
        made[-1].absorb(values[rows], np.full(len(rows), LENGTH_S), int(found["start"][rows[0]]))
    return made, values


def test_intervals_cover_where_those_of_observations_do_not():
    """No change, but four users more: 200 pairs of logs, binomial at 0.95, false-alarm rate 1e-4.

    The canary is the regression on observations with its textbook interval for the change.
    """
    runs, covered, naive = 200, 0, 0
    for seed in range(runs):
        (before, first), (after, second) = (
            cells(columns(at, treated, loaded=4.0, seed=2 * seed + treated))
            for at, treated in ((EARLY, 0), (LATE, 1))
        )
        found = adjusted_difference(before, after, 0, [1, 2]).estimate("s/s", "", 0.95)
        covered += covers(found, 0.0)
        values = np.vstack([first, second])
        change = np.repeat([0.0, 1.0], [len(first), len(second)])
        x = np.column_stack([np.ones(len(values)), change, values[:, 1:]])
        slopes, rest, *_ = np.linalg.lstsq(x, values[:, 0], rcond=None)
        degrees = len(values) - x.shape[1]
        error = np.sqrt(rest[0] / degrees * np.linalg.inv(x.T @ x)[1, 1])
        naive += abs(slopes[1]) <= stats.t.ppf(0.975, degrees) * error
    low, high = stats.binom.ppf([5e-5, 1 - 5e-5], runs, 0.95)
    assert low <= covered <= high
    assert naive < 0.6 * runs


def test_stretches_of_a_short_log_are_not_independent():
    """An hour of minutes, errors AR(1) 0.9: 100 pairs, H0 that 92 % are covered, false alarm 1e-4.

    The canary is the jackknife over the twelve pieces, which covers some 66 %.
    """
    runs, hits, canary = 100, 0, 0
    for seed in range(runs):
        random = np.random.default_rng(seed)
        both = stretches(random, 60, 0.9), stretches(random, 60, 0.9)
        line = Line.of(both, 0, [1, 2])
        plain = adjusted_difference(both[0].cells, both[1].cells, 0, [1, 2])
        found = line.difference(*both)
        assert found.value == pytest.approx(plain.value)
        hits += covers(found.estimate("", "", 0.95), 0.0)
        canary += covers(plain.estimate("", "", 0.95), 0.0)
    least = stats.binom.ppf(1e-4, runs, 0.92)
    assert canary < least <= hits


def test_the_difference_is_that_of_a_regression_with_a_level_for_each_day():
    """Oracle: least squares with an indicator of each day; the days of each log averaged."""
    (before, first), (after, second) = (
        cells(columns(EARLY, seed=3)),
        cells(columns(LATE, 1, loaded=4.0, seed=4)),
    )
    values = np.vstack([first, second])
    x = np.column_stack([np.kron(np.eye(16), np.ones((100, 1))), values[:, 1:]])
    levels = np.linalg.lstsq(x, values[:, 0], rcond=None)[0][:16]
    expected = levels[8:].mean() - levels[:8].mean()
    assert adjusted_difference(before, after, 0, [1, 2]).value == pytest.approx(expected, rel=1e-8)


def test_a_trend_is_named_for_what_it_is(tmp_path):
    """User time grows by 0.01 s/s each day in both logs: no change, and the trend accounts for all."""
    written = []
    for name, at in (("before", EARLY), ("after", LATE)):
        made = columns(at, day_sd=0.001, follows=0.3, seed=5 + len(written))
        made["problem_s"] = made["problem_s"] + 0.01 * LENGTH_S * np.repeat(list(at), 100)
        written.append(changed_logs.write(tmp_path / name, made))
    found = compare(*written, requests=())
    effect = found.effect("user_time", "load")
    assert covers(effect.drift_before, 0.01 * 7)
    assert covers(effect.carried, effect.difference.value)
    assert effect.test.p < 1e-4
    assert any("trend within the logs" in text and "user time" in text for text in section(found).caveats)


def test_short_logs_are_cut_into_stretches(tmp_path):
    before = changed_logs.write(tmp_path / "before", columns(range(1), follows=0.0, seed=1))
    after = changed_logs.write(tmp_path / "after", columns(range(1, 2), 1, follows=0.0, lift=0.05, seed=2))
    found = compare(before, after, requests=())
    assert (found.piece, found.before.pieces, found.after.pieces) == ("piece", 12, 12)
    assert found.piece_s[0] == pytest.approx(100 * LENGTH_S / 12)


def refused(*logs, **options):
    with pytest.raises(InputError) as said:
        compare(*logs, **options)
    return str(said.value)


def test_logs_that_do_not_follow_each_other_are_refused(tmp_path, logs):
    before, after = logs
    assert "give BEFORE first, then AFTER" in refused(after, before)
    inside = changed_logs.write(tmp_path / "inside", columns(range(4, 12)))
    said = refused(before, inside)
    assert "overlap: one continues to 1970-05-11T16:20, the other begins at 1970-05-08T08:00" in said
    assert "is not a quantity of this log" in refused(before, after, quantities=["vmio"])
    # Simulated times all begin at one epoch; two machines may be watched at one time.
    simulated = changed_logs.write(tmp_path / "simulated", columns(range(4, 12)), replication={"index": 0})
    assert compare(before, simulated, requests=()).effects[0].carried is None
    here = changed_logs.write(tmp_path / "here", columns(EARLY), hostname="here")
    there = changed_logs.write(tmp_path / "there", columns(EARLY, seed=2), hostname="there")
    assert any(
        "different machines (here, there)" in line
        for line in section(compare(here, there, requests=())).caveats
    )


def test_what_cannot_be_compared_is_an_answer(tmp_path, logs):
    before, _ = logs
    other = (
        *changed_logs.SCHEMA[:2],
        Column(
            name="tapes", type="f64", unit="tape", kind="counter", description="tapes mounted", role="request"
        ),
    )
    made = columns(LATE)
    made["tapes"] = np.ones(len(made["start"]))
    only = changed_logs.write(
        tmp_path / "tapes", {name: made[name] for name in ("start", "length_s", "tapes")}, other
    )
    found = compare(before, only)
    assert isinstance(found, NotApplicable)
    assert "nothing in common" in found.reason
    short = changed_logs.write(tmp_path / "short", {name: values[:2] for name, values in made.items()})
    found = compare(before, short)
    assert isinstance(found, NotApplicable)
    assert "has 2 pieces" in found.reason
    without = [
        column for column in changed_logs.SCHEMA if column.role not in ("load", "request", "user_time")
    ]
    bare = changed_logs.write(tmp_path / "bare", made, tuple(without))
    found = compare(before, bare)
    assert isinstance(found, NotApplicable)
    assert "no requests" in found.reason


def test_a_quantity_that_one_log_lacks_is_named(tmp_path, logs):
    before, _ = logs
    schema = tuple(column for column in changed_logs.SCHEMA if column.name != "page_ios")
    after = changed_logs.write(tmp_path / "after", columns(LATE), schema)
    found = compare(before, after)
    assert found.not_common == ("page_ios",)
    assert any("only one of the logs has page_ios" in text for text in section(found).caveats)


def test_loads_that_hardly_overlap_are_named(tmp_path, logs):
    before, _ = logs
    after = changed_logs.write(tmp_path / "after", columns(LATE, 1, loaded=25.0))
    found = compare(before, after, requests=())
    assert "loads_hardly_overlap" in {caveat.kind for caveat in found.caveats}


def test_the_command_compares_two_logs(logs, capsys):
    before, after = logs
    first, second = str(before.path), str(after.path)
    assert cli.run(["analyse", "compare", first, second]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "after versus before (p < 0.001)" in printed
    assert "whole means are not" in printed
    for arguments, message in (
        ([first, second, "--treatment", "new"], "--treatment: applies to one log"),
        ([first, first], "given twice"),
        ([first, second, first], "3 logs are given"),
    ):
        assert cli.run(["analyse", "compare", *arguments]) == 2
        assert message in capsys.readouterr().err
