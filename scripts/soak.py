"""Record this machine for a long time while faults happen to the recorder, and account for every sample.

    python scripts/soak.py MINUTES [--seed N] [--forget KIND] [--format json]

Sessions of the static recorder and of `thinktime record` alternate in one log on a small tmpfs, one fault in
each: signals, a full disk, a folder that is moved or replaced, a lock or a journal that is removed or cut, a
second recorder, clocks of a time namespace, an ordinary user who may not see the processes of others. After
every session the log is checked, and

    samples taken = rows of `samples` + rows that retention removed + `interval_dropped` + `rows_lost`

must hold. The samples taken are those that the recorder itself reported: in its last line, or, if it was
killed, on its terminal after each sample. Status 1 if it does not, or if `thinktime check` finds a defect;
the log is then copied to target/soak.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pty
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from thinktime.log import Log

ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "target" / "static" / "thinktime-recorder"
KEPT = ROOT / "target" / "soak"
"""Where the logs are copied in which something was wrong."""
PYTHON = [sys.executable, "-c", "from thinktime.cli import main; main()"]
TMPFS = "size=40m,mode=755"
MOUNTED = "THINKTIME_SOAK_MOUNTED"
NAMED = ("rows_lost", "interval_dropped")
ACCOUNT = re.compile(r"(\d+) samples? taken: (\d+) in the log, (\d+) lost(?:, (\d+) dropped)?")
PROGRESS = re.compile(r"\r(\d+) samples, ")
BEGIN_S, END_S = 60.0, 60.0


class Recorder:
    """A recorder on a terminal of its own, where it shows its progress after every sample."""

    def __init__(self, command: list[str]) -> None:
        self._terminal, end = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=end, stderr=end, start_new_session=True
        )
        os.close(end)
        self.shown = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        # A terminal whose last writer has gone is an error to its reader.
        with contextlib.suppress(OSError):
            while chunk := os.read(self._terminal, 65536):
                self.shown += chunk.decode(errors="replace")
        os.close(self._terminal)

    @property
    def reported(self) -> int:
        """Samples that it has shown so far."""
        return max((int(number) for number in PROGRESS.findall(self.shown)), default=0)

    def wait_for_samples(self, count: int) -> None:
        """Wait until it has shown `count` more samples, or has ended."""
        wanted, deadline = self.reported + count, time.monotonic() + BEGIN_S
        while self.reported < wanted and self.process.poll() is None:
            if time.monotonic() > deadline:
                raise RuntimeError(f"no sample for {BEGIN_S:.0f} s: {self.shown[-2000:]}")
            time.sleep(0.02)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it is still there."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def join(self) -> int:
        """Exit status, once it has ended."""
        status = self.process.wait(timeout=END_S)
        self._reader.join()
        return status


@dataclass(slots=True, kw_only=True)
class Session:
    """A session and the fault that happens in it."""

    recorder: Recorder
    log: Path
    random: random.Random
    status: int | None = 0
    """Exit status that is right; None where it depends on the moment of the fault."""
    slack: int = 0
    """Samples that the session may have taken without anybody being told: the one that a kill interrupted."""
    notes: list[str] = field(default_factory=list)


def _fill(folder: Path) -> Path:
    """File that leaves no room on the file system of `folder`."""
    filler = folder / "filler"
    with filler.open("wb") as file, contextlib.suppress(OSError):
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    os.write(file.fileno(), b"x" * size)
    return filler


def _journal(log: Path) -> Path | None:
    return max(log.glob("journal-*.ttj"), default=None)


def none(session: Session) -> None:
    """Record for a while."""
    session.recorder.wait_for_samples(session.random.randint(2, 8))


def kill(session: Session) -> None:
    """Kill it at a random moment of an interval."""
    time.sleep(session.random.uniform(0.0, 0.3))
    session.recorder.send(signal.SIGKILL)
    session.status, session.slack = -signal.SIGKILL, 1


def stop(session: Session) -> None:
    """Stop it for some intervals."""
    session.recorder.send(signal.SIGSTOP)
    time.sleep(session.random.uniform(0.2, 1.5))
    session.recorder.send(signal.SIGCONT)


def hang_up(session: Session) -> None:
    """Start new parts."""
    for _ in range(session.random.randint(1, 4)):
        session.recorder.send(signal.SIGHUP)
        time.sleep(session.random.uniform(0.0, 0.3))


def hang_up_and_kill(session: Session) -> None:
    """Kill it while it seals."""
    session.recorder.send(signal.SIGHUP)
    time.sleep(session.random.uniform(0.0, 0.05))
    session.recorder.send(signal.SIGKILL)
    session.status, session.slack = -signal.SIGKILL, 1


def full_for_a_while(session: Session) -> None:
    """Fill the disk, and make room again."""
    filler = _fill(session.log.parent)
    session.recorder.wait_for_samples(session.random.randint(3, 10))
    if session.random.random() < 0.5:
        session.recorder.send(signal.SIGHUP)
        session.recorder.wait_for_samples(2)
    filler.unlink()
    session.recorder.wait_for_samples(2)


def full_to_the_end(session: Session) -> None:
    """Fill the disk and end the session."""
    _fill(session.log.parent)
    session.recorder.wait_for_samples(session.random.randint(3, 10))
    session.status = 1


def cut_journal(session: Session) -> None:
    """Shorten the journal as a log rotation would."""
    journal = _journal(session.log)
    if journal is None:
        return
    with contextlib.suppress(FileNotFoundError):
        os.truncate(journal, session.random.randint(0, max(0, journal.stat().st_size - 1)))
    session.recorder.wait_for_samples(2)
    # Rows that were cut are lost, unless the cut took nothing but tables that are written again.
    session.status = None


def remove_journal(session: Session) -> None:
    """Remove the journal."""
    journal = _journal(session.log)
    if journal is not None:
        journal.unlink(missing_ok=True)
    session.recorder.wait_for_samples(2)


def remove_lock(session: Session) -> None:
    """Remove the lock; nobody takes it."""
    (session.log / "lock").unlink()
    session.status = 1
    session.recorder.join()


def take_lock(session: Session) -> None:
    """Another recorder tries to begin after the lock was removed; the folder itself is locked too."""
    (session.log / "lock").unlink()
    second = _command(STATIC, session.log, "--duration", "0.3s", "--resume")
    # On a file system that locks files alone, which of both comes first is up to the kernel.
    session.notes.append(_run(second).stdout)
    session.recorder.join()
    session.status, session.slack = 1, 1


def move(session: Session) -> None:
    """Move the folder, and move it back when the recorder has ended."""
    aside = session.log.with_name("moved")
    session.log.rename(aside)
    session.status = 1
    session.recorder.join()
    aside.rename(session.log)


def replace(session: Session) -> None:
    """Somebody else's log is in the place of the folder: it must stay as it is."""
    aside = session.log.with_name("moved")
    session.log.rename(aside)
    done = _run(_command(STATIC, session.log, "--duration", "0.3s"))
    session.recorder.join()
    log = Log.open(session.log)
    rows = log.samples().collect().height
    account = ACCOUNT.search(done.stdout)
    is_its_own = account and int(account[2]) == rows and len(log.manifest["sessions"]) == 1
    if done.returncode or not is_its_own or log.check():
        raise RuntimeError(f"the log that replaced another was changed: {done}, {rows} rows, {log.check()}")
    shutil.rmtree(session.log)
    aside.rename(session.log)
    session.status = 1


