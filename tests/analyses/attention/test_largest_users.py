"""Users, commands and control groups by what they used, and the largest users over time."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from health_logs import GROUPS, INTERVALS, group_of_none, healthy, write
from known_logs import frame

from thinktime.analyses import analyse
from thinktime.analyses.users.section import section
from thinktime.documents.document import Document
from thinktime.documents.render import render
from thinktime.log import Column, Log, LogWriter, vocabulary

PEOPLE = 20
NAME = Column(name="name", type="text", unit="", kind="label", description="name of the user")
PRESENCE = (
    *(replace(NAME, name=name) for name in ("user", "name")),
    Column(name="start", type="time", unit="us", kind="time", description="start"),
    Column(name="memory_resident_bytes", type="u64", unit="byte", kind="gauge", description="resident"),
    Column(name="memory_proportional_bytes", type="u64", unit="byte", kind="gauge", description="shared"),
)
OF_GROUPS = (
    *(column for column in GROUPS),
    *(replace(NAME, name=name) for name in ("name", "kind")),
    Column(name="cpu_s", type="f64", unit="s", kind="counter", description="CPU time"),
    Column(name="memory_bytes", type="u64", unit="byte", kind="gauge", description="memory"),
)


def rows(begun, **columns):
    return {"start": begun, **{name: [value] * len(begun) for name, value in columns.items()}}


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """User k uses k ms a second of CPU time; the smallest waits longest, the next has most memory."""
    path = tmp_path_factory.mktemp("users") / "log"
    samples = healthy("idle", 1)["samples"]
    begun = samples["start"]
    named = tuple(column for column in vocabulary("users") if column.name != "name")
    with LogWriter.open(path, source="test", machine={"cpus": 2}, start_us=0) as writer:
        writer.write("samples", frame(samples, vocabulary("samples")))
        users = [
            rows(
                begun,
                user=f"uid:{1000 + number}",
                name=f"person{number}",
                cpu_exact_s=number / 1000,
                run_delay_s=0.5 if number == 1 else 0.0,
                read_bytes=1000,
                write_bytes=9000 if number == 3 else 0,
            )
            for number in range(1, PEOPLE + 1)
        ]
        writer.write("users", pl.concat(frame(item, (*named, NAME)) for item in users), (*named, NAME))
        memory = dict.fromkeys(range(1, PEOPLE + 1), 1000000.0) | {2: 5e9, 99: 2e9}
        presence = [
            rows(
                begun[:3],
                user=f"uid:{1000 + number}",
                name=f"person{number}",
                memory_resident_bytes=9e9,
                memory_proportional_bytes=value,
            )
            for number, value in memory.items()
        ]
        writer.write("presence", pl.concat(frame(item, PRESENCE) for item in presence), PRESENCE)
        commands = [
            rows(begun, user="uid:1020", command=name, cpu_exact_s=cpu, run_delay_s=0.1, started=1)
            for name, cpu in (("cc1", 0.015), ("make", 0.004), ("(other)", 0.001))
        ]
        writer.write("commands", pl.concat(frame(item, vocabulary("commands")) for item in commands))
        group = rows(
            begun, group="/user.slice/x", name="x.service", kind="service", cpu_s=0.01, memory_bytes=3e8
        )
        writer.write("groups", frame(group, OF_GROUPS), OF_GROUPS)
    return Log.open(path)


def test_users_are_those_of_the_log_by_their_names(log):
    result = analyse("users", log)
    assert [user.name for user in result.users[:2]] == ["person20", "person19"]
    assert result.users[0].cpu_s == pytest.approx(0.02 * INTERVALS)
    assert sum(user.cpu_share for user in result.users) == pytest.approx(1.0)


def test_who_is_first_in_anything_is_listed(log):
    """Twelve are listed for their CPU time; by it, these three are the last."""
    result = analyse("users", log)
    listed = {user.name for user in result.listed}
    assert {"person1", "person2", "person3", "person99"} <= listed
    rest = [user for user in result.users if user not in result.listed]
    assert result.others.cpu_s == pytest.approx(sum(user.cpu_s for user in rest))


def test_memory_is_that_of_everyone_present(log):
    """Shared pages divided: 5 GB, not the resident 9 GB; and of a user who never ran."""
    memory = {user.name: user.memory_bytes for user in analyse("users", log).users}
    assert memory["person2"] == 5e9
    assert memory["person99"] == 2e9


def test_the_most_of_each_is_told_by_name(log):
    text = render(
        Document(title="t", subtitle="", findings=(), sections=(section(analyse("users", log)),)), "text"
    )
    text = " ".join(text.split())
    assert "20 users used the machine; person20 had" in text
    assert "1 further user was present without using the CPU." in text
    assert "person1 waited longest for a CPU (150 s)" in text
    assert "person2 held the most memory (5.00 GB)" in text
    assert "person3 read or changed the most data (3.00 MB)" in text
    assert "Of all commands, cc1 of person20 took the most CPU time: 4.50 s, 75.0 % of it." in text
    assert "x.service" in text
    assert "uid:10" not in text


def test_who_moved_most_data_is_not_told_where_that_of_others_is_not_known(tmp_path):
    """A recorder without rights reads what its own user moved: that is the most it has seen, and no more."""
    tables = healthy("idle", 1)
    tables["users"]["uid:1000"]["read_bytes"] = np.full(INTERVALS, 1000.0)
    page = section(analyse("users", write(tmp_path / "some", tables)))
    (amounts,) = (table for table in page.tables if table.name == "users-amounts")
    assert not any("most data" in sentence for sentence in page.summary)
    assert "is not known" in amounts.notes[0]
    for columns in tables["users"].values():
        columns.setdefault("read_bytes", np.zeros(INTERVALS))
    page = section(analyse("users", write(tmp_path / "all", tables)))
    (amounts,) = (table for table in page.tables if table.name == "users-amounts")
    assert any("uid:1000 read or changed the most data" in sentence for sentence in page.summary)
    assert not amounts.notes


def test_the_largest_users_and_all_others_add_up_to_all(log):
    series = analyse("users", log).over_time.series
    assert list(series) == ["person20", "person19", "person18", "person17", "person16", "all others"]
    total = np.sum(list(series.values()), axis=0)
    assert total == pytest.approx(np.full(len(total), sum(range(1, PEOPLE + 1)) / 1000))


def test_users_of_one_name_have_their_keys_with_it(tmp_path):
    samples = healthy("idle", 1)["samples"]
    named = tuple(column for column in vocabulary("users") if column.name != "name")
    with LogWriter.open(tmp_path / "log", source="test", start_us=0) as writer:
        writer.write("samples", frame(samples, vocabulary("samples")))
        for user, name in (("uid:1", "ann"), ("uid:2", "ann"), ("uid:3", "bob")):
            columns = rows(samples["start"], user=user, name=name, cpu_exact_s=0.1)
            writer.write("users", frame(columns, (*named, NAME)), (*named, NAME))
    result = analyse("users", Log.open(tmp_path / "log"))
    assert [user.name for user in result.users] == ["ann (uid:1)", "ann (uid:2)", "bob"]
    assert list(result.over_time.series) == ["ann (uid:1)", "ann (uid:2)", "bob"]


def test_killed_processes_are_counted_once_though_groups_contain_each_other(tmp_path):
    tables = healthy("office", 5)
    killing = {**group_of_none(), "memory_oom_kills": np.full(INTERVALS, 1.0)}
    tables["groups"] = {"/": killing, "/lab": killing, "/lab/job": killing, "/quiet": group_of_none()}
    check = analyse("health", write(tmp_path / "log", tables)).of("killed")
    assert check.value == INTERVALS
    assert check.values["groups"] == ["/lab/job"]
