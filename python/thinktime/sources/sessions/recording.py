"""Recordings of terminals as streams of keys and output: asciicast, util-linux `script`, and tlog.

Files of strangers: every line and every event is bounded, nothing is kept of what has been handed on, and a
damaged line is skipped and counted, or ends the recording where nothing after it can be placed.
"""

from __future__ import annotations

import codecs
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Literal

from thinktime.errors import InputError
from thinktime.escape import escaped

LINE_BYTES = 1 << 24
"""Longest line of a recording in JSON."""
TIMING_BYTES = 1 << 16
"""Longest line of a file of times."""
CHUNK_BYTES = 1 << 16
LONGEST_S = 10 * 366 * 86_400.0
"""Latest time of an event: what is later is damage."""

Kind = Literal["keys", "output", "size"]
_TIMED = re.compile(rb"[HIOS] \d+(?:\.\d+)? ")
_OLD_TIMED = re.compile(rb"\d+\.\d+ \d+\s*$")
_TLOG = re.compile(r"\+(\d{1,12})|([<>])(\d{1,9})|([\[\]])(\d{1,9})/(\d{1,9})|=(\d{1,5})x(\d{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened on a terminal."""

    at_s: float
    """Time since the beginning of the recording."""
    kind: Kind
    """Keys typed, output shown, or a new size of the terminal."""
    text: str = ""
    """Characters typed or shown."""
    columns: int = 0
    """New width of the terminal, for a size."""


@dataclass(slots=True, kw_only=True)
class Recording:
    """A recorded session: its events, once, and what was learnt on the way."""

    path: Path
    """File that was given."""
    form: str
    """Format, as a reader knows it: ``asciicast 2``, ``script``, ``tlog``."""
    columns: int = 80
    """Width of the terminal at the start."""
    shell: str = ""
    """Shell, as far as the recording names it."""
    damaged: Counter[str] = field(default_factory=Counter)
    """Losses, by what was lost."""

    def events(self) -> Iterator[Event]:
        """Events in the order of time.

        Raises
        ------
        InputError
            The file cannot be read.
        """
        try:
            last = 0.0
            for event in _EVENTS[self.form.split()[0]](self):
                # Nothing goes back in time, whatever a damaged file says.
                last = max(last, event.at_s)
                yield replace(event, at_s=last)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror}") from None


def opened(path: Path) -> Recording:
    """Recording in a file, recognised by its content.

    Raises
    ------
    InputError
        The file cannot be read or is no recording; the message says what to give instead.
    """
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: is not a file; give the file of a recorded session")
        with path.open("rb") as file:
            first = file.readline(LINE_BYTES)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if _TIMED.match(first):
        return _typescript(path)
    if _OLD_TIMED.match(first):
        raise InputError(
            f"{path}, line 1: is a file of times without keys; record with "
            f"`script --log-io FILE --log-timing FILE`"
        )
    if first.startswith(b"Script started on"):
        raise InputError(
            f"{path}, line 1: has no times; give the file of `script --log-timing`, which names this one"
        )
    header = _object(first)
    if header is not None and "version" in header:
        return _cast(path, header)
    if header is not None and "timing" in header:
        return Recording(path=path, form="tlog")
    raise InputError(
        f"{path}, line 1: is no recorded session; give an asciicast of version 2 or 3, the times that "
        f"`script --log-timing` wrote, or the JSON of tlog"
    )


def _object(line: bytes) -> dict[str, Any] | None:
    """JSON object in a line; None if it is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _lines(path: Path) -> Iterator[tuple[bytes, bool]]:
    """Lines of a file, and whether each is complete."""
    with path.open("rb") as file:
        while line := file.readline(LINE_BYTES):
            whole = line.endswith(b"\n") or len(line) < LINE_BYTES
            yield line, whole
            while not whole and (rest := file.readline(LINE_BYTES)):
                whole = rest.endswith(b"\n")


def _text(value: object) -> str | None:
    """Text without lone surrogates, which JSON can hold and no file can; None if it is no text."""
    return value.encode(errors="replace").decode() if isinstance(value, str) else None


def _seconds(value: object) -> float | None:
    """A time that can be one [s]."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) and 0 <= seconds <= LONGEST_S else None


