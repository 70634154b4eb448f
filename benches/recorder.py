"""What a sample of the recorder costs with 1 000 and 5 000 sleeping processes, beside what others cost.

CPU time (user and system) of a sample is the difference of a longer and a shorter run, divided by the
samples between them: what starting costs is in neither. The reference is a C program that opens, reads
and parses /proc/PID/stat of every process; sadc and pidstat are measured where they are installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from programs import ROOT, build_c

RECORDER = ROOT / "target" / "static" / "thinktime-recorder"
POPULATIONS = (1000, 5000)
INTERVAL_S = 0.1
SHORT, LONG = 10, 60
"""Samples of the shorter and of the longer run."""
PEER_SHORT, PEER_LONG = 2, 6
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


def cpu_s(command: list[str | Path]) -> float:
    """CPU time of a command that succeeds."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {errors.decode().strip()}")
    return usage.ru_utime + usage.ru_stime


def per_sample_ms(command: Callable[[int], list[str | Path]], short: int, long: int) -> float:
    """CPU time of a sample, by the difference of two runs of `short` and `long` samples."""
    # The first run finds cold caches, and counts for nothing.
    _, first, second = (cpu_s(command(samples)) for samples in (short, short, long))
    return 1000 * (second - first) / (long - short)


def recorder_ms(by: str, *, ordinary: bool = False) -> float:
    """CPU time of a sample by this user, or by one without rights."""
    with tempfile.TemporaryDirectory() as folder:
        # One without rights may not see where the program was built.
        program: list[str | Path] = [shutil.copy(RECORDER, folder)]
        if ordinary:
            os.chown(folder, NOBODY, NOBODY)
            program = [*AS_NOBODY, *program]

        def command(samples: int) -> list[str | Path]:
            length = f"{samples * INTERVAL_S}s"
            log = Path(folder) / "log"
            options = ["--force", "--interval", f"{INTERVAL_S}s", "--duration", length, "--by", by]
            return [*program, "record", "-o", log, *options]

        return per_sample_ms(command, SHORT, LONG)


def peers(folder: Path) -> dict[str, Callable[[int], list[str | Path]]]:
    """Command lines of the installed tools, by name."""
    found: dict[str, Callable[[int], list[str | Path]]] = {}
    sadc = shutil.which("sadc") or shutil.which("sadc", path="/usr/lib/sysstat:/usr/lib64/sa:/usr/lib/sa")
    pidstat = shutil.which("pidstat")
    if sadc is not None:
        found["sadc (system-wide only)"] = lambda samples: [
            *(sadc, "-S", "XALL", "1", str(samples), folder / f"sa{samples}")
        ]
    if pidstat is not None:
        found["pidstat -u"] = lambda samples: [pidstat, "-u", "1", str(samples)]
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
            command = [loop, str(LONG)]
            loop_ms = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
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
                    peer_ms = per_sample_ms(peer, PEER_SHORT, PEER_LONG)
                    rows.append(row(f"sample {what}, {count} sleeping processes", ours, name, peer_ms))
            if not any(one["ours"] == by_none for one in rows):
                alone = row(f"sample system-wide, {count} sleeping processes", by_none, "", 1.0)
                rows.append(alone | {"reference": None, "reference_name": None, "ratio": None})
    return rows
