"""Who is there, and what their control groups used: real users and groups made for it.

Needs root, and leaves nothing behind.
"""

import os
import secrets
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import polars as pl
import pytest
from real_users import IS_UNIFIED, RECORD, Group, account, has_begun, missing, sampled_since, without

from thinktime.log import Log

PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin") or sys.executable
"""One that every user may run; that of the tests may be root's alone."""


COUNT = "n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done"
"""Work of some tenths of a second."""


def needs(*programs, controller=""):
    lacks = missing(*programs) or (without(controller) if controller else "")
    return pytest.mark.skipif(
        bool(lacks) and os.environ.get("THINKTIME_REQUIRE_ALL") != "1", reason=lacks or "nothing is missing"
    )


@contextmanager
def recording(log, *options, prefix=()):
    """A recorder at work, once it has taken its first sample; ended by SIGTERM."""
    line = [*prefix, *RECORD, "-o", str(log), "--interval", "1s", "--jitter", "0", *options]
    recorder = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 20
        while not has_begun(log):
            assert time.monotonic() < deadline
            assert recorder.poll() is None, recorder.communicate()
            time.sleep(0.05)
        yield
    finally:
        recorder.terminate()
        _, errors = recorder.communicate(timeout=60)
    assert recorder.returncode == 0, errors


def wait_until(condition):
    """Poll until `condition` holds, for a minute at most."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def texts(log):
    """Every text of a log: of the files as they are, and of the rows."""
    found = [path.read_bytes().decode("latin-1") for path in log.rglob("*") if path.is_file()]
    opened = Log.open(log)
    for table in opened.tables:
        rows = opened.table(table).select(pl.selectors.string()).collect()
        found += [text for column in rows for text in column.drop_nulls().unique()]
    return found


@contextmanager
def people(folder):
    """Two users whose names stand in scripts, homes, and a control group; their names and numbers."""
    with ExitStack() as stack:
        names = [f"zq{name}{os.getpid()}" for name in ("adelheid", "bo")]
        numbers = []
        for name in names:
            home = folder / name
            home.mkdir(mode=0o755)
            # A program of its own name, one whose name the kernel cuts off, and a script of an interpreter.
            for script in (f"{name}.sh", f"of{name}", f"mine_{name.upper()}_x"):
                (home / script).write_text(f"#!/bin/sh\n{COUNT}; sleep 60\n")
                (home / script).chmod(0o755)
            (home / f"{name}.py").write_text("import time\nsum(range(3000000))\ntime.sleep(60)\n")
            numbers.append(stack.enter_context(account(name, home)))
        yield names, numbers


def check_kinds(logs, names):
    """What is left of a number is whether it is a person's."""
    for log in ("one", "other", "named"):
        presence = Log.open(logs / log).presence().collect()
        kinds = dict(presence.group_by("name").agg(pl.col("kind").unique()).iter_rows())
        assert set().union(*kinds.values()) == {"person", "system"}
        assert sum(kind == ["person"] for kind in kinds.values()) >= len(names)
        if log == "named":
            assert kinds["root"] == ["system"]
            assert [kinds[name] for name in names] == [["person"]] * len(names)
    sessions = Log.open(logs / "sessions").presence().collect()
    assert set(sessions.filter(pl.col("name") == "processes without a session")["kind"]) == {"system"}


@needs("su")
def test_an_anonymous_log_names_nobody_anywhere(tmp_path):
    key = tmp_path / "key"
    key.write_text(secrets.token_hex(16))
    kinds = {
        "one": ["--anonymous-key", str(key)],
        "same": ["--anonymous-key", str(key)],
        "other": ["--anonymous"],
        "sessions": ["--anonymous", "--by", "session"],
        "groups": ["--anonymous", "--by", "cgroup"],
        "named": [],
    }
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thinktime-homes-")))
        folder.chmod(0o755)
        names, numbers = stack.enter_context(people(folder))
        groups = [stack.enter_context(Group(f"{name}-jobs")) for name in names]
        recorders = stack.enter_context(ExitStack())
        for kind, options in kinds.items():
            recorders.enter_context(recording(tmp_path / kind, "--gauges-every", "1s", *options))
        for name, group in zip(names, groups, strict=True):
            home = folder / name
            lines = [f"./{name}.sh", f"./of{name}", f"./mine_{name.upper()}_x", f"{PYTHON} {home}/{name}.py"]
            script = f"cd {home}; {' & '.join(lines)} & wait"
            group.start(["setsid", "su", name, "-c", script])
        time.sleep(3)
        recorders.close()
        for group in groups:
            group.empty()
    # A name of which the kernel cut the end off tells who it is as well.
    secret = [name[:9].lower() for name in names] + [str(folder).lower()]
    keys = {f"uid:{number}" for number in [0, *numbers]}
    assert any(names[0] in text for text in texts(tmp_path / "named")), "the search finds nothing"
    users = {}
    for kind in kinds:
        log = Log.open(tmp_path / kind)
        assert log.check() == []
        presence = log.presence().collect()
        users[kind] = set(presence["user"])
        if kind == "named":
            assert keys <= users[kind]
            assert set(names) <= set(presence["name"]) & set(log.commands().collect()["name"])
            continue
        found = texts(tmp_path / kind)
        for name in secret:
            assert not [text[-300:] for text in found if name in text.lower()]
        assert not keys & set(found)
        assert not [
            text
            for text in found
            if text.split(":")[0] in ("uid", "session")
            and text[-1:].isdigit()
            and text.split(":")[1].isdigit()
        ]
        assert log.manifest["sessions"][-1]["machine"]["hostname"] is None
    check_kinds(tmp_path, names)
    # Users of other processes come and go on this machine.
    assert len(users["one"] & users["same"]) >= len(keys)
    assert not users["one"] & users["other"]
    # Who did the work is known by the pseudonym, in every table.
    log = Log.open(tmp_path / "one")
    commands = log.commands().filter(pl.col("command").str.ends_with(".sh")).collect()
    for key, name, command in commands.select("user", "name", "command").unique().iter_rows():
        pseudonym = key.removeprefix("uid:")
        assert name == f"user-{pseudonym}"
        assert command == f"{pseudonym}.sh"


