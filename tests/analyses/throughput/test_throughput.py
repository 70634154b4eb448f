"""Throughput by load against truth that was put in."""

import numpy as np
import polars as pl
import pytest
from known_logs import closed_system, frame, starts, steady

from thinktime.analyses.throughput import analysis as throughput
from thinktime.analyses.throughput.section import section
from thinktime.log import Log, LogWriter, vocabulary
from thinktime.log.loads import ranges
from thinktime.stats.estimate import NotApplicable


def test_throughput_is_the_mean_at_each_load(log_of):
    """Work saturates at four users; the curve shows it, and the whole-log mean does not enter."""
    n = 400
    random = np.random.default_rng(2)
    users = random.integers(0, 9, n)
    length = np.full(n, 10.0)
    made = {
        "start": starts(length),
        "length_s": length,
        "user_s": length * np.minimum(users, 4) * 0.25 * (0.9 + 0.2 * random.random(n)),
        "system_s": length * 0.05 * users,
        "idle_s": length * 0.5,
        "forks": 10 * users * length,
        "active_users": users,
    }
    result = throughput.analyse(log_of(made))
    assert result.load == "active_users"
    assert [(group.load_low, group.load_high) for group in result.groups] == [(u, u) for u in range(9)]
    assert [item.useful for item in result.measures if item.name == "user_time"] == [True]
    for group in result.groups:
        expected = min(group.load_low, 4) * 0.25
        found = group.means["user_time"]
        assert found.value == pytest.approx(expected, rel=0.05)
        assert group.n == int((users == group.load_low).sum())
        if group.load_low:
            assert group.user_time_per_user.value == pytest.approx(expected / group.load_low, rel=0.05)
    assert result.groups[0].user_time_per_user is None
    assert result.peak[0] >= 4
    assert result.n == n
    pairs = throughput.analyse(log_of(made, name="again"), width=2)
    assert [(group.load_low, group.load_high) for group in pairs.groups] == [
        (0, 0),
        (1, 2),
        (3, 4),
        (5, 6),
        (7, 8),
    ]


def test_few_observations_are_flagged(log_of):
    users = np.array([1] * 30 + [2] * 3)
    length = np.full(33, 10.0)
    made = {"start": starts(length), "length_s": length, "user_s": length * 0.1, "active_users": users}
    result = throughput.analyse(log_of(made))
    assert [group.few for group in result.groups] == [False, True]
    assert "few_observations" in {caveat.kind for caveat in result.caveats}


def test_throughput_without_a_load_does_not_apply(log_of):
    result = throughput.analyse(log_of(steady()))
    assert isinstance(result, NotApplicable)
    assert "--by" in result.remedy


def test_throughput_uses_the_load_that_was_set(log_of):
    made = closed_system(hold_s=100.0)
    length = np.full(200, 2.0)
    samples = {
        "start": starts(length),
        "length_s": length,
        "user_s": 0.4 * length,
        "active_users": np.arange(200) % 3,
    }
    log = log_of(samples, made)
    result = throughput.analyse(log)
    assert result.load == "population"
    assert [group.load_low for group in result.groups] == [1, 2, 4, 8]
    assert result.measures[0].name == "interactions"
    assert throughput.analyse(log, load="active_users").load == "active_users"


def log_of_play(path, others_s, own_sessions=True):
    """Players who each use 0.02 s of user time a second, beside others who use `others_s`."""
    length = np.full(200, 2.0)
    players = np.repeat([1, 2, 4, 8], 50)
    samples = {
        "start": starts(length),
        "length_s": length,
        "user_s": (0.02 * players + others_s) * length,
        "system_s": 0.1 * length,
    }
    used = {
        "start": pl.concat([starts(length)] * 2),
        "user": ["session:7"] * 200 + ["session:1"] * 200,
        "user_s": np.concatenate([0.02 * players * length, np.full(200, others_s) * length]),
    }
    sessions = {"user:1": "session:7" if own_sessions else "session:99"}
    with LogWriter.open(path, source="test") as writer:
        made = {"samples": samples, "users": used, "interactions": closed_system(hold_s=100.0)}
        for table, columns in made.items():
            schema = [column for column in vocabulary(table) if column.name in columns]
            writer.write(table, frame(columns, schema), schema)
        writer.set("terminals", {"users": "1..8", "outcome": {"sessions": sessions}})
    return Log.open(path)


def test_time_per_user_is_that_of_those_who_played(tmp_path):
    """A build beside a play used 50 times as much: it is not what "each got"."""
    alone = throughput.analyse(log_of_play(tmp_path / "alone", others_s=0.0))
    beside = throughput.analyse(log_of_play(tmp_path / "beside", others_s=1.0))
    for result in (alone, beside):
        assert [group.load_low for group in result.groups] == [1, 2, 4, 8]
        assert [group.user_time_per_user.value for group in result.groups] == pytest.approx(
            [0.02] * 4, rel=0.05
        )
    assert "others_worked" not in {caveat.kind for caveat in alone.caveats}
    (caveat,) = [caveat for caveat in beside.caveats if caveat.kind == "others_worked"]
    players = np.mean(np.repeat([1, 2, 4, 8], 50)[: beside.n])
    assert caveat.values["share"] == pytest.approx(1.0 / (1.0 + 0.02 * players), abs=0.01)
    assert "of the user time was not that of the users who played" in section(beside).caveats[0]
    assert not any("got most CPU time" in sentence for sentence in section(beside).summary)


def test_time_per_user_of_players_without_rows_is_not_guessed(tmp_path):
    result = throughput.analyse(log_of_play(tmp_path / "log", others_s=1.0, own_sessions=False))
    assert [group.user_time_per_user for group in result.groups] == [None] * 4
    assert not any("each got" in sentence for sentence in section(result).summary)


def test_groups_are_named_after_the_loads_that_occurred(log_of):
    """33 users were the most: a group of "33 to 34" would speak of somebody who never was."""
    length = np.full(220, 1.0)
    users = np.repeat(np.arange(3.0, 34.0, 3.0), 20)
    samples = {"start": starts(length), "length_s": length, "user_s": 0.4 * length, "active_users": users}
    groups = throughput.analyse(log_of(samples)).groups
    assert [(group.load_low, group.load_high) for group in groups] == [(u, u) for u in range(3, 34, 3)]
    occurred = [(part.low, part.high) for part in ranges(np.array([0.0, 3.0, 4.0, 32.6, np.nan]))]
    assert occurred == [(0, 0), (3, 4), (33, 33)]
    assert [(part.low, part.high) for part in ranges(np.array([3.0, 33.0]), 2)] == [(3, 4), (33, 34)]
