"""Logins of wtmp, utmp and wtmpdb become sessions over time; held to what `last` prints of the same files."""

import datetime
import re
import sqlite3
import struct
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from tool_files import column, imported, kinds, total

import thinktime
from thinktime.cli import run
from thinktime.errors import InputError
from thinktime.sources.importers import Given
from thinktime.stats.estimate import NotApplicable

LOGINS = Path(__file__).parents[1] / "fixtures" / "logins"
WTMPDB = Path(__file__).parents[1] / "fixtures" / "wtmpdb" / "0.73.0.db"
RECORD = 384
BOOT, NEW, OLD, LOGIN, USER, DEAD = 2, 3, 4, 6, 7, 8
DAY = 1_794_787_200
"""A midnight [s]."""


def record(kind, second, line="", user="", host="", pid=1, id_=b""):
    """A record as glibc writes it on x86-64."""
    texts = [text.encode() for text in (line, user, host)]
    return struct.pack(
        "<hxxi32s4s32s256shhiIi16s20x",
        kind,
        pid,
        texts[0],
        id_,
        texts[1],
        texts[2],
        0,
        0,
        0,
        DAY + int(second),
        round(second % 1 * 1e6),
        b"",
    )


def came(second, user, line="pts/0", host=""):
    return record(USER, second, line, user, host)


def left(second, line="pts/0"):
    return record(DEAD, second, line)


def boot(second):
    return record(BOOT, second, "~", "reboot", id_=b"~~")


def down(second):
    return record(1, second, "~", "shutdown", id_=b"~~")


def made(tmp_path, *records, given=None):
    path = tmp_path / "wtmp"
    path.write_bytes(b"".join(records))
    return imported(path, tmp_path, given or Given())


def last(name):
    """Sessions that `last` printed and whose end it knew: user, from, start and end [s]."""
    found = []
    for line in (LOGINS / f"{name}.last").read_text().splitlines():
        times = re.findall(r"\d{4}-\d\d-\d\dT\S+", line)
        words = line.split()
        if len(times) == 2 and words[0] != "reboot":
            start, end = (datetime.datetime.fromisoformat(time).timestamp() for time in times)
            found.append((words[0], words[2] if words[2] != times[0] else "", start, end))
    return found


def test_sessions_of_sshd_are_those_that_last_prints(tmp_path):
    done, log = imported(LOGINS / "wtmp-sshd", tmp_path, Given(interval=1.0))
    assert (done.kind, done.form) == ("wtmp", "binary")
    assert kinds(done) == {"open_session"}
    sessions = last("wtmp-sshd")
    by_user = dict(log.presence().group_by("name").agg(pl.col("session_s").sum()).collect().iter_rows())
    for name in ("alice", "bob"):
        printed = sum(end - start for user, _, start, end in sessions if user == name)
        # `last` cuts both times of a session to whole seconds.
        assert by_user[name] == pytest.approx(printed, abs=sum(user == name for user, *_ in sessions))
    assert total(log, "session_s") == pytest.approx(sum(by_user.values()))
    # One session has no logout and no end in what `last` says.
    assert total(log, "logins") == len(sessions) + 1
    assert total(log, "logouts") == len(sessions)
    rows = log.samples().select("start", "length_s", "sessions").collect().rows()
    for start, length_s, count in rows:
        end = start.timestamp() + length_s
        certain = [s for s in sessions if s[2] + 1 < end < s[3]]
        possible = [s for s in sessions if s[2] <= end <= s[3] + 1]
        assert len(certain) <= count <= len(possible) + 1
    assert "from 127.0.0.1" in column(log, "terminals", "presence")[0]
    assert set(column(log, "kind", "presence")) == {"person"}


