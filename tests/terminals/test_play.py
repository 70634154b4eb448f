"""`thinktime play` from outside: what it writes, refuses and leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from thinktime.log import Log

Start = Callable[..., "Player"]
PATIENCE_S = 60.0


class Player:
    """A running `thinktime play`, and the mark by which everything it started is known."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.log = folder / "run"
        self.scratch = folder / "scratch"
        self.scratch.mkdir(exist_ok=True)
        self._mark = f"THINKTIME_TEST={uuid.uuid4()}"
        name, _, value = self._mark.partition("=")
        command = [sys.executable, "-c", "from thinktime.cli import main; main()", "play", *arguments]
        command += ["--scratch", str(self.scratch), "-o", str(self.log)]
        self.process = subprocess.Popen(
            command, env=os.environ | {name: value}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def family(self) -> dict[int, str]:
        """Return the processes that bear the mark; a zombie has no environment, so it is left out."""
        processes = (folder for folder in Path("/proc").iterdir() if folder.name.isdigit())
        names = {int(folder.name): self._name_if_marked(folder) for folder in processes}
        return {pid: name for pid, name in names.items() if name is not None}

    def _name_if_marked(self, folder: Path) -> str | None:
        try:
            if self._mark.encode() in (folder / "environ").read_bytes():
                return (folder / "comm").read_text().strip()
        except OSError:
            pass  # Gone between the listing and the reading, or not ours to read.
        return None

    def wait_for_users(self, number: int) -> None:
        self._wait(lambda: sum(name.startswith("tt-user") for name in self.family().values()) >= number)

    def wait_until_alone(self) -> None:
        self._wait(lambda: not self.family())

    def end(self) -> tuple[int, str, str]:
        output, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, output, errors

    def _wait(self, condition: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < until, self.family()
            time.sleep(0.02)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    players: list[Player] = []

    def begin(*arguments: str) -> Player:
        players.append(Player(tmp_path, *arguments))
        return players[-1]

    yield begin
    for player in players:
        player.process.kill()
        player.process.communicate()


QUICK = ("--think", "exponential(mean=50ms)")
# How punctual the driver is depends on what else this machine does.
SHORT = (*QUICK, "--baseline", "0.5s", "--no-record", "--accept-driver-load")


def test_every_interaction_is_a_row_and_nothing_is_left(start: Start) -> None:
    player = start("mixed", "--users", "1..3", "--step", "0.5s", *SHORT, "--format", "json")
    status, output, errors = player.end()
    assert status == 0, errors
    told = [line for line in errors.splitlines() if "the driver was the load" not in line]
    assert told == [], "no progress in a pipe"
    played = json.loads(output)
    rows = Log.open(player.log).interactions().collect()
    outcome = played["outcome"]
    assert rows.height == outcome["completed"] + outcome["unfinished"]
    assert rows["completion"].null_count() == outcome["unfinished"]
    assert set(rows["population"]) <= {1, 2, 3}
    assert (rows["sent"] >= rows["due"]).all()
    assert (
        rows.drop_nulls("completion").select(pl.col("completion") >= pl.col("first_output")).to_series()
    ).all()
    assert player.family() == {}
    assert list(player.scratch.iterdir()) == []
    assert Log.open(player.log).check() == []


def test_a_play_that_ends_before_anybody_types_says_so(start: Start) -> None:
    player = start(
        "empty", "--users", "1", "--step", "0.1s", "--think", "10h", "--baseline", "0s", "--no-record"
    )
    status, output, errors = player.end()
    assert status == 0
    assert "0 interactions" in output
    assert "nobody typed anything: the play was over before the first think time" in errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_play_in_good_order(start: Start, number: signal.Signals) -> None:
    player = start("prototype", "--users", "4", "--step", "1h", *SHORT)
    player.wait_for_users(4)
    _wait_for_rows(player)
    player.process.send_signal(number)
    status, _output, errors = player.end()
    assert (status, "stopped before the end" in errors) == (128 + number, True), errors
    assert player.family() == {}
    assert list(player.scratch.iterdir()) == []
    log = Log.open(player.log)
    assert log.check() == []
    assert log.manifest["sessions"][0]["terminals"]["outcome"]["stopped"] is True
    assert log.interactions().collect().height > 0


def test_a_signal_before_the_play_makes_no_log(start: Start) -> None:
    player = start("prototype", "--users", "1", *QUICK, "--baseline", "1h", "--no-record")
    player.wait_for_users(1)
    player.process.send_signal(signal.SIGINT)
    status, _output, errors = player.end()
    assert status == 130
    assert "stopped before the first interaction" in errors
    assert "nothing is kept" in errors
    assert not player.log.exists()
    assert player.family() == {}


def test_a_killed_player_leaves_no_process_and_no_file(start: Start) -> None:
    player = start("mixed", "--users", "5", "--step", "1h", *SHORT)
    player.wait_for_users(5)
    _wait_for_rows(player)
    player.process.kill()
    player.process.wait()
    player.wait_until_alone()
    assert list(player.scratch.iterdir()) == []
    rows = Log.open(player.log).interactions().collect()
    assert rows.height > 0, "what was played before the kill is in the log"


def _wait_for_rows(player: Player) -> None:
    def rows() -> int:
        try:
            return Log.open(player.log).interactions().collect().height
        except ValueError:
            return 0  # The log is not there yet: the floor is still being measured.

    player._wait(lambda: rows() > 0)


@pytest.mark.thorough
def test_a_user_types_the_same_whoever_else_plays(start: Start, tmp_path: Path) -> None:
    scripts = []
    for users in ("1", "4"):
        player = start("mixed", "--users", users, "--step", "2s", *SHORT, "--seed", "9", "--force")
        assert player.end()[0] == 0
        rows = Log.open(player.log).interactions().collect()
        first = rows.filter(pl.col("user") == "user:1").sort("due")
        scripts.append(list(zip(first["class"], first["think_s"], strict=True)))
    both = min(map(len, scripts))
    assert both >= 1
    assert scripts[0][:both] == scripts[1][:both]


def test_driver_and_recorder_see_the_same_cpu_time(start: Start) -> None:
    """Two independent exact sources: what a user's process says of itself, and what the recorder says of
    its session. Outside the interactions the session only starts up (array, scratch file) and reports: 20
    ms and 0.5 ms an interaction are generous for that. A part of a session in the sample that was cut off
    by the end may be missing from the recorder's sum: the interval is 0.2 s.
    """
    player = start(
        "prototype",
        "--users",
        "2",
        "--step",
        "3s",
        "--think",
        "exponential(mean=50ms)",
        "--baseline",
        "0",
        "--interval",
        "0.2s",
    )
    status, _output, errors = player.end()
    assert status == 0, errors
    log = Log.open(player.log)
    sessions = log.manifest["sessions"][0]["terminals"]["outcome"]["sessions"]
    rows = log.interactions().collect()
    users = log.users().collect()
    for user, session in sessions.items():
        of_user = rows.filter(pl.col("user") == user)
        told = of_user["service_s"].sum()
        seen = users.filter(pl.col("user") == session)["cpu_exact_s"].sum()
        assert -0.2 <= seen - told <= 0.02 + 0.2 + 0.0005 * of_user.height, (told, seen)
        assert seen > 0.5 * told > 0.0
    assert log.samples().select(pl.col("active_users").max()).collect().item() >= 2
    assert log.check() == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("prototype", "--users", "0"), ("--users 0", "at least 1 user", "1..12")),
        (("prototype", "--users", "5..2"), ("--users 5..2", "5 is above 2", "1..12")),
        (("prototype", "--users", "many"), ("--users many", "not a whole number")),
        (("prototype", "--step=-3s"), ("--step", "-3s", "not a duration")),
        (("prototype", "--step", "0s"), ("--step", "not between 0 and 31 days", "20s")),
        (("prototype", "--think", "sometimes"), ("--think", "sometimes", "exponential(mean=20)")),
        (("prototype", "--think", "normal(mean=2s)"), ("--think", "`normal`", "`lognormal`")),
        (("prototype", "--think", "uniform(low=3s,high=1s)"), ("--think uniform", "high = 1", "from 3")),
        (("prototype", "--open-loop", "--think", "0s"), ("--think", "open-loop play")),
        (("prototype", "--burst", "13"), ("burst", "12, 30, 60, 186 or 354")),
        (("mixed", "--burst", "12"), ("--burst 12", "several classes")),
        (("prototyp",), ("prototyp", "prototype, mixed, empty")),
        (
            ("prototype", "--users", "100000"),
            ("100000 users were asked for", "leaves room for", "raise it"),
        ),
        (("prototype", "--users", "30", "--array", "1TB"), ("30 users", "available memory", "--array")),
        (("nowhere.json",), ("nowhere.json", "cannot be read", "workload in JSON")),
        (("prototype", "--scratch", "/nowhere"), ("/nowhere", "not a folder")),
        (("prototype", "--array", "huge"), ("--array", "huge", "MiB")),
        (("prototype", "--interval", "1ms"), ("interval", "0.1")),
    ],
)
def test_bad_input_is_refused_with_the_remedy(
    arguments: tuple[str, ...], words: tuple[str, ...], tmp_path: Path
) -> None:
    command = [sys.executable, "-c", "from thinktime.cli import main; main()", "play", *arguments]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "run")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    for word in words:
        assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_workload_file_names_its_error(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text('{"name": "mine",\n "classes": [{"name": "edit", "weight": 1, "forkz": 2}]}')
    command = [sys.executable, "-c", "from thinktime.cli import main; main()", "play", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert str(path) in done.stderr
    assert "forkz" in done.stderr
    assert "line 2" in done.stderr


def test_a_log_that_is_there_is_kept(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "precious").write_text("mine")
    command = [
        sys.executable,
        "-c",
        "from thinktime.cli import main; main()",
        "play",
        "empty",
        "--users",
        "1",
    ]
    command += ["--step", "0.2s", "--baseline", "0", "--no-record", "-o", str(tmp_path / "run"), "--force"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert (tmp_path / "run" / "precious").read_text() == "mine"


def test_the_shown_workload_can_be_played_back(tmp_path: Path, start: Start) -> None:
    command = [sys.executable, "-c", "from thinktime.cli import main; main()", "play", "prototype", "--show"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    path = tmp_path / "mine.json"
    path.write_text(shown)
    player = start(str(path), "--users", "1", "--step", "0.3s", *SHORT)
    assert player.end()[0] == 0
    played = Log.open(player.log).manifest["sessions"][0]["terminals"]["workload"]
    assert played == json.loads(shown)
