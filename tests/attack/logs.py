"""Attack on logs: thousands that were damaged or forged, through `thinktime check` and `thinktime report`.

Each log has a process of its own. Damage (bits, bytes and files that changed while the checksums stayed)
must be told by `check`, or leave the report as it was. Forgeries (blocks and facts that were changed together
with their checksums) may say something else, because nobody can know, but must end in a report or a message.
A traceback, an abort, a run that outlasts the clock, and damage that is not told, are defects. Run
``python tests/attack/logs.py``: it prints the defects and the counts, and ends with status 1 after a defect.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from process import outcome

from thinktime.cli import run

SECONDS = 300
"""Time that both commands may take for a log, also on a busy machine [s]."""
HOSTILE: tuple[Any, ...] = (
    *(None, True, "", "x", [], {}, [[]], [{}], [None]),
    *(0, -1, 1.5, 1e308, 2**63 - 1, 2**64, "../../x", "/etc/passwd", "\x1b[31m", "é" * 5000),
)
"""What takes the place of something in a manifest."""
HEADER, BLOCK = 8, struct.Struct("<4sBIII")
"""Bytes before the first block of a journal; mark, kind, length, sequence and checksum of a block."""


def files(log: Path, pattern: str) -> list[Path]:
    return sorted(log.glob(pattern))


def bits(log: Path, draw: random.Random) -> None:
    """Some bits of one file."""
    path = draw.choice([*files(log, "*/*.parquet"), *files(log, "*.ttj"), *files(log, "*.json*")])
    data = bytearray(path.read_bytes())
    for _ in range(draw.choice((1, 1, 1, 2, 10))):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def stretches(log: Path, draw: random.Random) -> None:
    """A stretch of one file: cut off, removed, repeated, filled with zeros or noise."""
    path = draw.choice([*files(log, "*/*.parquet"), *files(log, "*.ttj"), *files(log, "*.json*")])
    data = path.read_bytes()
    begin = draw.randrange(len(data))
    end = min(len(data), begin + draw.choice((1, 4, 100, 4096)))
    piece = data[begin:end]
    new = draw.choice((data[:begin], data[:begin] + data[end:], data[:end] + piece + data[end:], b""))
    if draw.random() < 0.5:
        filler = bytes(len(piece)) if draw.random() < 0.5 else draw.randbytes(len(piece))
        new = data[:begin] + filler + data[end:]
    path.write_bytes(new)


def moves(log: Path, draw: random.Random) -> None:
    """A file or folder that is removed, copied, exchanged, or something else than a file."""
    path = draw.choice([one for one in log.rglob("*") if one.name != "lock"])
    what = draw.choice(("remove", "copy", "exchange", "link", "pipe", "folder"))
    if path.is_dir():
        shutil.rmtree(path)
        return
    other = path.with_name(path.name.replace("000001", "000002"))
    if what == "copy":
        shutil.copy(path, other if other != path else path.with_suffix(".copy"))
        return
    if what == "exchange":
        second = draw.choice([one for one in log.rglob("*") if one.is_file()])
        first, last = path.read_bytes(), second.read_bytes()
        path.write_bytes(last)
        second.write_bytes(first)
        return
    path.unlink()
    if what == "link":
        path.symlink_to("/etc/passwd")
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()


def manifests(log: Path, draw: random.Random) -> None:
    """One to three values of the manifest are others, or gone, and its checksum is right."""
    path = log / "manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest.pop("crc32", None)
    for _ in range(draw.randint(1, 3)):
        places = list(_places(manifest))
        if not places:
            break
        holder, key = draw.choice(places)
        if draw.random() < 0.2:
            del holder[key]
        elif isinstance(holder[key], (int, float)) and draw.random() < 0.5:
            holder[key] = holder[key] * draw.choice((2, -1, 0.5, 1000))
        else:
            holder[key] = draw.choice(HOSTILE)
    text = b'{\n  "crc32": "00000000",\n' + json.dumps(manifest, indent=2).encode()[2:] + b"\n"
    path.write_bytes(text.replace(b"00000000", b"%08x" % zlib.crc32(text), 1))


def _places(value: Any) -> list[tuple[Any, Any]]:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    found = [(value, key) for key in keys]
    return found + [place for key in keys for place in _places(value[key])]


def journals(log: Path, draw: random.Random) -> None:
    """Blocks of a journal removed, repeated, moved or filled anew; numbers and checksums are right."""
    chosen = files(log, "*.ttj")
    if not chosen:
        manifests(log, draw)
        return
    path = draw.choice(chosen)
    data = path.read_bytes()
    blocks, at = [], HEADER
    while at + BLOCK.size <= len(data):
        _, kind, length, _, _ = BLOCK.unpack_from(data, at)
        blocks.append((kind, data[at + BLOCK.size : at + BLOCK.size + length]))
        at += BLOCK.size + length
    for _ in range(draw.randint(1, 3)):
        if not blocks:
            break
        place = draw.randrange(len(blocks))
        kind, payload = blocks[place]
        what = draw.choice(("remove", "repeat", "move", "kind", "bytes", "bytes", "bytes"))
        if what == "remove":
            del blocks[place]
        elif what == "repeat":
            blocks.insert(draw.randrange(len(blocks) + 1), blocks[place])
        elif what == "move":
            blocks.insert(draw.randrange(len(blocks)), blocks.pop(place))
        elif what == "kind":
            blocks[place] = (draw.randrange(6), payload)
        elif payload:
            changed = bytearray(payload)
            for _ in range(draw.choice((1, 1, 5))):
                changed[draw.randrange(len(changed))] = draw.randrange(256)
            blocks[place] = (kind, bytes(changed))
    out = bytearray(data[:HEADER])
    for number, (kind, payload) in enumerate(blocks):
        covered = struct.pack("<BII", kind, len(payload), number) + payload
        out += BLOCK.pack(b"TTB2", kind, len(payload), number, zlib.crc32(covered)) + payload
    path.write_bytes(out)


DAMAGE: tuple[Callable[[Path, random.Random], None], ...] = (bits, stretches, moves)
FORGERY: tuple[Callable[[Path, random.Random], None], ...] = (manifests, journals)


def answers(log: Path) -> tuple[int, list[Any], str]:
    """Status and findings of `check`, and the text of the report or the reason that there is none."""
    found, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(found), contextlib.redirect_stderr(said):
        status = run(["check", "--format", "json", str(log)])
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        other = run(["report", "--all", "--format", "text", str(log)])
    if status not in (0, 1, 2) or other not in (0, 1, 2):
        raise RuntimeError(f"status {status} of check, {other} of report")
    for printed in (said, text):
        if "Traceback" in printed.getvalue():
            raise RuntimeError(printed.getvalue()[-300:])
    findings = json.loads(found.getvalue()).get("records", []) if found.getvalue() else [said.getvalue()]
    return status, findings, text.getvalue()


def judged(log: Path, expected: str, is_damage: bool) -> str:
    """Outcome for a log, in this process."""
    try:
        _, findings, report = answers(log)
    except BaseException as error:  # An abort of the command is a defect, whatever it is.
        return f"traceback: {type(error).__name__}: {error}"
    if findings:
        return "told"
    if report == expected:
        return "harmless"
    return "silent: another report" if is_damage else "unknowable"


def begun(folder: Path) -> list[Path]:
    """Logs to change: one that ended, one whose recorder was killed, one of a simulation."""
    program = [sys.executable, "-c", "from thinktime.cli import main; main()"]
    record = ["-q", "record", "--interval", "0.1s"]
    subprocess.run([*program, *record, "--duration", "3s", "-o", folder / "ended"], check=True)
    killed = subprocess.Popen([*program, *record, "-o", folder / "killed"])
    time.sleep(4.0)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    simulated = ["simulate", "apl360", "-p", "users=4", "-p", "length=300", "-o", folder / "simulated"]
    subprocess.run([*program, *simulated], check=True, stdout=subprocess.DEVNULL)
    return [folder / name for name in ("ended", "killed", "simulated")]


def main() -> int:
    """Attack, print a table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000, help="logs to try")
    parser.add_argument("--seed", type=int, default=1, help="of what is changed")
    parser.add_argument("--keep", type=Path, help="folder for the logs with which a defect was found")
    options = parser.parse_args()
    kinds: Counter[tuple[str, str]] = Counter()
    defects = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sound = begun(folder)
        importlib.import_module("polars")  # Once, before the forks; no thread of it is started here.
        importlib.import_module("thinktime.reports")
        attacked = folder / "log"
        reports: dict[Path, str] = {}
        for log in sound:
            shutil.copytree(log, attacked)
            text = folder / "report"
            outcome(partial(_kept, attacked, text), seconds=SECONDS)
            reports[log] = text.read_text()
            shutil.rmtree(attacked)
        for number in range(options.count):
            draw = random.Random(f"{options.seed}-{number}")
            log, change = draw.choice(sound), draw.choice((*DAMAGE, *FORGERY))
            shutil.copytree(log, attacked)
            change(attacked, draw)
            kind, text, took = outcome(
                partial(judged, attacked, reports[log], change in DAMAGE), seconds=SECONDS
            )
            kinds[change.__name__, kind] += 1
            if kind not in ("told", "harmless", "unknowable"):
                defects += 1
                print(
                    f"{kind}: {log.name} {change.__name__} {number} ({took:.1f} s): {text[:300]}", flush=True
                )
                if options.keep is not None:
                    shutil.copytree(attacked, options.keep / str(number), symlinks=True)
            shutil.rmtree(attacked)
    for (change_name, kind), count in sorted(kinds.items()):
        print(f"{change_name}: {kind} {count}")
    return int(defects > 0)


def _kept(log: Path, path: Path) -> str:
    path.write_text(answers(log)[2])
    return "ran"


if __name__ == "__main__":
    sys.exit(main())