def test_a_shutdown_and_a_crash_end_sessions_and_leave_gaps(tmp_path):
    done, log = imported(LOGINS / "wtmp-boots", tmp_path, Given())
    assert kinds(done) == {"reboot", "logout_missing", "clock_step", "open_session"}
    text = (LOGINS / "wtmp-boots.last").read_text()
    assert text.count("- crash") == 2
    details = {kind: detail for kind, detail, _ in done.incidents}
    assert "2 sessions that a boot without a shutdown ended" in details["logout_missing"]
    assert "the clock was set by -90 s" in details["clock_step"]
    starts, lengths = column(log, "start"), column(log, "length_s")
    ends = [start + datetime.timedelta(seconds=length) for start, length in zip(starts, lengths, strict=True)]
    gaps = [
        (end.isoformat(), start.isoformat())
        for end, start in zip(ends, starts[1:], strict=False)
        if end != start
    ]
    # The machine was off from the shutdown to the boot. When it crashed, nobody knows: after the last record.
    assert gaps == [
        ("2026-11-16T09:15:00+00:00", "2026-11-16T09:25:00+00:00"),
        ("2026-11-16T09:47:00+00:00", "2026-11-16T11:02:00+00:00"),
    ]
    known = [(end - start) for user, _, start, end in last("wtmp-boots") if user == "bert"]
    bert = log.presence().filter(pl.col("name") == "bert").select(pl.col("session_s").sum()).collect().item()
    assert bert == pytest.approx(sum(known))


def test_the_database_that_wtmpdb_makes_of_a_wtmp_says_the_same(tmp_path):
    (tmp_path / "binary").mkdir()
    (tmp_path / "database").mkdir()
    _, one = imported(LOGINS / "wtmp-boots", tmp_path / "binary", Given())
    done, other = imported(LOGINS / "wtmpdb-boots.db", tmp_path / "database", Given())
    assert done.form == "database"
    for table in ("samples", "presence"):
        assert one.table(table).collect().equals(other.table(table).collect())


def test_the_database_of_debian_has_its_sessions(tmp_path):
    _, log = imported(WTMPDB, tmp_path, Given(interval=0.01))
    with sqlite3.connect(f"file:{WTMPDB}?immutable=1", uri=True) as connection:
        users = {user for (user,) in connection.execute("SELECT User FROM wtmp WHERE Type = 3")}
    assert set(column(log, "name", "presence")) == users
    # An sshd that had no terminal yet says ssh, which is none.
    assert "from 10.1.2.3" in column(log, "terminals", "presence")


def test_intervals_have_the_length_that_is_given_and_end_on_its_multiples(tmp_path):
    records = [came(100, "ann"), came(700, "bob", "pts/1"), left(4000), left(4100, "pts/1")]
    _, log = made(tmp_path, *records, given=Given(interval=1800.0))
    assert column(log, "length_s") == [1700.0, 1800.0, 500.0]
    assert column(log, "session_s") == [1700.0 + 1100.0, 3600.0, 400.0 + 500.0]
    assert column(log, "sessions") == [2, 2, 0]
    assert column(log, "logins") == [2, 0, 0]


def test_records_of_arm64_say_the_same(tmp_path):
    plain = [boot(0), came(10.5, "ann", host="h"), left(60), down(90)]
    wide = []
    for data in plain:
        *head, seconds, micro, address = struct.unpack("<332shhiIi16s20x", data)
        wide.append(struct.pack("<332shhqqq16s20x4x", *head, seconds, micro, address))
    (tmp_path / "wide").mkdir()
    _, one = made(tmp_path, *plain)
    _, other = made(tmp_path / "wide", *wide)
    for table in ("samples", "presence"):
        assert one.table(table).collect().equals(other.table(table).collect())


def test_a_login_where_nobody_logged_out_ends_the_session_before(tmp_path):
    done, log = made(tmp_path, came(0, "ann"), came(60, "bob"), left(100))
    assert "logout_missing" in kinds(done)
    assert dict(log.presence().select("name", "session_s").collect().iter_rows()) == {
        "ann": 60.0,
        "bob": 40.0,
    }


def test_what_began_before_the_file_is_told_and_a_getty_is_nobody(tmp_path):
    asks = record(LOGIN, 0, "tty1", "LOGIN")
    done, log = made(tmp_path, asks, left(5, "tty1"), left(10, "pts/3"), came(20, "ann"), left(50))
    details = [detail for kind, detail, _ in done.incidents if kind == "login_missing"]
    assert details == ["a logout whose login is not in the file (pts/3)"]
    assert total(log, "logins") == 1


