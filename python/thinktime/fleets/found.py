"""The logs of a fleet: folders of logs, folders below which there are logs, and patterns of their names."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from thinktime.errors import InputError
from thinktime.log.below import logs_below

REMOTE = re.compile(r"[a-z][a-z0-9+.-]*:/", re.IGNORECASE)
"""Beginning of the address of an object store; a shell's completion may have left a single slash."""


def logs_of(given: Sequence[str | Path]) -> tuple[Path, ...]:
    """Folders of logs, each once, those of one argument in the order of their names.

    Parameters
    ----------
    given : sequence of str or Path
        Logs, folders below which there are logs, and patterns of either (``day-*/web*``).

    Raises
    ------
    InputError
        An argument is nothing of these, has no logs below it, or is the address of an object store.
    """
    if not given:
        raise InputError("no log is given; name a folder of logs, such as /var/log/thinktime")
    found: dict[Path, Path] = {}
    for item in given:
        for path in _of_one(str(item)):
            found.setdefault(path.resolve(), path)
    return tuple(found.values())


def _of_one(text: str) -> Iterator[Path]:
    if REMOTE.match(text):
        raise InputError(
            f"{text}: a log is read from a folder of this machine; copy the logs here first (for example "
            "with `aws s3 sync` or `rclone copy`), or mount the store as a folder"
        )
    path = Path(text)
    if path.is_dir():
        yield from _below(path)
    elif path.exists():
        raise InputError(f"{text}: is a file; name the folder of a log, or one that contains logs")
    elif glob.has_magic(text):
        folders = [Path(name) for name in sorted(glob.glob(text, recursive=True)) if Path(name).is_dir()]
        found = [log for folder in folders for log in logs_below(folder)]
        if not found:
            raise InputError(
                f"{text}: no log is of this pattern; `thinktime logs` lists the logs below a folder"
            )
        yield from found
    else:
        raise InputError(f"{text}: there is no such folder; `thinktime logs` lists the logs below a folder")


def _below(folder: Path) -> Iterator[Path]:
    found = list(logs_below(folder))
    if not found:
        raise InputError(
            f"{folder}: there are no logs in it, nor three levels below; `thinktime import` and "
            "`thinktime record` make logs"
        )
    yield from found
