"""Kind of an input file, by its content."""

from __future__ import annotations

from typing import Literal

from thinktime.errors import InputError
from thinktime.sources.importers.importer import Head
from thinktime.sources.importers.sar.raw_lines import DamagedLineError, parse_header, parse_line

Kind = Literal["binary", "json", "raw"]

LINES_SEARCHED = 50
"""Lines at the head of a text among which one of `sadf -r` must be."""
SYSSTAT_MAGIC = (b"\x96\xd5", b"\xd5\x96")
"""0xd596 at the head of every data file of sysstat, in either byte order."""
EXPECTED = "a binary file of sar (saDD), the text of `sadf -r`, or the JSON of `sadf -j`"
"""Remedy of every refusal."""

_OTHERS = {
    b"<?xml": "the XML of `sadf -x`",
    b"<!DOCTYPE": "a page of HTML or XML",
    b"# hostname": "the table of `sadf -d`, which holds rates only",
    b"Linux ": "the printed report of sar, which holds rounded rates only",
}


def detect(head: Head, *, asked: bool) -> Kind | None:
    """Form of the file, independent of its name; None if it is none of sar's.

    Raises
    ------
    InputError
        It is something else that sysstat prints, which does not hold what a log needs.
    """
    text = head.text
    if head.data.startswith(SYSSTAT_MAGIC):
        return "binary"
    if text.startswith(b"{") and (asked or b'"sysstat"' in head.data):
        return "json"
    for start, kind in _OTHERS.items():
        if text.startswith(start) and (asked or _is_report(text)):
            raise InputError(f"{head.path}: this is {kind}; give {EXPECTED}")
    return "raw" if _is_raw(text, asked=asked) else None


def _is_report(text: bytes) -> bool:
    """Whether a text is certainly of sysstat: iostat and pidstat begin as the report of sar does."""
    if text.startswith(b"Linux "):
        others = (b"avg-cpu:", b"Device", b" PID ", b" TGID ")
        return b" CPU)" in text and not any(word in text for word in others)
    return b"sysstat" in text or text.startswith(b"# hostname")


def _is_raw(text: bytes, *, asked: bool) -> bool:
    """True if one of the first lines is a line of ``sadf -r``, the first one if nobody asked for it."""
    lines = [line for line in text.splitlines()[:LINES_SEARCHED] if line.strip()]
    return any(_is_line(line) for line in (lines if asked else lines[:3]))


def _is_line(line: bytes) -> bool:
    try:
        return parse_header(line) is not None or parse_line(line) is not None
    except DamagedLineError:
        return False
