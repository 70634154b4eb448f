"""Kind of an input file, by its content."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal

from thinktime.errors import InputError
from thinktime.sources.sar.raw_lines import DamagedLineError, parse_header, parse_line

Kind = Literal["binary", "json", "raw"]

HEAD_BYTES = 1 << 16
"""Bytes at the head of a file that decide its kind."""
LINES_SEARCHED = 50
"""Lines at the head of a text among which one of `sadf -r` must be."""
SYSSTAT_MAGIC = (b"\x96\xd5", b"\xd5\x96")
"""0xd596 at the head of every data file of sysstat, in either byte order."""
EXPECTED = "a binary file of sar (saDD), the text of `sadf -r`, or the JSON of `sadf -j`"
"""Remedy of every refusal."""

_COMPRESSED = {
    b"\x1f\x8b": "gzip -dk",
    b"\xfd7zXZ\x00": "xz -dk",
    b"BZh": "bzip2 -dk",
    b"\x28\xb5\x2f\xfd": "zstd -dk",
}
_OTHERS = {
    b"<?xml": "the XML of `sadf -x`",
    b"<!DOCTYPE": "a page of HTML or XML",
    b"# hostname": "the table of `sadf -d`, which holds rates only",
    b"Linux ": "the printed report of sar, which holds rounded rates only",
    b"PAR1": "Parquet",
    b"\x7fELF": "a program",
}


def detect(path: Path) -> Kind:
    """Kind of the file, independent of its name.

    Raises
    ------
    InputError
        The file cannot be read, is not a regular file, is empty, or is of no known kind.
    """
    head = _head(path)
    if head.startswith(SYSSTAT_MAGIC):
        return "binary"
    for magic, command in _COMPRESSED.items():
        if head.startswith(magic):
            raise InputError(f"{path}: is compressed; unpack it first: {command} {path}")
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        return "json"
    for start, kind in _OTHERS.items():
        if text.startswith(start):
            raise InputError(f"{path}: this is {kind}; give {EXPECTED}")
    if _is_raw(text):
        return "raw"
    raise InputError(f"{path}: is not a file of sar (it begins with {head[:16]!r}); give {EXPECTED}")


def _head(path: Path) -> bytes:
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise InputError(f"{path}: is a folder; give one file in it, such as {path}/sa21")
        if not stat.S_ISREG(mode):
            raise InputError(
                f"{path}: is not a regular file, and must be read twice; copy it into a file first"
            )
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except FileNotFoundError:
        raise InputError(
            f"{path}: does not exist; sar keeps its files in /var/log/sysstat or /var/log/sa"
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be read ({reason}); give a file that you may read") from None
    if not head:
        raise InputError(f"{path}: is empty; sar has recorded nothing into it")
    return head


def _is_raw(text: bytes) -> bool:
    """True if one of the first lines is a line of ``sadf -r``."""
    return any(_is_line(line) for line in text.splitlines()[:LINES_SEARCHED])


def _is_line(line: bytes) -> bool:
    try:
        return parse_header(line) is not None or parse_line(line) is not None
    except DamagedLineError:
        return False
