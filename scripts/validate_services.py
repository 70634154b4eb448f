"""Record services that others wrote with N users, predict 2N, play 2N, and compare; and fill memory.

    python scripts/validate_services.py [--only postgresql,login,notebooks,memory] [--seconds 45] [--no-write]

PostgreSQL under pgbench, a login node, and users who hold memory in a control group with a limit. Each needs
its programs, and root for accounts and control groups; what is missing is named and left out. Logs and
results in target/validate/services are kept: a run that was cut off goes on. Three minutes for each service.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from fill_memory import filled
from services import ACCOUNT, LoginNode, Notebooks, PostgreSQL, Request, Service
from validate import PAGE, PYTHON, ROOT, busy_s, largest

from thinktime.log import Log, LogWriter, facts
from thinktime.models.sizing import fit
from thinktime.predictions.size import goals
from thinktime.predictions.size.answer import Plan, size
from thinktime.predictions.size.measured import Measured, measured
from thinktime.stats.estimate import NotApplicable

RUNS = ROOT / "target" / "validate" / "services"
BEGIN, END = "<!-- services: written by scripts/validate_services.py -->", "<!-- end of services -->"
SERVICES: dict[str, type[Service]] = {
    "postgresql": PostgreSQL,
    "login": LoginNode,
    "notebooks": Notebooks,
}
COUNTERS = (
    "length_s",
    "user_s",
    "nice_s",
    "system_s",
    "irq_s",
    "softirq_s",
    "cpu_exact_s",
    "low_priority_s",
    "memory_total_bytes",
    "memory_available_bytes",
)
"""Columns of the samples that a joined log keeps."""


def joined(recorded: Log, requests: Sequence[Request], uid: int, path: Path) -> None:
    """Write a log of the machine's samples and of the requests as interactions.

    The CPU time of the account in an interval is shared by the requests that were answered in it, equally.
    """
    kept = [one.name for one in recorded.schema("samples") if one.name in COUNTERS]
    samples = recorded.samples().select("start", *kept).sort("start").collect()
    used = (
        recorded.users()
        .filter(pl.col("user") == f"uid:{uid}")
        .group_by("start")
        .agg(pl.col("cpu_exact_s").sum())
        .collect()
    )
    rows = samples.select(pl.col("start").dt.epoch("us"), "length_s").with_columns(
        samples.join(used, on="start", how="left")[
            "cpu_exact_s_right" if "cpu_exact_s" in kept else "cpu_exact_s"
        ]
        .fill_null(0.0)
        .alias("used_s")
    )
    ends = rows["start"].to_numpy() / 1e6 + rows["length_s"].to_numpy()
    done = np.array([one.done_s for one in requests])
    at = np.minimum(np.searchsorted(ends, done), len(ends) - 1)
    count = np.bincount(at, minlength=len(ends))
    share = np.divide(rows["used_s"].to_numpy(), count, out=np.zeros(len(ends)), where=count > 0)
    instant = pl.Datetime("us", "UTC")
    frame = pl.DataFrame(
        {
            "user": [one.user for one in requests],
            "class": [one.kind for one in requests],
            "population": [len({one.user for one in requests})] * len(requests),
            "think_s": [one.think_s for one in requests],
            "due": pl.Series([round(one.due_s * 1e6) for one in requests]).cast(instant),
            "sent": pl.Series([round(one.due_s * 1e6) for one in requests]).cast(instant),
            "completion": pl.Series([round(one.done_s * 1e6) for one in requests]).cast(instant),
            "service_s": share[at],
            "waited": [True] * len(requests),
        }
    ).sort("due")
    cpus = facts.last_machine(recorded).whole("cpus", least=1)
    first = int(rows["start"][0])
    with LogWriter.open(path, source="validate", machine={"cpus": cpus}, start_us=first) as writer:
        writer.write("samples", samples)
        writer.write("interactions", frame)


def played(service: Service, users: int, seconds: float, path: Path) -> None:
    """Record a play of users into the log `path`."""
    draft, raw = path.with_suffix(".draft"), path.with_suffix(".raw")
    for old in (draft, raw):
        shutil.rmtree(old, ignore_errors=True)
    options = ["--interval", "0.5s", "--by", "uid", "-o", str(raw)]
    recorder = subprocess.Popen(
        [*PYTHON, "record", *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        end = time.monotonic() + 20.0
        while not (raw / "manifest.json").exists() and time.monotonic() < end:
            time.sleep(0.1)
        requests = service.play(users, seconds, seed=users)
        time.sleep(0.6)
    finally:
        recorder.send_signal(signal.SIGINT)
        _, said = recorder.communicate()
    if not requests:
        raise SystemExit(f"{service.name}: no request was answered; {said.decode().strip()}")
    joined(Log.open(raw), requests, service.uid, draft)
    shutil.rmtree(raw)
    draft.rename(path)


def read(path: Path) -> Measured:
    """What a log says."""
    found = measured([Log.open(path)], [path.name])
    if isinstance(found, NotApplicable):
        raise SystemExit(f"{path}: {found.reason}; {found.remedy}")
    return found


def compared(kind: type[Service], key: str, seconds: float) -> str:
    """Row of the table for a service."""
    first, second = kind.users
    paths = {users: RUNS / f"{key}-{users}-users-{seconds:g}s" for users in kind.users}
    if not all(path.exists() for path in paths.values()):
        with tempfile.TemporaryDirectory(prefix="thinktime-") as folder:
            os.chmod(folder, 0o755)
            with kind(Path(folder) / key) as service:
                for users, path in paths.items():
                    if not path.exists():
                        print(f"{kind.name}: {users} users for {seconds:g} s", flush=True)
                        played(service, users, seconds, path)
    source, (truth,) = read(paths[first]), read(paths[second]).stretches
    (row,) = size(source, fit(source.levels(), source.machine), Plan(), goals.read([]), [second]).rows
    pairs = (
        (row.response, truth.response, 1e3),
        (row.p90, truth.p90, 1e3),
        (row.throughput, truth.throughput, 1),
    )
    cells = [
        f"{figure(scale * ours.value)} "
        f"({figure(scale * (ours.low or 0.0))} to {figure(scale * (ours.high or 0.0))}) "
        f"| {figure(scale * theirs.value)} | {100 * (ours.value / theirs.value - 1):+.0f} %"
        for ours, theirs, scale in pairs
    ]
    (seen,) = source.stretches
    origin = f"{first}, {seen.n} requests of {1e3 * seen.response.value:.3g} ms"
    return f"| {kind.name} | {origin} | {second} | {' | '.join(cells)} |"


def figure(value: float) -> str:
    """Three significant digits, never with an exponent."""
    return np.format_float_positional(value, precision=3, fractional=False, trim="-")


def with_account(rows: dict[str, str], wanted: Sequence[str], seconds: float) -> None:
    """Rows of the services, under an account made for them."""
    if os.geteuid() != 0:
        print("services: need root, for an account of their own; left out", flush=True)
        return
    made = False
    try:
        pwd.getpwnam(ACCOUNT)
    except KeyError:
        # A password that nobody has: sshd refuses locked accounts.
        subprocess.run(
            ["useradd", "--no-create-home", "--home-dir", "/", "--shell", "/bin/sh", "-p", "*", ACCOUNT],
            check=True,
        )
        made = True
    try:
        for key in wanted:
            kind = SERVICES[key]
            if missing := kind.missing():
                print(f"{kind.name}: {', '.join(missing)} not found ({kind.install}); left out", flush=True)
                continue
            rows[key] = compared(kind, key, seconds)
            print(rows[key], flush=True)
    finally:
        if made:
            subprocess.run(["userdel", ACCOUNT], check=False, capture_output=True)


def text(rows: dict[str, str], memory: dict[str, Any] | None, began: dict[str, Any]) -> str:
    """Text of the page between the marks."""
    lines = [
        f"{began['day']}; others used {began['others_cpu']:.2f} CPU when it began.",
        "",
        "| service | recorded users | predicted users | mean [ms], predicted | measured | error "
        "| p90 [ms], predicted | measured | error | throughput [/s], predicted | measured | error |",
        "|" + " --- |" * 12,
        *rows.values(),
    ]
    if memory is not None:
        lines += [
            "",
            f"Memory: users of {memory['user_mb']:.1f} MB, {memory['seen']} of whom were seen, in a control "
            f"group of {memory['limit_mb']:.0f} MB: predicted {memory['predicted']} ({memory['low']} to "
            f"{memory['high']}); the group reclaimed first with user "
            f"{', '.join(str(one + 1) for one in memory['fitted'])}.",
        ]
    return "\n".join(lines)


def main() -> int:
    """Status 0 when everything that can be tried was."""
    parser = argparse.ArgumentParser(prog="validate_services", description=__doc__.split("\n", 1)[0])
    names = (*SERVICES, "memory")
    parser.add_argument("--only", default=",".join(names), help=f"of {', '.join(names)}")
    parser.add_argument("--seconds", type=float, default=45.0, help="length of each play")
    parser.add_argument("--no-write", action="store_true", help="print the tables only")
    given = parser.parse_args()
    wanted = given.only.split(",")
    if unknown := [name for name in wanted if name not in names]:
        parser.error(f"--only {unknown[0]}: give some of {', '.join(names)}")
    RUNS.mkdir(parents=True, exist_ok=True)
    began = busy_s()
    time.sleep(2.0)
    others = (busy_s() - began) / 2.0
    # What is kept from a run that was cut off was measured then.
    state = RUNS / "began.json"
    if not state.exists():
        day = datetime.datetime.now(datetime.timezone.utc).date()
        state.write_text(json.dumps({"day": str(day), "others_cpu": others}))
    measured_at = json.loads(state.read_text())
    if others > 0.15:
        print(
            f"others use {others:.2f} CPU: {largest()}. What is measured now is not to be trusted", flush=True
        )
    memory = None
    if "memory" in wanted:
        path = RUNS / "memory.json"
        if not path.exists():
            found = filled(RUNS)
            if isinstance(found, str):
                print(f"memory: {found}; left out", flush=True)
            else:
                path.write_text(json.dumps(found))
        if path.exists():
            memory = json.loads(path.read_text())
            print(memory, flush=True)
    rows: dict[str, str] = {}
    with_account(rows, [name for name in wanted if name in SERVICES], given.seconds)
    words = text(rows, memory, measured_at)
    print(words)
    if not given.no_write:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{words}\n\n{END}{rest.split(END)[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