def second_recorder(session: Session) -> None:
    """Try to record into the same log."""
    for option in ("--resume", "--force"):
        done = _run(_command(STATIC, session.log, option))
        if done.returncode != 2 or str(session.recorder.process.pid) not in done.stderr:
            raise RuntimeError(f"a second recorder was not refused: {done}")


Fault = Callable[[Session], None]
FAULTS: dict[str, Fault] = {
    "none": none,
    "killed": kill,
    "stopped for a while": stop,
    "SIGHUP": hang_up,
    "killed while sealing": hang_up_and_kill,
    "disk full for a while": full_for_a_while,
    "disk full to the end": full_to_the_end,
    "journal cut": cut_journal,
    "journal removed": remove_journal,
    "lock removed": remove_lock,
    "lock taken by another": take_lock,
    "folder moved": move,
    "folder replaced": replace,
    "second recorder": second_recorder,
    "clocks 10 days ahead": none,
    "hidepid, ordinary user": none,
    "retention": hang_up,
}
WRAPPERS = {
    "clocks 10 days ahead": ["unshare", "--time", "--monotonic", "864000", "--boottime", "864000"],
    "hidepid, ordinary user": [
        "unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh",
        "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
    ],
}  # fmt: skip


def _command(program: Path | list[str], log: Path, *options: str) -> list[str]:
    start = [str(program)] if isinstance(program, Path) else program
    return [*start, "record", "-o", str(log), "--interval", "0.1s", *options]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=END_S, check=False)