def test_a_clock_set_forward_makes_a_gap_and_one_set_back_stands_still(tmp_path):
    forward = [record(OLD, 100, "|", "date"), record(NEW, 4000, "{", "date")]
    done, log = made(tmp_path, came(0, "ann"), *forward, left(4050))
    assert "clock_step" in kinds(done)
    assert total(log, "session_s") == 150.0
    (tmp_path / "back").mkdir()
    done, log = made(tmp_path / "back", came(1000, "ann"), left(1100), came(500, "bob"), left(1200))
    assert any("goes back by 600 s" in detail for _, detail, _ in done.incidents)
    assert column(log, "start") == sorted(column(log, "start"))
    assert total(log, "session_s") == 200.0


def test_a_clock_that_was_not_set_at_boot_counts_from_the_time_before(tmp_path):
    unset = boot(10 - DAY)
    done, log = made(tmp_path, boot(0), came(10, "ann"), left(30), down(40), unset, came(90, "bob"), left(95))
    assert any("before 2000" in detail for kind, detail, _ in done.incidents if kind == "clock_step")
    assert total(log, "session_s") == 25.0


def test_utmp_has_its_records_in_the_order_of_terminals(tmp_path):
    done, log = made(
        tmp_path, boot(0), came(300, "ann", "tty1"), came(100, "bob", "pts/0"), left(200, "pts/1")
    )
    assert "clock_step" not in kinds(done)
    assert column(log, "start")[0].timestamp() == DAY
    assert total(log, "session_s") == 200.0


@pytest.mark.parametrize("cut", [1, 200, 383])
def test_a_truncated_record_is_told_with_its_place(tmp_path, cut):
    done, log = made(tmp_path, came(0, "ann"), left(60), came(70, "bob")[:cut])
    details = [detail for kind, detail, _ in done.incidents if kind == "truncated"]
    assert details == [f"byte 768: the file ends in the middle of a record, after {cut} of {RECORD} bytes"]
    assert total(log, "session_s") == 60.0


@pytest.mark.parametrize(
    "damage",
    [b"\xff" * RECORD, b"\xff" * 100, b"\x07", struct.pack("<h", 99) + came(50, "eve")[2:], b"\0\0\1"],
)
def test_damage_costs_its_bytes_alone(tmp_path, damage):
    parts = [came(0, "ann"), came(10, "bob", "pts/1"), damage, left(60), left(100, "pts/1")]
    done, log = made(tmp_path, *parts)
    details = [detail for kind, detail, _ in done.incidents if kind == "damaged_record"]
    assert details == [f"byte 768: {len(damage)} bytes are no record; left out"]
    assert total(log, "session_s") == 150.0


def test_zeros_of_a_crash_and_a_year_far_away_are_no_records(tmp_path):
    far = came(3 * 366 * 86_400, "eve", "pts/9")
    done, log = made(tmp_path, came(0, "ann"), bytes(3 * RECORD), far, left(60), came(70, "bob"), left(80))
    assert kinds(done) == {"damaged_record"}
    assert total(log, "session_s") == 70.0
    assert "eve" not in column(log, "name", "presence")


def test_years_of_silence_are_a_gap(tmp_path):
    done, log = made(
        tmp_path, came(0, "ann"), left(60), came(3 * 366 * 86_400, "bob"), left(3 * 366 * 86_400 + 5)
    )
    assert "interval_dropped" in kinds(done)
    assert total(log, "session_s") == 65.0


def database(path, statements):
    with sqlite3.connect(path) as connection:
        connection.executescript(statements)
    connection.close()


TABLE = "(ID INTEGER PRIMARY KEY, Type, User TEXT, Login, Logout, TTY TEXT, RemoteHost TEXT, Service TEXT)"


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        ("CREATE TABLE other (a)", "has no table wtmp"),
        ("CREATE VIEW wtmp AS SELECT 1", "has no table wtmp"),
        ("CREATE TABLE wtmp (ID INTEGER PRIMARY KEY, Type)", "has no column User"),
        (f"CREATE TABLE wtmp {TABLE}", "has no readable interval"),
    ],
)
def test_another_database_is_refused(tmp_path, statements, says):
    path = tmp_path / "file"
    database(path, statements)
    with pytest.raises(InputError, match=says):
        imported(path, tmp_path, Given(), kind="wtmp")


def test_a_database_that_is_cut_off_is_told_with_its_place(tmp_path):
    whole = (LOGINS / "wtmpdb-boots.db").read_bytes()
    path = tmp_path / "wtmp.db"
    path.write_bytes(whole[:5000])
    with pytest.raises(
        InputError, match=f"byte 5000: the database ends, and its head says {len(whole)} bytes"
    ):
        imported(path, tmp_path, Given())
    path.write_bytes(whole)
    done, _ = imported(path, tmp_path, Given())
    assert "truncated" not in kinds(done)


