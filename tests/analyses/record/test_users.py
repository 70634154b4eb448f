"""Users of a log by CPU time: sums that must add up, and names of users who were played."""

import numpy as np
import polars as pl
import pytest
from known_logs import frame, starts

from thinktime.analyses.users import analysis as users
from thinktime.analyses.users.section import section
from thinktime.log import Log, LogWriter, vocabulary
from thinktime.stats.estimate import NotApplicable

LENGTHS = np.full(4, 10.0)


def log_of_users(path, cpu_s, **columns):
    """A log in which user i has `cpu_s[i]` of CPU time in each of four intervals."""
    count = len(cpu_s)
    rows = {
        "start": pl.concat([starts(LENGTHS)] * count),
        "user": [f"uid:{1000 + number}" for number in range(count) for _ in LENGTHS],
        "user_s": np.repeat(0.6 * np.array(cpu_s), 4),
        "system_s": np.repeat(0.4 * np.array(cpu_s), 4),
        **columns,
    }
    schema = [column for column in vocabulary("users") if column.name in rows]
    with LogWriter.open(path, source="test") as writer:
        writer.write("users", frame(rows, schema))
        writer.write("samples", frame({"start": starts(LENGTHS), "length_s": LENGTHS}, vocabulary("samples")))
    return Log.open(path)


def test_users_are_listed_by_falling_cpu_time_and_their_shares_add_to_one(tmp_path):
    result = users.analyse(log_of_users(tmp_path / "log", [1.0, 4.0, 2.0]))
    assert [user.user for user in result.users] == ["uid:1001", "uid:1002", "uid:1000"]
    assert [user.cpu_s for user in result.users] == pytest.approx([16.0, 8.0, 4.0])
    assert sum(user.cpu_share for user in result.users) == pytest.approx(1.0)
    assert result.others is None


def test_the_users_beyond_the_first_twelve_are_summed(tmp_path):
    result = users.analyse(log_of_users(tmp_path / "log", np.arange(1.0, 16.0)))
    assert len(result.users) == 15
    assert result.others.user == "3 others"
    assert result.others.cpu_s == pytest.approx(4 * (1 + 2 + 3))
    table = section(result).tables[0]
    first = [f"uid:{1000 + number}" for number in range(14, 2, -1)]
    assert [row[0] for row in table.rows] == [*first, "3 others"]
    assert sum(row[2] for row in table.rows) == pytest.approx(1.0)


def test_exact_cpu_time_comes_before_ticks_and_what_was_not_measured_stays_unknown(tmp_path):
    exact = np.array([3.0, 3.0, 3.0, np.nan])
    (user,) = users.analyse(log_of_users(tmp_path / "log", [1.0], cpu_exact_s=exact)).users
    assert user.cpu_s == pytest.approx(3 * 3.0 + 1.0)
    assert user.read_bytes is None
    assert user.run_delay_s is None


def test_the_gpu_is_in_the_table_only_where_it_was_measured(tmp_path):
    def shown(log):
        return [column.name for column in section(users.analyse(log)).tables[0].columns]

    nothing = np.full(4, np.nan)
    gpu_s, memory = np.array([0.5, 1.0, 0.0, np.nan]), np.array([4096, 8192, 4096, 0], dtype=np.uint64)
    log = log_of_users(
        tmp_path / "log",
        [1.0, 4.0],
        gpu_s=np.concatenate([gpu_s, nothing]),
        gpu_memory_bytes=pl.Series([*memory.tolist(), *[None] * 4], dtype=pl.UInt64),
    )
    other, user = users.analyse(log).users
    assert (user.gpu_s, user.gpu_memory_bytes) == (1.5, 8192.0)
    assert (other.gpu_s, other.gpu_memory_bytes) == (None, None)
    assert shown(log)[-2:] == ["GPU time", "most GPU memory"]
    said = " ".join(section(users.analyse(log)).summary)
    assert "uid:1000 used the GPU longest (1.50\N{NO-BREAK SPACE}s)" in said
    assert "GPU time" not in shown(log_of_users(tmp_path / "without", [1.0, 4.0]))


def test_sessions_that_were_played_are_named(tmp_path):
    log = log_of_users(tmp_path / "log", [1.0, 2.0])
    log.manifest["sessions"][-1]["terminals"] = {"outcome": {"sessions": {"user 3": "uid:1001"}}}
    result = users.analyse(log)
    assert [user.played_as for user in result.users] == ["user 3", None]
    assert "uid:1001 (played, user 3) had 66.7" in section(result).summary[0]


@pytest.mark.parametrize("cpu_s", [None, 2.0])
def test_groups_without_cpu_time_are_listed_by_memory(tmp_path, cpu_s):
    """Version 1 of control groups: a group of the hierarchy of memory need not be one of that of CPU time."""
    path = tmp_path / "log"
    log_of_users(path, [1.0])
    rows = {"start": pl.concat([starts(LENGTHS)] * 2), "group": ["/a"] * 4 + ["/b"] * 4}
    rows["memory_bytes"] = pl.Series([1 << 20] * 4 + [1 << 30] * 4, dtype=pl.UInt64)
    if cpu_s is not None:
        rows["cpu_s"] = np.array([cpu_s] * 4 + [0.1] * 4)
    schema = [column for column in vocabulary("groups") if column.name in rows]
    with LogWriter.open(path, source="test", mode="resume") as writer:
        writer.write("groups", frame(rows, schema))
    table = next(
        table for table in section(users.analyse(Log.open(path))).tables if table.name == "users-groups"
    )
    listed = [column.name for column in table.columns], [row[0] for row in table.rows]
    if cpu_s is None:
        assert table.caption == "Control groups by memory"
        assert ("CPU time" in listed[0], listed[1]) == (False, ["/b", "/a"])
    else:
        assert table.caption == "Control groups by CPU time"
        assert ("CPU time" in listed[0], listed[1]) == (True, ["/a", "/b"])


def test_a_log_without_users_does_not_apply(log_of):
    result = users.analyse(log_of())
    assert isinstance(result, NotApplicable)
    assert "--by uid" in result.remedy