@dataclass(slots=True, kw_only=True)
class Account:
    """Samples taken: a session that was killed may have taken one more than it showed."""

    low: int = 0
    high: int = 0


@dataclass(slots=True, kw_only=True)
class Soak:
    """Sessions with faults, and all that is printed at the end."""

    folder: Path
    chance: random.Random
    forget: str | None
    accounts: dict[str, Account] = field(default_factory=lambda: {"root": Account(), "ordinary": Account()})
    figures: dict[str, dict[str, int]] = field(default_factory=dict)
    sessions: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def prepare(self) -> None:
        """Put the program and the folders of the logs where their users may reach them."""
        recorder = self.folder / "thinktime-recorder"
        shutil.copy(STATIC, recorder)
        recorder.chmod(0o755)
        for name, owner in (("root", 0), ("ordinary", 65534)):
            (self.folder / name).mkdir(mode=0o755)
            os.chown(self.folder / name, owner, owner)

    def run(self, seconds: float, is_quiet: bool) -> None:
        """Go on for `seconds`; each fault happens once at least before chance decides."""
        queue = list(FAULTS)
        self.chance.shuffle(queue)
        began, number = time.monotonic(), 0
        while (queue or time.monotonic() - began < seconds) and not self.wrong:
            number += 1
            fault = queue.pop() if queue else self.chance.choice(list(FAULTS))
            name = "ordinary" if fault == "hidepid, ordinary user" else "root"
            wrong = self._play(number, fault, self.accounts[name])
            self.figures[name], findings = add_up(
                self.folder / name / "log", self.accounts[name], self.forget
            )
            self.wrong += [f"session {number} ({fault}): {finding}" for finding in [*wrong, *findings]]
            if self.wrong:
                shutil.rmtree(KEPT, ignore_errors=True)
                shutil.copytree(self.folder / name, KEPT)
                self.wrong.append(f"the log is kept in {KEPT}")
            if not is_quiet:
                print(f"{time.monotonic() - began:6.0f} s  {number:4d}  {fault}", file=sys.stderr, flush=True)

    def _play(self, number: int, fault: str, account: Account) -> list[str]:
        """Complaints about one session with `fault`."""
        is_ordinary = fault == "hidepid, ordinary user"
        log = self.folder / ("ordinary" if is_ordinary else "root") / "log"
        is_static = is_ordinary or number % 2 == 0
        program: Path | list[str] = self.folder / "thinktime-recorder" if is_static else PYTHON
        options = ["--resume", "--seed", str(number), "--method", self.chance.choice(["auto", "procfs"])]
        # The disk is to be full only when a fault fills it.
        options += ["--keep-bytes", "60kB" if fault == "retention" else "2MB"]
        command = [*WRAPPERS.get(fault, []), *_command(program, log, *options)]
        session = Session(recorder=Recorder(command), log=log, random=self.chance)
        try:
            session.recorder.wait_for_samples(self.chance.randint(2, 6))
            FAULTS[fault](session)
            session.recorder.send(self.chance.choice([signal.SIGTERM, signal.SIGINT]))
            status = session.recorder.join()
        finally:
            if session.recorder.process.poll() is None:
                session.recorder.process.kill()
            (log.parent / "filler").unlink(missing_ok=True)
        self.sessions[fault] += 1
        self.sessions["by the static recorder" if is_static else "by `thinktime record`"] += 1
        for note in session.notes:
            other = ACCOUNT.search(note)
            account.low += int(other[1]) if other else 0
            account.high += int(other[1]) if other else 0
        return judge(session, status, account)