@needs("su")
def test_users_sessions_and_where_they_come_from_have_their_names(tmp_path):
    """By a record of logins in a mount namespace of its own: this machine's stays as it is."""
    name = f"ttlogin{os.getpid()}"
    with account(name) as number:
        record = struct.pack("=hxxi32s4s32s256s", 7, 1, b"pts/77", b"p77", name.encode(), b"10.1.2.3")
        (tmp_path / "utmp").write_bytes(record.ljust(384, b"\0"))
        script = f'mount -t tmpfs none /run && cp {tmp_path}/utmp /run/utmp && exec "$@"'
        unshare = ["unshare", "--mount", "/bin/sh", "-c", script, "sh"]
        with recording(tmp_path / "log", "--gauges-every", "1s", prefix=unshare):
            session = subprocess.Popen(
                ["su", name, "-c", f"{COUNT}; exec sleep 2"],
                stdin=subprocess.DEVNULL,
            )
            session.wait()
    log = Log.open(tmp_path / "log")
    mine = pl.col("user") == f"uid:{number}"
    presence = log.presence().filter(mine).collect()
    assert set(presence["name"]) == {name}
    assert set(presence["sessions"]) == {1}
    assert set(presence["terminals"]) == {"pts/77 from 10.1.2.3"}
    for table in ("users", "commands"):
        assert set(log.table(table).filter(mine).collect()["name"]) == {name}
    page = thinktime("analyse", "users", str(tmp_path / "log"))
    assert name in page


WTMPDB = """CREATE TABLE wtmp(ID INTEGER PRIMARY KEY, Type INTEGER, User TEXT NOT NULL, Login INTEGER,
Logout INTEGER, TTY TEXT, RemoteHost TEXT, Service TEXT) STRICT"""
"""As wtmpdb makes it."""


@needs("su")
@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_where_neither_utmp_nor_logind_is_there_wtmpdb_says_who_came_from_where(tmp_path, mode):
    name = f"ttwtmpdb{os.getpid()}"
    path = tmp_path / "wtmp.db"
    with account(name) as number, closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(f"PRAGMA journal_mode={mode}")
        database.execute(WTMPDB)
        links = f"mkdir /var/lib/wtmpdb && ln -s {path} /var/lib/wtmpdb/wtmp.db"
        script = f'mount -t tmpfs none /run && mount -t tmpfs none /var/lib && {links} && exec "$@"'
        unshare = ["unshare", "--mount", "/bin/sh", "-c", script, "sh"]
        with recording(tmp_path / "log", "--gauges-every", "1s", prefix=unshare):
            enter = "INSERT INTO wtmp (Type, User, Login, TTY, RemoteHost, Service) VALUES (3, ?, ?, ?, ?, ?)"
            came_us = time.time_ns() // 1000
            database.execute(enter, [name, came_us, "ssh", "10.1.2.3", "sshd"])
            # What sudo and su enter is no login.
            database.execute(enter, [name, came_us, "ssh", "10.9.9.9", "su"])
            subprocess.run(["su", name, "-c", f"{COUNT}; sleep 3"], stdin=subprocess.DEVNULL, check=True)
    log = Log.open(tmp_path / "log")
    presence = log.presence().filter(pl.col("user") == f"uid:{number}").collect()
    assert set(presence["sessions"]) == {1}
    assert set(presence["terminals"]) == {"from 10.1.2.3"}
    facts = log.manifest["sessions"][-1]["recorder"]["people"]["wtmpdb"]
    assert (facts["path"], facts["problem"]) == ("/var/lib/wtmpdb/wtmp.db", None)


def thinktime(*arguments):
    line = [*RECORD[:-1], *arguments]
    return subprocess.run(line, check=True, capture_output=True, text=True).stdout


def stopped_s(group):
    """Time for which its quota has stopped a group."""
    counts = group.counts("cpu.stat")
    return counts.get("throttled_usec", 0) * 1e-6 or counts["throttled_time"] * 1e-9