def test_entries_of_a_database_that_are_no_logins_or_damaged(tmp_path):
    rows = [
        (3, "ann", DAY * 10**6, (DAY + 60) * 10**6, "pts/0", "h", "sshd"),
        (3, "ann", (DAY + 5) * 10**6, (DAY + 50) * 10**6, "pts/0", None, "sudo"),
        (3, "bob", "noon", None, "pts/1", None, "sshd"),
        (3, "bob", (DAY + 30) * 10**6, DAY * 10**6, "pts/1", None, "sshd"),
        (3, None, (DAY + 30) * 10**6, None, "pts/1", None, "sshd"),
    ]
    path = tmp_path / "wtmp.db"
    database(path, f"CREATE TABLE wtmp {TABLE}")
    with sqlite3.connect(path) as connection:
        columns = "Type, User, Login, Logout, TTY, RemoteHost, Service"
        connection.executemany(f"INSERT INTO wtmp ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.close()
    before = sorted(item.name for item in tmp_path.iterdir())
    (tmp_path / "wtmp.db-wal").write_bytes(b"x")
    done, log = imported(path, tmp_path, Given())
    assert kinds(done) == {"damaged_record", "unread_journal"}
    assert {detail.partition(":")[0] for kind, detail, _ in done.incidents if kind == "damaged_record"} == {
        "entry 3",
        "entry 4",
        "entry 5",
    }
    assert total(log, "session_s") == 60.0
    # Read-only: no file is made beside it.
    assert sorted(item.name for item in tmp_path.iterdir()) == sorted([*before, "log", "wtmp.db-wal"])


def test_the_report_says_who_was_there_and_each_other_question_why_not(tmp_path, capsys):
    _, log = imported(LOGINS / "wtmp-boots", tmp_path, Given())
    logins = thinktime.analyse("users", log)
    printed = {}
    for user, _, start, end in last("wtmp-boots"):
        printed[user] = printed.get(user, 0.0) + end - start
    by_name = {person.name: person for person in logins.people}
    assert by_name["bert"].session_s == pytest.approx(printed["bert"])
    assert by_name["bert"].sessions_most == 2
    assert logins.sessions_mean == pytest.approx(total(log, "session_s") / total(log, "length_s"))
    timeline = thinktime.analyse("timeline", log)
    assert timeline.measured("sessions")
    assert max(timeline.series["sessions"]) == max(column(log, "sessions"))
    for question in ("arrivals", "response", "saturation", "overhead", "capacity", "throughput"):
        assert isinstance(thinktime.analyse(question, log), NotApplicable), question
    assert run(["report", str(tmp_path / "log")]) == 0
    out = capsys.readouterr().out
    answer = "3 users were logged in; bert for the longest, 1 h 50 min in all."
    findings = out.partition("What needs attention?")[0]
    assert out.startswith("Who was logged in on ")
    assert answer in findings
    # What cannot be measured here is no advice.
    assert "Record longer" not in findings
    assert "response times" not in findings
    assert "Logged-in sessions over time" in out


def test_a_log_of_too_many_rows_says_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr("thinktime.sources.importers.wtmp.sessions.ROWS_MAX", 10)
    with pytest.raises(InputError, match="give longer intervals, as in --interval 1h"):
        made(tmp_path, came(0, "ann"), left(86_400))
    assert not (tmp_path / "log").exists()


@pytest.mark.thorough
def test_memory_does_not_grow_with_the_length_of_the_file(tmp_path):
    """Ten times the records in the same memory but for what the log's writer holds."""
    code = (
        "import resource, sys; from thinktime.sources.importers import Given, import_file;"
        "import_file(sys.argv[1], sys.argv[1] + '.log', given=Given(interval=3600.0));"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peak = {}
    for count in (5_000, 50_000):
        path = tmp_path / str(count)
        with path.open("wb") as file:
            for at in range(count):
                file.write(
                    came(at * 100, f"u{at % 5}", f"pts/{at % 7}") + left(at * 100 + 90, f"pts/{at % 7}")
                )
        done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        peak[count] = int(done.stdout)
    assert peak[50_000] < peak[5_000] + 40_000