def _whole(value: object, otherwise: int) -> int:
    """A width of a terminal."""
    return (
        value if isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 10_000 else otherwise
    )


# asciicast


def _cast(path: Path, header: dict[str, Any]) -> Recording:
    """Asciicast with this header."""
    version = header["version"]
    if version not in (2, 3) or isinstance(version, bool):
        shown = escaped(str(version)[:40])
        raise InputError(
            f"{path}, line 1: is an asciicast of version {shown}; convert it to version 2 or 3 with asciinema"
        )
    term, env = header.get("term"), header.get("env")
    columns = header.get("width") if version == 2 else term.get("cols") if isinstance(term, dict) else None
    shell = env.get("SHELL") if isinstance(env, dict) else None
    return Recording(
        path=path, form=f"asciicast {version}", columns=_whole(columns, 80), shell=_text(shell) or ""
    )


def _cast_events(recording: Recording) -> Iterator[Event]:
    """Events of an asciicast: version 3 has the time since the last one, version 2 since the start."""
    since_last = recording.form.endswith("3")
    now = 0.0
    lines = _lines(recording.path)
    next(lines, None)
    for line, whole in lines:
        if not line.strip() or line.startswith(b"#"):
            continue
        try:
            value = json.loads(line) if whole else None
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, list) or len(value) != 3:
            recording.damaged["events that cannot be read"] += 1
            continue
        at, text = _seconds(value[0]), _text(value[2])
        if at is None or text is None or now + at * since_last > LONGEST_S:
            recording.damaged["events that cannot be read"] += 1
            continue
        now = now + at if since_last else max(now, at)
        if value[1] == "i":
            yield Event(at_s=now, kind="keys", text=text)
        elif value[1] == "o":
            yield Event(at_s=now, kind="output", text=text)
        elif value[1] == "r" and text.partition("x")[0].isdecimal():
            yield Event(at_s=now, kind="size", columns=_whole(int(text.partition("x")[0][:6]), 80))


# util-linux script


def _head(path: Path) -> dict[str, str]:
    """What the first lines of a file of times say."""
    said: dict[str, str] = {}
    with path.open("rb") as file:
        for _ in range(64):
            parts = file.readline(TIMING_BYTES).decode(errors="replace").rstrip("\n").split(" ", 3)
            if len(parts) < 4 or parts[0] != "H":
                break
            said[parts[2]] = parts[3]
    return said


def _typescript(path: Path) -> Recording:
    """Session of `script`, by its file of times."""
    said = _head(path)
    columns = said.get("COLUMNS", "")
    if "INPUT_LOG" not in said:
        raise InputError(
            f"{path}: has no keys; record with `script --log-io FILE --log-timing FILE`, and tell your users"
        )
    return Recording(
        path=path,
        form="script",
        columns=_whole(int(columns), 80) if re.fullmatch(r"[0-9]{1,4}", columns) else 80,
        shell=said.get("SHELL", ""),
    )


def _beside(path: Path, said: dict[str, str], key: str) -> Path:
    """Log that a file of times names, in the same folder: where else it lay is of no use, and may be a trap.

    Raises
    ------
    InputError
        It is not there.
    """
    name = Path(said.get(key, "")).name
    log = path.parent / name
    if not name or "\0" in name or not log.is_file():
        raise InputError(
            f"{path}: names the log {escaped(name[:200]) or 'without a name'}, which is not in the same "
            "folder; put it there"
        )
    return log


