"""What every importer is: a name, what it recognises by content, and how it opens a file for reading.

A kind of file is a folder of this room. Its ``__init__`` has the `Importer`: name, one line of help, the
files that it recognises, the options that complete what its files do not tell; light, for the command line
loads all. Its docstring says under *Limitations* what the log then lacks. The modules that read stand beside
it.
"""

from __future__ import annotations

import datetime
import stat
import zoneinfo
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from thinktime.errors import InputError
from thinktime.sources.importers.interval import Interval
from thinktime.sources.importers.problems import Problems

if TYPE_CHECKING:
    from thinktime.log import Column

HEAD_BYTES = 1 << 16
"""Bytes at the head of a file that decide its kind."""
FILES_MAX = 100_000
"""Most files of a folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What the user says about a file because the file does not."""

    date: datetime.date | None = None
    """Day of the first record, or its time, for text that has only times of day, or none."""
    interval: float | None = None
    """Time between two reports [s], for text without times; length of the intervals of logins."""
    cpus: int | None = None
    """CPUs of the recorded machine, for text with shares of all of them."""
    timezone: datetime.tzinfo | None = None
    """Zone of times without one; UTC by default."""
    mapping: Path | None = None
    """File in TOML that says what each column is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A recognised file, with what is needed to open it."""

    path: Path
    """File, or folder."""
    form: str
    """What `Importer.detect` has found."""
    given: Given
    problems: Problems
    """Where losses are counted."""
    stack: ExitStack
    """What must be closed or removed after the import."""


@dataclass(slots=True, kw_only=True)
class Opened:
    """A file that is ready to be read: its intervals, and the description for the manifest."""

    intervals: Iterator[Interval]
    machine: dict[str, Any] = field(default_factory=dict)
    """Description of the recorded machine; may fill while the first interval is read."""
    options: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    """Name of the tool, where it is another one than that of the importer."""
    columns: Mapping[str, Sequence[Column]] = field(default_factory=dict)
    """By table, columns that the source adds to those of the vocabulary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Beginning of a file, or of the first file of a folder."""

    path: Path
    data: bytes
    folder: bool

    @property
    def text(self) -> bytes:
        """The bytes without the mark of UTF-8 and white space before them."""
        return self.data.removeprefix(b"\xef\xbb\xbf").lstrip()

    def lines(self, most: int = 400) -> list[str]:
        """First lines, decoded; the last one may be cut."""
        return [line.decode("utf-8", "replace") for line in self.data.splitlines()[:most]]


class Importer(ABC):
    """One kind of file: how it is recognised, and how it is read."""

    name: ClassVar[str]
    """Word for it on the command line, and source of the log."""
    help: ClassVar[str]
    """What is read, in half a sentence."""
    takes: ClassVar[frozenset[str]] = frozenset()
    """Fields of `Given` that complete a file of this kind."""
    folders: ClassVar[bool] = False
    """Whether a folder of such files is read as one."""

    @abstractmethod
    def detect(self, head: Head, *, asked: bool) -> str | None:
        """Form of the file, such as ``text``; None if it is not of this kind.

        Parameters
        ----------
        head : Head
            Beginning of the file.
        asked : bool
            True if the user says that it is of this kind: what may be one is then taken for one.
        """

    @abstractmethod
    def open(self, source: Source) -> Opened:
        """Opened file.

        Raises
        ------
        InputError
            The file cannot be read, or something must be given with it.
        """

    def check(self, given: Given) -> None:
        """Refuse what does not apply to this kind.

        Raises
        ------
        InputError
            Something is given that files of this kind tell themselves, or do not need.
        """
        for item in fields(given):
            if getattr(given, item.name) is not None and item.name not in self.takes:
                known = ", ".join(f"--{name}" for name in sorted(self.takes)) or "none"
                raise InputError(f"--{item.name}: does not apply to {self.name}; its options are: {known}")


def zone_of(name: str) -> datetime.tzinfo | None:
    """Time zone called `name`; None if there is none."""
    if name == "UTC":
        return datetime.timezone.utc  # Known without the database of zones.
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return None


def head_of(path: Path) -> Head:
    """Beginning of a file, or of the first file of a folder by name.

    Raises
    ------
    InputError
        It does not exist, cannot be read, is neither a file nor a folder, or is empty.
    """
    try:
        mode = path.stat().st_mode
        folder = stat.S_ISDIR(mode)
        first = files_of(path)[0] if folder else path
        if not folder and not stat.S_ISREG(mode):
            raise InputError(
                f"{path}: is not a regular file, and may have to be read twice; copy it into a file first"
            )
        with first.open("rb") as file:
            data = file.read(HEAD_BYTES)
    except FileNotFoundError:
        raise InputError(f"{path}: does not exist; give a file to import") from None
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: cannot be read ({reason}); give a file that you may read") from None
    if not data:
        raise InputError(f"{first}: is empty; nothing was recorded into it")
    return Head(path=path, data=data, folder=folder)


def files_of(folder: Path) -> list[Path]:
    """Regular files of a folder in the order of their names, hidden ones left out.

    Raises
    ------
    InputError
        There is none, or there are more than `FILES_MAX`.
    """
    found = []
    for path in folder.iterdir():
        if not path.name.startswith(".") and path.is_file():
            found.append(path)
        if len(found) > FILES_MAX:
            raise InputError(f"{folder}: has more than {FILES_MAX} files; import them in parts")
    if not found:
        raise InputError(f"{folder}: is a folder without a file; give a file, or a folder with files")
    return sorted(found)