def judge(session: Session, status: int, account: Account) -> list[str]:
    """Complaints about a session that has ended; what it took is added to `account`."""
    # A terminal breaks lines between words.
    shown, reported = " ".join(session.recorder.shown.split()), session.recorder.reported
    if status == -signal.SIGKILL:
        account.low += reported
        account.high += reported + session.slack
        return [] if session.status == status else ["it was killed"]
    line = ACCOUNT.search(shown)
    if line is None:
        return [f"no account of the samples: {shown[-1000:]!r}"]
    taken, kept, lost, dropped = (int(figure or 0) for figure in line.groups())
    account.low += taken - session.slack
    account.high += taken
    wrong = []
    if taken != kept + lost + dropped or taken < reported:
        wrong.append(f"{line[0]}, {reported} shown")
    wanted = int(lost > 0) if session.status is None else session.status
    if status != wanted:
        wrong.append(f"status {status}, not {wanted}: {shown[-500:]!r}")
    return wrong


def add_up(log: Path, account: Account, forget: str | None) -> tuple[dict[str, int], list[str]]:
    """Figures of the log at `log`, and what is wrong with it."""
    opened = Log.open(log)
    manifest = json.loads((log / "manifest.json").read_text())
    figures = {
        "taken at least": account.low,
        "taken at most": account.high,
        "read": opened.samples().collect().height,
        "removed by retention": manifest.get("retired_rows", {}).get("samples", 0),
    }
    for kind in (*NAMED, "killed", "disk_full", "journal_changed", "missed_deadline"):
        counts = [item["count"] for item in opened.manifest["incidents"] if item["kind"] == kind]
        figures[kind] = sum(counts)
    named = sum(figures[kind] for kind in NAMED if kind != forget)
    present = figures["read"] + figures["removed by retention"] + named
    defects = opened.check()
    # Notes are no defects: a recorder that was killed leaves a session without an end, and one that was
    # killed during retention a file of a part that was given up.
    findings = [f"{log}: {defect}" for defect in defects if defect.severity != "note"]
    figures["findings"] = len(findings)
    figures["notes"] = len(defects) - len(findings)
    if not account.low <= present <= account.high:
        findings.append(
            f"{log}: {present} samples are read or named, {account.low} to {account.high} were taken"
        )
    return figures, findings


def main() -> int:
    """Status 0 if every sample is in the log or named, 1 if not, 2 where it cannot be tried."""
    parser = argparse.ArgumentParser(description="Throw faults at a recorder and account for every sample.")
    parser.add_argument("minutes", type=float, help="how long")
    parser.add_argument("--seed", type=int, default=1971, help="seed of the faults and their moments")
    parser.add_argument(
        "--forget", choices=NAMED, help="leave these incidents out of the sum, which must then fail"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        print(
            "soak: needs root, to mount a small disk and to make namespaces: run it as root", file=sys.stderr
        )
        return 2
    if not STATIC.is_file():
        print(f"soak: there is no {STATIC}: run `make static`", file=sys.stderr)
        return 2
    if MOUNTED not in os.environ:
        with tempfile.TemporaryDirectory(prefix="thinktime-soak-") as folder:
            script = 'mount -t tmpfs -o "$0" tmpfs "$1" && shift && exec "$@"'
            unshare = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, TMPFS, folder]
            if subprocess.run([*unshare, "true"], check=False).returncode:
                print(
                    "soak: `unshare --mount` and `mount` must be permitted: run it outside the container",
                    file=sys.stderr,
                )
                return 2
            command = [*unshare, sys.executable, *sys.argv]
            return subprocess.run(command, env=os.environ | {MOUNTED: folder}, check=False).returncode
    folder = Path(os.environ.pop(MOUNTED))
    is_quiet = arguments.format == "json"
    soak = Soak(folder=folder, chance=random.Random(arguments.seed), forget=arguments.forget)
    soak.prepare()
    soak.run(60 * arguments.minutes, is_quiet)
    if is_quiet:
        print(json.dumps({"sessions": soak.sessions, "logs": soak.figures, "wrong": soak.wrong}))
    else:
        show(soak)
    return 1 if soak.wrong else 0


def show(soak: Soak) -> None:
    """Print the table of sessions, and what became of the samples."""
    print("\nsessions")
    for name, count in sorted(soak.sessions.items()):
        print(f"  {count:7d}  {name}")
    for name, sums in soak.figures.items():
        print(f"samples of user {name}")
        for key, value in sums.items():
            print(f"  {value:7d}  {key}")
    for line in soak.wrong:
        print(f"WRONG: {line}")


if __name__ == "__main__":
    sys.exit(main())