PERIOD_S = 0.1
"""Of a quota."""


@needs(controller="cpu")
def test_a_group_that_its_quota_stops_is_a_finding(tmp_path):
    name = f"ttquota{os.getpid()}"
    # Of version 1 in one hierarchy alone, which has no counter of CPU time.
    with Group(name, "cpu") as group:
        if IS_UNIFIED:
            group.file("cpu.max").write_text("20000 100000")
        else:
            group.file("cpu.cfs_quota_us").write_text("20000")
        with recording(tmp_path / "log", "--gauges-every", "30s"):
            group.start(["/bin/sh", "-c", "while :; do :; done"])
            # Where others have the CPUs, it uses up its quota more seldom. Few intervals are no finding.
            wait_until(lambda: stopped_s(group) >= 4.0)
            group.empty()
            ended_s = time.time()
            wait_until(lambda: sampled_since(tmp_path / "log", ended_s))
        counts, expected_s = group.counts("cpu.stat"), stopped_s(group)
    rows = Log.open(tmp_path / "log").groups().filter(pl.col("group") == f"/{name}").collect()
    # What is killed while it is stopped dies when it is let go: that stop may be counted when nobody is left.
    assert expected_s - PERIOD_S <= rows["throttled_s"].sum() <= expected_s * (1 + 1e-6)
    assert expected_s >= 4.0
    # A period or two pass between the last sample and this reading.
    assert 0 <= counts["nr_periods"] - rows["periods"].sum() <= 20
    assert f"CPU quotas stopped {name}" in thinktime("analyse", "health", str(tmp_path / "log"))


@needs(controller="memory")
def test_a_process_killed_for_the_memory_of_its_group_is_a_finding(tmp_path):
    name = f"ttmemory{os.getpid()}"
    with Group(name, "memory") as group:
        group.file("memory.max", "memory.limit_in_bytes").write_text(str(32 << 20))
        with recording(tmp_path / "log", "--gauges-every", "30s"):
            grow = "import time; time.sleep(1.5); kept = [b'x' * (1 << 20) for _ in range(200)]"
            load = subprocess.run(group.joined([PYTHON, "-S", "-c", grow]))
            time.sleep(1.2)
    assert load.returncode == -9
    rows = Log.open(tmp_path / "log").groups().filter(pl.col("group") == f"/{name}").collect()
    assert rows["memory_oom_kills"].sum() == 1
    page = " ".join(thinktime("analyse", "health", str(tmp_path / "log")).split())
    assert "killed" in page
    assert name in page


@needs(controller="memory")
def test_memory_of_users_adds_up_without_a_page_counted_twice(tmp_path):
    """Thirty idle interpreters of five users, against what the kernel charged to their control group.

    They run a copy of the interpreter that nobody else runs, whose pages are charged to the group.
    """
    whole = f"ttwhole{os.getpid()}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thinktime-python-")))
        folder.chmod(0o755)
        users = [stack.enter_context(account(f"ttmem{letter}{os.getpid()}")) for letter in "abcde"]
        above = stack.enter_context(Group(whole, "memory"))
        program = folder / "python"
        subprocess.run(above.joined(["cp", Path(PYTHON).resolve(), program]), check=True)
        wait = "import re, json, time; kept = [bytes([i % 256]) * 4096 for i in range(300)]; time.sleep(60)"
        for user in users * 6:
            above.start(["setpriv", f"--reuid={user}", "--clear-groups", program, "-E", "-c", wait])
        time.sleep(3)
        with recording(tmp_path / "log", "--gauges-every", "2s"):
            time.sleep(6)
        counts = above.counts("memory.stat")
    if IS_UNIFIED:
        anonymous, mapped = counts["anon"], counts["file_mapped"]
    else:
        anonymous, mapped = counts["total_rss"], counts["total_mapped_file"]
    presence = Log.open(tmp_path / "log").presence().collect()
    last = presence.filter(pl.col("start") == presence["start"].max())
    mine = last.filter(pl.col("user").is_in([f"uid:{user}" for user in users]))
    assert mine["processes"].to_list() == [6] * 5
    sums = {name: mine[f"memory_{name}_bytes"].sum() for name in ("anonymous", "proportional", "resident")}
    print(sums, {"anonymous": anonymous, "mapped": mapped})
    assert sums["anonymous"] == pytest.approx(anonymous, rel=0.03)
    assert sums["proportional"] == pytest.approx(anonymous + mapped, rel=0.03)
    # The canary: with every shared page counted in each, it would be half as much again.
    assert sums["resident"] > 1.3 * (anonymous + mapped)


@pytest.mark.parametrize("option", ["--anonymous", "--anonymous-key=key"])
def test_arguments_are_refused_in_an_anonymous_log(tmp_path, option):
    (tmp_path / "key").write_text("0123456789abcdef")
    line = [*RECORD, "-o", "log", "--duration", "1s", "--arguments", option]
    refused = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True)
    assert refused.returncode == 2
    assert "--arguments" in refused.stderr
    assert "leave out --arguments" in refused.stderr
    assert not (tmp_path / "log").exists()
