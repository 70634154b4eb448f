"""`thinktime play SCRIPT` from outside: real shells on pseudo-terminals, and a real sshd on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from thinktime.log import Log, LogWriter
from thinktime.sources.plans import ScriptPlan
from thinktime.sources.scripts import Script, builtin, read

THINKTIME = [sys.executable, "-c", "from thinktime.cli import main; main()"]
PATIENCE_S = 60.0
SCRIPT = """
name = "words"
think = "exponential(mean=0.02)"

[terminal]
shell = "bash"
needs = ["cat"]
time_out = 30
variables = { fruit = ["apple", "pear"] }

[[terminal.file]]
path = "notes/list.txt"
text = "user {{user}} eats {{fruit}}\\n"

[commands]
read = {}
wait = {}
note = {}

[[interaction]]
command = "read"
types = "cat notes/list.txt; read answer"
wait_for = "eats {{fruit}}"

[[interaction]]
command = "read"
types = "and sleeps"

[[interaction]]
command = "wait"
types = "sleep 0.1"

[[interaction]]
command = "note"
types = "sed '/^end$/q' > text"
wait = false

[[interaction]]
command = "note"
types = "a line"
wait = false

[[interaction]]
command = "note"
types = "end"
"""
PLAY = (
    "--think",
    "exponential(mean=20ms)",
    "--baseline",
    "0.5s",
    "--no-record",
    "--format",
    "json",
    # What these tests ask for does not depend on how punctual the driver of a busy test machine is.
    "--accept-driver-load",
)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "words.toml"
    path.write_text(SCRIPT)
    return path


def thinktime(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    line = [*THINKTIME, *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=PATIENCE_S, **options)


def played(log: Path, *arguments: object, **options: Any) -> dict:
    done = thinktime("play", *arguments, *PLAY, "-o", log, **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def scratch(folder: Path) -> Path:
    path = folder / "scratch"
    path.mkdir()
    return path


def test_a_script_is_typed_to_shells_and_its_log_answers(tmp_path: Path, script: Path) -> None:
    homes = scratch(tmp_path)
    found = played(tmp_path / "run", script, "--users", "1..3", "--step", "1s", "--scratch", homes)
    log = Log.open(tmp_path / "run")
    assert log.check() == []
    rows = log.interactions().collect()
    outcome = found["outcome"]
    typed = outcome["completed"] + outcome["unfinished"] + outcome["without_wait"]
    assert (rows.height, outcome["timed_out"], outcome["lost"]) == (typed, 0, 0)
    waited = rows.filter("waited")
    assert set(rows.filter(~pl.col("waited"))["class"]) == {"note"}
    assert waited["completion"].null_count() == outcome["unfinished"]
    done = waited.drop_nulls("completion")
    assert (done["due"] <= done["sent"]).all()
    assert (done["sent"] <= done["first_output"]).all()
    assert (done["first_output"] <= done["completion"]).all()
    slept = done.filter(pl.col("class") == "wait").select(pl.col("completion") - pl.col("sent")).to_series()
    assert slept.len() > 0
    assert slept.min().total_seconds() >= 0.1
    # An empty command asks for nothing: nothing that sleeps is answered sooner.
    assert 0.0 < found["floor"]["response_s"]["median"] < 0.1
    assert found["floor"]["n"] > 5
    facts = log.manifest["sessions"][-1]["terminals"]
    assert (facts["workload"]["name"], facts["on"], facts["floor"]) == ("words", None, found["floor"])
    assert list(homes.iterdir()) == []
    line = ("analyse", "response", tmp_path / "run", "--accept-driver-load", "--format", "json")
    answer = thinktime(*line)
    assert answer.returncode == 0, answer.stderr
    overall = json.loads(answer.stdout)["result"]["overall"]
    assert (overall["arrived"], overall["unfinished"]) == (waited.height, outcome["unfinished"])


def test_the_recorder_sees_each_user_of_a_script(tmp_path: Path) -> None:
    path = tmp_path / "work.toml"
    path.write_text(
        'name = "work"\nthink = 0.05\n[terminal]\n[commands]\nwork = {}\n[[interaction]]\ncommand = "work"\n'
        'types = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"\n'
    )
    line = ("play", path, "--users", "2", "--step", "2s", "--baseline", "0s", "--interval", "0.2s")
    where = ("-o", tmp_path / "run", "--scratch", scratch(tmp_path))
    done = thinktime(*line, *where, "--accept-driver-load")
    assert done.returncode == 0, done.stderr
    log = Log.open(tmp_path / "run")
    sessions = log.manifest["sessions"][-1]["terminals"]["outcome"]["sessions"]
    assert len(sessions) == 2
    users = log.users().collect()
    for session in sessions.values():
        assert users.filter(pl.col("user") == session)["cpu_exact_s"].sum() > 0.1


def test_a_dry_run_shows_all_that_is_typed_and_starts_nothing(tmp_path: Path, script: Path) -> None:
    where = ("--on", "ssh://tester{{user}}@nowhere.invalid:2222")
    done = thinktime("play", script, "--users", "1..2", *where, "--dry-run", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == ["words.toml"]
    users = json.loads(done.stdout)["users"]
    assert [user["user"] for user in users] == [1, 2]
    lines = [item.types for item in read(script).interactions]
    for user, fruit in zip(users, ("apple", "pear"), strict=True):
        assert [line["types"] for line in user["lines"]] == lines
        assert user["lines"][0]["until"] == f'text "eats {fruit}"'
        assert [line["until"] for line in user["lines"][1:]] == [
            "prompt",
            "prompt",
            "nothing",
            "nothing",
            "prompt",
        ]
    text = thinktime("play", script, "--users", "2", "--dry-run", cwd=tmp_path)
    assert "notes/list.txt" in text.stdout
    assert all(line in text.stdout for line in lines)
    # The same seed, the same times: what is shown is what is played.
    again = thinktime("play", script, "--users", "1..2", *where, "--dry-run", "--format", "json")
    assert again.stdout == done.stdout


def test_a_host_without_a_program_is_refused_before_anything_starts(tmp_path: Path, script: Path) -> None:
    script.write_text(SCRIPT.replace('["cat"]', '["cat", "no-such-program", "nor-this"]'))
    done = thinktime("play", script, "-o", tmp_path / "run")
    assert done.returncode == 2
    assert "words: this machine lacks what the script needs: no-such-program, nor-this" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("mftn3",), ("mftn3", "simulated users alone", "[terminal]")),
        (("login-node", "--burst", "12"), ("login-node", "omit --burst")),
        (("empty", "--dry-run"), ("--dry-run", "empty is no script")),
        (("empty", "--on", "ssh://x"), ("--on ssh://x", "empty is no script")),
        (("login-node", "--on", "x"), ("--on x", "ssh://user@host")),
        (
            ("login-node", "--on", "ssh://-oProxyCommand=id"),
            ("--on ssh://-oProxyCommand=id", "no name of a host"),
        ),
        (("login-node", "--on", "ssh://a:secret@x"), ("no name", "use a key")),
        (("login-node", "--dry-run", "--format", "csv"), ("--format csv", "text or json")),
        (("login-nod",), ("login-nod", "script")),
        (("missing.toml",), ("missing.toml", "nor a file")),
    ],
)
def test_what_cannot_be_played_is_refused_with_a_remedy(
    tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    done = thinktime("play", *arguments, "--users", "1", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert all(word in done.stderr for word in words), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_play_leaves_no_process_and_no_home(tmp_path: Path, script: Path, number: int) -> None:
    homes = scratch(tmp_path)
    line = [*THINKTIME, "play", script, "--users", "3", "--step", "1h", *PLAY, "-o", tmp_path / "run"]
    process = subprocess.Popen(
        [*map(str, line), "--scratch", str(homes)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until(lambda: len(list(homes.glob("*/user-3.0"))) == 1)
        wait_until(lambda: rows(tmp_path / "run") > 0)
        family = [pid for pid in below(process.pid) if pid != process.pid]
        assert len(family) >= 4, "the nursery and three shells"
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
        process.communicate()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family))
    wait_until(lambda: not list(homes.iterdir()))
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL)


def rows(log: Path) -> int:
    try:
        return Log.open(log).interactions().collect().height
    except ValueError:
        return 0  # The log is not there yet: the floor is still being measured.


def below(pid: int) -> list[int]:
    """A process and all below it."""
    parents: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(folder.name))
    found = [pid]
    for one in found:
        found.extend(parents.get(one, []))
    return found


def wait_until(condition) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


REAL = [name for name in builtin() if read(name).is_for_terminals]


def test_the_standard_scripts_come_round(tmp_path: Path) -> None:
    """Each line is answered, though typing and thinking are fast; a pass ends as it began."""
    needed = {program for name in REAL for program in read(name).table["terminal"]["needs"]}
    missing = sorted(program for program in needed if shutil.which(program) is None)
    if missing and os.environ.get("THINKTIME_REQUIRE_ALL") != "1":
        pytest.skip(f"needs {', '.join(missing)}: apt-get install acl ed gcc git procps sqlite3")
    playing = {}
    for name in REAL:
        path = tmp_path / f"{name}.toml"
        lines = builtin()[name].splitlines()
        path.write_text("\n".join(line for line in lines if not line.startswith("typing")))
        line = [
            "play",
            path,
            "--users",
            "1",
            "--step",
            "1h",
            "--think",
            "2ms",
            "--baseline",
            "0s",
            "--no-record",
        ]
        line += ["-o", tmp_path / name, "--format", "json", "--scratch", tmp_path]
        playing[name] = subprocess.Popen(
            [*THINKTIME, *map(str, line)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    try:
        for name, process in playing.items():
            _comes_round(tmp_path / name, process, read(name))
    finally:
        for process in playing.values():
            process.kill()
            process.communicate()


def _comes_round(log: Path, process: subprocess.Popen[str], script: Script) -> None:
    wait_until(lambda: process.poll() is not None or rows(log) > len(script.interactions))
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE_S)
    outcome = json.loads(output)["outcome"]
    assert (outcome["timed_out"], outcome["lost"], outcome["unexpected_prompts"]) == (0, 0, 0), errors
    found = Log.open(log).interactions().sort("due").collect()
    expected = [(item.command, item.waits) for item in script.interactions]
    assert found.select("class", "waited").rows()[: len(expected)] == expected
    assert found["completion"][: len(expected)].null_count() == sum(not waits for _, waits in expected)


SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
SSH = shutil.which("ssh")
LACKS = (
    "" if SSHD and SSH and os.geteuid() == 0 else "needs root, ssh and sshd: apt-get install openssh-server"
)
over_ssh = pytest.mark.skipif(bool(LACKS) and os.environ.get("THINKTIME_REQUIRE_ALL") != "1", reason=LACKS)
SERVER = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile {folder}/pid
StrictModes no
UsePAM no
UseDNS no
PasswordAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
PrintLastLog no
SetEnv TMPDIR={folder}/homes SHLVL=2
"""
"""Configuration of the server. A shell of a higher level does not read what root has in .bashrc, which may
wait for others."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Port of a real sshd of this test alone, and an environment whose `ssh` has a key for it."""
    folder = tmp_path / "ssh"
    folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "known").write_text(f"[127.0.0.1]:{port} {(folder / 'host.pub').read_text()}")
    (folder / "config").write_text(SERVER.format(port=port, folder=folder))
    # The system's own ssh, with the key and the known host of the test instead of those of whoever runs it.
    (folder / "client").write_text(
        f"IdentityFile {folder}/user\nUserKnownHostsFile {folder}/known\nIdentitiesOnly yes\n"
    )
    (folder / "bin").mkdir()
    (folder / "homes").mkdir()
    (folder / "bin" / "ssh").write_text(f'#!/bin/sh\nexec {SSH} -F {folder}/client "$@"\n')
    (folder / "bin" / "ssh").chmod(0o755)
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    line = [SSHD, "-D", "-e", "-f", str(folder / "config")]
    daemon = subprocess.Popen(line, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        wait_until(lambda: daemon.poll() is not None or (folder / "pid").exists())
        assert daemon.poll() is None, daemon.stderr.read()
        yield port, os.environ | {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.communicate(timeout=PATIENCE_S)


@over_ssh
def test_users_log_in_over_ssh_to_homes_that_are_removed(
    tmp_path: Path, script: Path, server: tuple[int, dict[str, str]]
) -> None:
    port, environment = server
    # The homes are where the host puts temporary files: here in a folder of this server alone.
    away = tmp_path / "ssh" / "homes"
    found = played(
        tmp_path / "run",
        script,
        "--users",
        "3",
        "--step",
        "4s",
        "--on",
        f"ssh://root@127.0.0.1:{port}",
        env=environment,
    )
    outcome = found["outcome"]
    assert (outcome["lost"], outcome["timed_out"], outcome["unexpected_prompts"]) == (0, 0, 0)
    interactions = Log.open(tmp_path / "run").interactions().collect()
    assert interactions["user"].n_unique() == 3
    assert outcome["completed"] > 10
    assert found["recording"] is None
    assert (
        Log.open(tmp_path / "run").manifest["sessions"][-1]["terminals"]["on"]
        == f"ssh://root@127.0.0.1:{port}"
    )
    wait_until(lambda: not list(away.glob("thinktime.*")))
    assert interactions["service_s"].null_count() == interactions.height
    page = thinktime("analyse", "response", tmp_path / "run", "--accept-driver-load")
    assert "this log cannot tell what their inputs took there" in " ".join(page.stdout.split())


@over_ssh
def test_what_the_host_lacks_and_who_may_not_log_in(
    tmp_path: Path, script: Path, server: tuple[int, dict[str, str]]
) -> None:
    port, environment = server
    on = f"ssh://root@127.0.0.1:{port}"
    script.write_text(SCRIPT.replace('["cat"]', '["cat", "no-such-program"]'))
    lacks = thinktime("play", script, "--on", on, cwd=tmp_path, env=environment)
    assert (lacks.returncode, "no-such-program" in lacks.stderr, on in lacks.stderr) == (2, True, True), (
        lacks.stderr
    )
    (tmp_path / "ssh" / "user.pub").write_text("")
    script.write_text(SCRIPT)
    refused = thinktime("play", script, "--on", on, cwd=tmp_path, env=environment)
    assert refused.returncode == 2
    assert "Permission denied" in refused.stderr
    assert "without a question" in refused.stderr


@over_ssh
@pytest.mark.parametrize("hangs", ["at once", "at a terminal"])
def test_a_login_that_hangs_ends_with_what_was_seen(
    tmp_path: Path, script: Path, server: tuple[int, dict[str, str]], hangs: str
) -> None:
    port, environment = server
    folder = tmp_path / "ssh"
    hang = f"printf 'quota \\033[1mcheck\\n'; echo $$ >> {folder}/hung; exec sleep 1000"
    answer = 'exec sh -c "$SSH_ORIGINAL_COMMAND"'
    login = hang if hangs == "at once" else f"if [ -t 0 ]; then {hang}; fi; {answer}"
    (folder / "login").write_text(login)
    key = (folder / "user.pub").read_text()
    (folder / "user.pub").write_text(f'command="sh {folder}/login" {key}')
    on = f"ssh://root@127.0.0.1:{port}"
    # What hangs at a terminal alone has logged in without one before, in the same time.
    timeout_s = 2 if hangs == "at once" else 8
    options = ("--on", on, "--login-timeout", f"{timeout_s}s", "--users", "1", *PLAY)
    try:
        done = thinktime("play", script, *options, "-o", tmp_path / "run", env=environment)
    finally:
        for pid in (folder / "hung").read_text().split():
            # A login without a terminal goes on after its connection: as on any host.
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    assert done.returncode == (2 if hangs == "at once" else 1), done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    for words in (on, "user 1", f"{timeout_s} s", r"quota \u{1b}[1mcheck", "--login-timeout"):
        assert words in done.stderr, done.stderr


WAITING = """
name = "sleeper"
think = 0.05
[terminal]
[commands]
line = {}
[[interaction]]
command = "line"
types = "SLEEP"
"""


def test_a_driver_that_was_the_load_is_no_result(tmp_path: Path) -> None:
    """The driver is stopped for most of the play: what it then measures is itself."""
    script = tmp_path / "fast.toml"
    script.write_text(WAITING.replace("SLEEP", ":"))
    run = tmp_path / "run"
    line = ["play", script, "--users", "2", "--step", "3s", "--baseline", "0s", "--no-record", "-o", run]
    driver = subprocess.Popen(
        [*THINKTIME, *map(str, line)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until(lambda: rows(run) > 0)
        while driver.poll() is None:
            driver.send_signal(signal.SIGSTOP)
            time.sleep(0.4)
            driver.send_signal(signal.SIGCONT)
            time.sleep(0.1)
        output, errors = driver.communicate(timeout=PATIENCE_S)
    finally:
        driver.kill()
        driver.communicate()
    assert driver.returncode == 1
    assert "the driver was the load: it sent inputs" in errors
    assert "--accept-driver-load" in errors
    shown = next(row for row in output.splitlines() if row.split()[:1] == ["2"]).split()
    assert shown[3:6] == ["-", "-", "-"], output
    # The log keeps everything, and says what it is worth.
    log = Log.open(run)
    assert log.check() == []
    assert log.interactions().collect()["completion"].drop_nulls().len() > 0
    report = thinktime("report", run, "--format", "json")
    findings = json.loads(report.stdout)["findings"]
    assert any("driver of this play was the load" in found["text"] for found in findings)
    assert "the driver of this play was the load" in thinktime("size", run).stderr
    refused, accepted = (
        json.loads(thinktime("analyse", "response", run, "--format", "json", *more).stdout)["result"]
        for more in ((), ("--accept-driver-load",))
    )
    assert "the driver of this play was the load" in refused["not_applicable"]
    assert accepted["overall"]["response"]["mean"]["value"] > 0.0
    assert accepted["caveats"][0]["kind"] == "driver_was_load"
    # Whoever accepts it when they play need not say so again.
    with LogWriter.open(run, "resume", source="test") as writer:
        writer.set("driver_load_accepted", True)
    answer = thinktime("analyse", "response", run, "--format", "json")
    assert json.loads(answer.stdout)["result"]["caveats"][0]["kind"] == "driver_was_load"


def groups_that_stay() -> set[Path]:
    """Groups of users that are there now and a minute later: those of other plays go when these end."""
    found, until = set(Path("/sys/fs/cgroup").glob("**/thinktime-*/user-1.0")), time.monotonic() + 60.0
    while found and time.monotonic() < until:
        time.sleep(0.2)
        found = {group for group in found if group.exists()}
    return found


def test_responses_at_a_shell_are_divided(tmp_path: Path) -> None:
    """A loop takes CPU time, a sleep none, and what is neither CPU time nor a wait is the rest."""
    script = tmp_path / "work.toml"
    loop = "sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'"
    script.write_text(
        WAITING.replace("SLEEP", loop).replace("line", "loop")
        + '[[interaction]]\ncommand = "nap"\ntypes = "sleep 0.2"\n'
    )
    script.write_text(script.read_text().replace("loop = {}", "loop = {}\nnap = {}"))
    run = tmp_path / "run"
    line = ("play", script, "--users", "1", "--step", "4s", "--no-record", "--accept-driver-load")
    done = thinktime(*line, "--baseline", "1s", "-o", run, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    accounts = found["outcome"]["accounts"]
    assert found["floor"]["service_s"]["median"] is not None
    log = Log.open(run)
    assert log.check() == []
    rows = log.interactions().collect().drop_nulls("completion")
    cpu = {kind: rows.filter(pl.col("class") == kind)["service_s"].median() for kind in ("loop", "nap")}
    # Ticks are right on average alone.
    assert cpu["loop"] > 2 * cpu["nap"] or accounts["cpu_time"] == "processes"
    assert rows["page_faults_minor"].min() > 0
    assert rows["read_bytes"].null_count() == 0
    assert not groups_that_stay()
    page = thinktime("analyse", "response", run, "--accept-driver-load", "--format", "json")
    answer = json.loads(page.stdout)["result"]
    parts = answer["overall"]["parts"]
    assert (parts is not None) == accounts["waits"]
    if parts is not None:
        sums = [parts[name]["value"] for name in ("service", "cpu_wait", "rest")]
        io = parts["io_wait"]
        assert sum(sums) + (io["value"] if io else 0.0) == pytest.approx(parts["response"]["value"])
        nap = next(group for group in answer["by_class"] if group["label"] == "nap")["parts"]
        assert nap["rest"]["value"] > 0.19


def test_a_driver_that_was_punctual_is_a_result(tmp_path: Path) -> None:
    script = tmp_path / "slow.toml"
    script.write_text(WAITING.replace("SLEEP", "sleep 0.6"))
    line = ("play", script, "--users", "1", "--step", "2s", "--baseline", "0s", "--no-record")
    done = thinktime(*line, "-o", tmp_path / "run", "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["driver_problem"] is None
    assert found["steps"][0]["response_median_s"] >= 0.6
    answer = json.loads(thinktime("analyse", "response", tmp_path / "run", "--format", "json").stdout)
    assert answer["result"]["caveats"] == [] or answer["result"]["caveats"][0]["kind"] != "driver_was_load"


def test_a_plan_from_python(script: Path) -> None:
    plan = ScriptPlan(script=read(script), users="2", step_s=1.0, seed=4, on="ssh://nowhere.invalid")
    assert plan.lines(1) == plan.lines(1)
    assert plan.lines(1) != plan.lines(2)


SESSION = """
name = "recorded"
think = 0.3
[terminal]
shell = "sh"
needs = ["script", "sleep"]
[commands]
record = {}
loop = {}
sleep = {}
list = {}
end = {}
[[interaction]]
command = "record"
types = "script -q -f --log-io FOLDER/io.log --log-timing FOLDER/io.timing -c 'sh -i'"
[[interaction]]
command = "loop"
types = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"
[[interaction]]
command = "sleep"
types = "sleep 0.3"
[[interaction]]
command = "list"
types = "ls /usr/bin | sort | tail -3"
[[interaction]]
command = "end"
types = "exit"
[[interaction]]
command = "end"
types = "sleep 1000"
"""
"""A user who records a session with the real `script`; the prompt of the shell in it is that of the play."""


@pytest.mark.skipif(
    shutil.which("script") is None and os.environ.get("THINKTIME_REQUIRE_ALL") != "1",
    reason="needs script: apt-get install bsdutils",
)
def test_a_recorded_session_takes_what_it_took_when_it_is_played_again(tmp_path: Path) -> None:
    # Others use the machine of the tests too: where they slowed one of the two runs down, both are repeated.
    for attempt in range(3):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        wrong = _differences_when_played_again(folder)
        if not wrong:
            break
    assert not wrong


def _differences_when_played_again(folder: Path) -> list[object]:
    """Commands of a recorded session which take another time when it is played again."""
    recording = folder / "recording.toml"
    recording.write_text(SESSION.replace("FOLDER", str(folder)))
    common = ("--users", "1", "--baseline", "0s", "--no-record", "--accept-driver-load")
    done = thinktime("play", recording, *common, "--step", "3.5s", "-o", folder / "first")
    assert done.returncode == 0, done.stderr
    again = folder / "again.toml"
    made = thinktime("scripts", "--from", folder / "io.timing", "-o", again)
    assert made.returncode == 0, made.stderr
    typed = [item.types for item in read(recording).interactions][1:4]
    assert [item.types for item in read(again).interactions][:3] == typed
    done = thinktime("play", again, *common, "--step", "4s", "--think", "0.1s", "-o", folder / "second")
    assert done.returncode == 0, done.stderr
    first, second = (
        Log.open(folder / name).interactions().sort("due").collect().drop_nulls("completion")
        for name in ("first", "second")
    )
    length = len(read(again).interactions)
    wrong: list[object] = []
    for place in range(3):
        recorded = first.row(place + 1, named=True)
        repeated = second.filter(pl.int_range(pl.len()) % length == place)
        assert repeated.height >= 2
        took = ((repeated["completion"] - repeated["sent"]).dt.total_microseconds() / 1e6).to_list()
        once = (recorded["completion"] - recorded["sent"]).total_seconds()
        # The spread of a few repetitions, twice as wide.
        if not min(took) / 2 <= once <= max(took) * 2:
            wrong.append((typed[place], once, took))
        cpu = repeated["service_s"].to_list()
        if not min(cpu) / 2 - 0.02 <= recorded["service_s"] <= max(cpu) * 2 + 0.02:
            wrong.append((typed[place], recorded, cpu))
    return wrong