def _script_events(recording: Recording) -> Iterator[Event]:
    """Events of `script`: pieces of the logs, in the order of the file of times."""
    said = _head(recording.path)
    logs = {"I": _beside(recording.path, said, "INPUT_LOG")}
    if "OUTPUT_LOG" in said:
        logs["O"] = _beside(recording.path, said, "OUTPUT_LOG")
    files: dict[Path, BinaryIO] = {}
    decoders = {kind: codecs.getincrementaldecoder("utf-8")("replace") for kind in logs}
    now = 0.0
    try:
        for log in logs.values():
            if log not in files:
                files[log] = log.open("rb")
                files[log].readline(TIMING_BYTES)
        with recording.path.open("rb") as times:
            while line := times.readline(TIMING_BYTES):
                parts = line.split()
                step = _number(parts[1]) if len(parts) >= 3 else None
                if step is None or parts[0] not in (b"H", b"I", b"O", b"S"):
                    recording.damaged["lines of times, from which on nothing can be placed"] += 1
                    return
                now += step
                kind = parts[0].decode()
                if kind == "S":
                    columns = re.search(rb"COLS=(\d{1,4})\b", line)
                    if columns:
                        yield Event(at_s=now, kind="size", columns=int(columns[1]) or 80)
                elif kind in logs:
                    length = int(parts[2]) if re.fullmatch(rb"[0-9]{1,15}", parts[2]) else 0
                    for text in _pieces(files[logs[kind]], length, decoders[kind], recording):
                        yield Event(at_s=now, kind="keys" if kind == "I" else "output", text=text)
    finally:
        for file in files.values():
            file.close()


def _number(digits: bytes) -> float | None:
    """A time as `script` writes it [s]."""
    return _seconds(float(digits)) if re.fullmatch(rb"[0-9]{1,12}(\.[0-9]{1,12})?", digits) else None


def _pieces(
    file: BinaryIO, length: int, decoder: codecs.IncrementalDecoder, recording: Recording
) -> Iterator[str]:
    """Text of the next `length` bytes of a log, in pieces of a bounded size."""
    while length > 0:
        piece = file.read(min(length, CHUNK_BYTES))
        if not piece:
            recording.damaged["events whose bytes are missing"] += 1
            return
        length -= len(piece)
        yield decoder.decode(piece)


# tlog


def _tlog_events(recording: Recording) -> Iterator[Event]:
    """Events of tlog: a message has texts, bytes that are no text, and a string with order and times."""
    for line, whole in _lines(recording.path):
        if not line.strip():
            continue
        message = _object(line) if whole else None
        position = None if message is None else _seconds(message.get("pos"))
        timing = None if message is None else message.get("timing")
        if message is None or position is None or not isinstance(timing, str):
            recording.damaged["messages that cannot be read"] += 1
            continue
        yield from _message(recording, message, timing, position / 1000)


def _message(recording: Recording, message: dict[str, Any], timing: str, now: float) -> Iterator[Event]:
    """Events of one message of tlog, from `now` on [s]."""
    texts = {"<": _text(message.get("in_txt")) or "", ">": _text(message.get("out_txt")) or ""}
    at = {"<": 0, ">": 0}
    end = 0
    for found in _TLOG.finditer(timing):
        if found.start() != end:
            break
        end = found.end()
        delay, stream, count, binary, replaced, _, columns, _ = found.groups()
        if delay:
            now = min(now + int(delay) / 1000, LONGEST_S)
        elif columns:
            yield Event(at_s=now, kind="size", columns=int(columns) or 80)
        else:
            # Bytes that are no text have replacement characters in the text: these stand in the line.
            stream = stream or {"[": "<", "]": ">"}[binary]
            upto = at[stream] + int(count or replaced)
            text = texts[stream][at[stream] : upto]
            at[stream] = upto
            if text:
                yield Event(at_s=now, kind="keys" if stream == "<" else "output", text=text)
    if end != len(timing):
        recording.damaged["messages that cannot be read to their end"] += 1


_EVENTS = {"asciicast": _cast_events, "script": _script_events, "tlog": _tlog_events}
