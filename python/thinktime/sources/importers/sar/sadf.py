"""Raw text from a binary file by the installed ``sadf``, in every byte order and version it supports."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from thinktime.errors import InputError
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.sar.raw import USER_HZ
from thinktime.sources.importers.sar.raw_blocks import RUN_MARK

ACTIVITIES = (
    ("-u", "ALL", "-P", "ALL"),
    ("-w",),
    ("-I", "SUM"),
    ("-W",),
    ("-B",),
    ("-b",),
    ("-r", "ALL"),
    ("-S",),
    ("-q", "LOAD"),
    ("-q", "CPU"),
    ("-q", "IO"),
    ("-q", "MEM"),
    ("-d",),
    ("-n", "DEV"),
    ("-n", "EDEV"),
)
"""Options for the activities, one each; ``-A`` would add a line for each interrupt and CPU."""
OLD_QUEUE = ("-q",)
"""The queue before version 12.3.3, which had no pressure."""

TIME_MAX_S = 300
"""Time after which sadf is taken to be caught in a damaged header."""
OUTPUT_BYTES_MIN = 64 << 20
OUTPUT_FACTOR = 200
"""sadf prints about 2 bytes per byte; a damaged header can make it print endlessly."""
MESSAGE_MAX = 200
"""Characters of a message of sadf that are repeated."""
USAGE_STATUS = 1
"""Exit status of sadf for an activity that the file does not hold, or an option that it does not know."""
TEXT = "import the text that `sadf -r -U -O debug FILE -- -A` prints"
NOT_INSTALLED = (
    "a binary file of sar is read through sadf, which is not installed; install sysstat (apt install "
    f"sysstat), or {TEXT} where it is installed"
)
INVALID = "Invalid system activity file"
"""Message of sadf for sizes and counts in header or list of activities that cannot be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts that sadf reports about the file."""

    machine: dict[str, str | int]
    """Description of the recorded machine for the manifest."""
    file_version: str
    """Version of sysstat that wrote the file."""
    sadf_version: str
    """Version of sysstat installed here."""
    hz: int
    """Ticks per second of the recorded machine."""
    hz_is_known: bool
    """True if the file states them; otherwise they are `USER_HZ`."""
    long_bits: int
    """Width of the recorded machine's ``unsigned long``."""
    converted: bool
    """True if the file had to be converted from an older format."""


