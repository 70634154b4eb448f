"""Files of sar (sysstat).

Three inputs, recognised by content: the binary file that ``sadc`` writes (read with the installed
``sadf``), the raw text that ``sadf -r`` prints, and the JSON that ``sadf -j`` prints. The first two
hold cumulative counters, so that the log gets exact differences; JSON holds rates rounded to 0.01.

**Limitations.**
sar records no users, no exact CPU time and no interactions: those columns are null. CPU states are
tick-sampled by the kernel. Device names in a binary file are those of the machine that runs sadf.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from thinktime.errors import InputError
from thinktime.sources.importers.importer import Head, Importer, Opened, Source
from thinktime.sources.importers.problems import Problems

__all__ = ["SarImporter"]


class SarImporter(Importer):
    """Files of sar: binary, raw text, or JSON."""

    name = "sar"
    help = "a binary file of sar (saDD), the text of `sadf -r -U -O debug`, or the JSON of `sadf -j`"
    takes = frozenset({"date"})

    def detect(self, head: Head, *, asked: bool) -> str | None:
        """Form of the file: ``binary``, ``raw`` or ``json``; None if it is not of sar."""
        from thinktime.sources.importers.sar.detect import detect

        return detect(head, asked=asked)

    def open(self, source: Source) -> Opened:
        """Opened file; a binary one is first turned into text by sadf, in a temporary folder."""
        opened = _json(source.path, source.problems) if source.form == "json" else _counters(source)
        from thinktime.sources.importers.parts import OPERATIONS

        opened.columns = {"disks": (OPERATIONS,)}
        return opened


def _json(path: Path, problems: Problems) -> Opened:
    from thinktime.sources.importers.sar.json_text import RATE_STEP, JsonText

    text = JsonText(path=path, problems=problems)
    options = {"rates_rounded_to": RATE_STEP, "clock": "wall clock, whole seconds"}
    return Opened(intervals=text.intervals(), machine=text.machine, options=options)


def _counters(source: Source) -> Opened:
    from thinktime.sources.importers.sar.raw import USER_HZ, RawText

    path, form, problems = source.path, source.form, source.problems
    options: dict[str, Any] = {}
    if form == "binary":
        text, machine, options = _binary(path, problems, source.stack)
    else:
        text, machine = RawText(path=path, problems=problems, date=source.given.date), {}
        options |= {"hz": USER_HZ, "hz_source": "assumed: USER_HZ of Linux"}
    index = text.index()
    if form == "binary" and not index.boots[0].blocks:
        wrote, read = options["sysstat_of_file"], options["sadf"]
        if _version(wrote) > _version(read):
            raise InputError(
                f"{path}: sysstat {wrote} wrote it, and the sadf installed here, of version {read}, finds no "
                "record in it; run a sadf of that version, `sadf -r -U -O debug FILE -- -A > text`, and "
                "import "
                "the text"
            )
    options["clock"] = "uptime, 0.01 s" if index.has_headers else "wall clock, whole seconds"
    return Opened(intervals=text.intervals(index), machine=machine, options=options)


def _binary(path: Path, problems: Problems, stack: ExitStack) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Text of a binary file, the machine, and options for the manifest."""
    import tempfile

    from thinktime.sources.importers.sar import sadf
    from thinktime.sources.importers.sar.raw import RawText

    temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thinktime-sar-")))
    raw, facts = sadf.raw_text(path, temporary, problems)
    options = {
        "sysstat_of_file": facts.file_version,
        "sadf": facts.sadf_version,
        "converted": facts.converted,
        "hz": facts.hz,
        "hz_source": "the file's header" if facts.hz_is_known else "assumed: USER_HZ of Linux",
    }
    text = RawText(path=raw, problems=problems, hz=facts.hz, long_bits=facts.long_bits)
    return text, dict(facts.machine), options


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isdecimal())
