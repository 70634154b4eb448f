"""What a sample of the recorder costs with 1 000 and 5 000 sleeping processes, beside what others cost.

CPU time (user and system) of a sample is what a process uses in the time of so many samples, well after it
has begun: what starting costs is not in it. The reference is a C program that opens, reads and parses
/proc/PID/stat of every process; sadc and pidstat are measured where they are installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from programs import ROOT, build_c

RECORDER = ROOT / "target" / "static" / "thinktime-recorder"
POPULATIONS = (1000, 5000)
INTERVAL_S = 0.1
FIRST, COUNTED = 30, 60
"""Samples that are not counted, because it has begun only, and those that are."""
PEER_INTERVAL_S, PEER_FIRST, PEER_COUNTED = 1, 2, 5
"""The same for tools that take whole seconds."""
NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")


@contextmanager
def sleepers(count: int) -> Iterator[None]:
    """So many processes that do nothing."""
    program = build_c("recorder_sleepers")
    asleep = subprocess.Popen([program, str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert asleep.stdin is not None
    assert asleep.stdout is not None
    try:
        if asleep.stdout.readline() != b"ready\n":
            raise RuntimeError(f"could not make {count} processes: raise the limit (ulimit -u)")
        yield
    finally:
        asleep.stdin.close()
        asleep.wait()
        asleep.stdout.close()


@contextmanager
def forking() -> Iterator[None]:
    """Something that starts a process twenty times a second: processes must then be looked for anew."""
    loop = subprocess.Popen(["/bin/sh", "-c", "while :; do sleep 0.05; done"])
    try:
        yield
    finally:
        loop.terminate()
        loop.wait()


def cpu_s(pid: int) -> float:
    """CPU time that a process has used, by its clock (clock_getcpuclockid(3))."""
    by_scheduler = 2
    return time.clock_gettime(~pid << 3 | by_scheduler)


def per_sample_ms(command: list[str | Path], interval_s: float, first: int, counted: int) -> float:
    """CPU time of a sample of a command that takes one at each interval and goes on until it is ended."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    with process:
        time.sleep(first * interval_s)
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} failed: {process.communicate()[1].strip()}")
        before = cpu_s(process.pid)
        time.sleep(counted * interval_s)
        used_s = cpu_s(process.pid) - before
        process.terminate()
        process.communicate()
    return 1000 * used_s / counted


def recorder_ms(by: str, *, ordinary: bool = False) -> float:
    """CPU time of a sample by this user, or by one without rights."""
    with tempfile.TemporaryDirectory() as folder:
        # One without rights may not see where the program was built.
        program: list[str | Path] = [shutil.copy(RECORDER, folder)]
        if ordinary:
            os.chown(folder, NOBODY, NOBODY)
            program = [*AS_NOBODY, *program]

        log = Path(folder) / "log"
        options = ["--force", "--interval", f"{INTERVAL_S}s", "--by", by]
        return per_sample_ms([*program, "record", "-o", log, *options], INTERVAL_S, FIRST, COUNTED)


def peers(folder: Path) -> dict[str, list[str | Path]]:
    """Command lines of the installed tools, by name."""
    found: dict[str, list[str | Path]] = {}
    sadc = shutil.which("sadc") or shutil.which("sadc", path="/usr/lib/sysstat:/usr/lib64/sa:/usr/lib/sa")
    pidstat = shutil.which("pidstat")
    if sadc is not None:
        found["sadc (system-wide only)"] = [sadc, "-S", "XALL", "1", folder / "sa"]
    if pidstat is not None:
        found["pidstat -u"] = [pidstat, "-u", "1"]
    return found


def row(work: str, ours: float, name: str, reference: float) -> dict[str, Any]:
    return {
        "work": work,
        "unit": "ms CPU/sample",
        "ours": ours,
        "reference": reference,
        "reference_name": name,
        "ratio": reference / ours,
    }


def run() -> list[dict[str, Any]]:
    """CPU time of a sample, by number of processes and by what is looked at."""
    subprocess.run(["make", "--silent", "static"], check=True, cwd=ROOT)
    loop = build_c("recorder_procloop")
    rows = []
    for count in POPULATIONS:
        with sleepers(count):
            told = subprocess.run([loop, str(COUNTED)], check=True, capture_output=True, text=True)
            loop_ms = float(told.stdout)
            by_uid, by_none = recorder_ms("uid"), recorder_ms("none")
            with forking():
                while_forking = recorder_ms("uid")
            name = "C: open, read and parse /proc/PID/stat"
            rows.append(row(f"sample by user, {count} sleeping processes", by_uid, name, loop_ms))
            rows.append(row(f"the same while processes come and go, {count}", while_forking, name, loop_ms))
            if os.geteuid() == 0 and shutil.which("setpriv") is not None:
                ordinary = recorder_ms("uid", ordinary=True)
                rows.append(row(f"the same without rights, {count}", ordinary, name, loop_ms))
            with tempfile.TemporaryDirectory() as folder:
                for name, peer in peers(Path(folder)).items():
                    ours, what = (by_none, "system-wide") if name.startswith("sadc") else (by_uid, "by user")
                    peer_ms = per_sample_ms(peer, PEER_INTERVAL_S, PEER_FIRST, PEER_COUNTED)
                    rows.append(row(f"sample {what}, {count} sleeping processes", ours, name, peer_ms))
            if not any(one["ours"] == by_none for one in rows):
                alone = row(f"sample system-wide, {count} sleeping processes", by_none, "", 1.0)
                rows.append(alone | {"reference": None, "reference_name": None, "ratio": None})
    return rows