class _Sadf:
    """The program sadf, run in a fixed locale and time zone."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("sadf")
        if program is None:
            raise InputError(NOT_INSTALLED)
        self.program = program
        self.folder = folder
        self.environment = {
            **os.environ,
            "LC_ALL": "C",
            "TZ": "UTC",
            "S_COLORS": "never",
            "S_TIME_FORMAT": "ISO",
        }

    def run(self, arguments: list[str], output: Path, output_bytes_max: int) -> tuple[int, str]:
        """Exit status of sadf (negative: the signal that ended it) and its messages.

        What it prints is appended to `output`.
        """
        errors = self.folder / "messages"
        with output.open("ab") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                [self.program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=self.environment,
                cwd=self.folder,
            )
            try:
                status = _watch(process, output, errors, output_bytes_max)
            finally:
                if process.poll() is None:
                    process.kill()
                process.wait()
        with errors.open("rb") as file:
            message = file.read(4000).decode("utf-8", "replace")
        return status, " ".join(message.split())


def _watch(process: subprocess.Popen[bytes], output: Path, errors: Path, output_bytes_max: int) -> int:
    deadline = time.monotonic() + TIME_MAX_S
    while True:
        status = _status(process, wait_s=0.1)
        if status is not None:
            return status
        if time.monotonic() > deadline:
            raise InputError(f"sadf did not end within {TIME_MAX_S} s: the file's header is damaged")
        if output.stat().st_size + errors.stat().st_size > output_bytes_max:
            raise InputError("sadf does not stop printing: the file's header is damaged")


def _status(process: subprocess.Popen[bytes], wait_s: float) -> int | None:
    try:
        return process.wait(timeout=wait_s)
    except subprocess.TimeoutExpired:
        return None


def raw_text(path: Path, folder: Path, problems: Problems) -> tuple[Path, Facts]:
    """Raw text of the binary file at `path`, in the temporary `folder`, and its facts.

    An older format is converted with ``sadf -c`` first. Where sadf stops early (a truncated file), it
    is run again for one activity after the other, since it prints one activity whole before the next.

    Raises
    ------
    InputError
        sadf is not installed, or cannot read the file.
    """
    sadf = _Sadf(folder)
    source = path.resolve()
    limit = OUTPUT_BYTES_MIN + OUTPUT_FACTOR * source.stat().st_size
    header, status, message = _header(sadf, source, limit)
    converted = False
    # Of a format that it must convert first, sadf shows the version alone.
    is_refused = "sadf -c" in message or (status == 0 and "List of activities" not in header)
    if is_refused or "[Unknown format]" in header:
        new = folder / "converted"
        convert_status, convert_message = sadf.run(["-c", str(source)], new, limit)
        if convert_status == 0 and new.stat().st_size:
            source, converted = new, True
            header, status, message = _header(sadf, source, limit)
        elif is_refused:
            version = re.search(r"version (\S+)", header)
            of = f" of sysstat {version.group(1)}" if version else ""
            raise InputError(
                f"{path}: sadf reads this older format{of} only after `sadf -c`, which failed: "
                f"{_cause(convert_status, convert_message)}; {TEXT} with the sysstat that wrote it"
            )
    if status != 0:
        raise InputError(f"{path}: {_refusal(status, message)} where the file comes from")
    for activity in re.findall(r"(?m)^\d+: \[..\] (\w+).*\[Unknown format\]", header):
        problems.add("unread_activity", f"{activity} has a format that the sadf installed here does not read")
    facts = _facts(header, sadf, folder, converted)
    text = folder / "raw"
    _print(sadf, source, text, limit, problems)
    return text, facts


def _cause(status: int, message: str) -> str:
    """What sadf says of its failure, or how it ended; a crash is told, whatever it printed before."""
    if status >= 0:
        return message[:MESSAGE_MAX] or f"exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"sadf crashed ({name})"


def _refusal(status: int, message: str) -> str:
    """Why sadf does not read a file, and another way to its content."""
    if INVALID in message:
        return (
            "is damaged, or newer than the sadf installed here: sizes or counts in its header or its list of "
            f"activities are impossible; restore it from a copy, or {TEXT}"
        )
    return f"sadf cannot read it: {_cause(status, message)}; {TEXT}"


def _header(sadf: _Sadf, source: Path, limit: int) -> tuple[str, int, str]:
    with tempfile.NamedTemporaryFile(dir=sadf.folder) as file:
        status, message = sadf.run(["-H", str(source)], Path(file.name), limit)
        return Path(file.name).read_text("utf-8", "replace")[: 1 << 20], status, message


def _print(sadf: _Sadf, source: Path, text: Path, limit: int, problems: Problems) -> None:
    """Print all activities in one run of sadf; if that fails, each in a separate run."""
    fixed = ["-r", "-U", "-O", "debug", str(source), "--"]
    together = [*(word for words in ACTIVITIES if words[0] not in "-n-q" for word in words)]
    status, message = sadf.run([*fixed, *together, "-q", "ALL", "-n", "DEV,EDEV"], text, limit)
    if status == 0:
        return
    text.unlink()
    for words in ACTIVITIES:
        one_status, one_message = sadf.run([*fixed, *words], text, limit)
        if one_status == USAGE_STATUS and words == ("-q", "LOAD"):
            sadf.run([*fixed, *OLD_QUEUE], text, limit)
        if one_status not in (0, USAGE_STATUS):
            status, message = one_status, one_message
        with text.open("ab") as file:
            file.write(b"\n" + RUN_MARK)
    if status != USAGE_STATUS:
        cause = "a record is damaged" if INVALID in message else _cause(status, message)
        problems.add("truncated", f"sadf stopped early ({cause}); only complete records before are kept")


def _facts(header: str, sadf: _Sadf, folder: Path, converted: bool) -> Facts:
    version = folder / "version"
    sadf.run(["-V"], version, OUTPUT_BYTES_MIN)

    def found(pattern: str, text: str = header) -> str:
        match = re.search(pattern, text)
        return match.group(1) if match else ""

    hz = int(found(r"(?m)^HZ = (\d{1,6})$") or 0)
    machine: dict[str, str | int] = {
        "hostname": found(r"(?m)^Host: .*? \((.*?)\)"),
        "system": found(r"(?m)^Host: (\S+)"),
        "kernel": found(r"(?m)^Host: \S+ (\S+)"),
        "architecture": found(r"(?m)^Host: .*\t_(\w+)_\t"),
        "cpus": int(found(r"(?m)^Host: .*\((\d{1,6}) CPU\)") or 0),
    }
    return Facts(
        machine={key: value for key, value in machine.items() if value},
        file_version=found(r"sysstat version (\S+)"),
        sadf_version=found(r"sysstat version (\S+)", version.read_text("utf-8", "replace")),
        hz=hz or USER_HZ,
        hz_is_known=hz > 0,
        long_bits=32 if found(r"(?m)^Size of a long int: (\d)$") == "4" else 64,
        converted=converted,
    )
