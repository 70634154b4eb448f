"""A folder as names and contents, to be sent; what was received is checked before it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from thinktime.errors import WorkError

Files = Mapping[str, bytes]
"""Contents by path below the folder, with slashes."""

BYTES_MAX = 256 * 2**20
"""Most that is sent of one folder: it is in memory as a whole at both ends and on its way [byte]."""
FILES_MAX = 100_000
"""Most files of one folder."""
NOT_SENT = frozenset({"lock"})
"""Files that say which process writes: nothing elsewhere."""


def packed(folder: Path) -> dict[str, bytes]:
    """Files below `folder`.

    Raises
    ------
    WorkError
        They are too large to be sent.
    """
    found: dict[str, bytes] = {}
    size = 0
    for path in _files(folder):
        size += path.stat().st_size
        if size > BYTES_MAX:
            raise WorkError(
                f"its log is larger than the {BYTES_MAX >> 20} MiB that are sent between machines; run it "
                "here, without --on and --workers, or record less (trace = false, a longer interval)"
            )
        found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in NOT_SENT:
            yield path


def unpacked(files: object, folder: Path) -> None:
    """Write `files` as the new folder `folder`.

    Raises
    ------
    WorkError
        They are no files, or one of them would lie outside of the folder: nothing is written then. Or they
        cannot be written.
    """
    checked = _checked(files)
    try:
        folder.mkdir(parents=True)
        for name, content in checked.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            # Never over what is there: a file is no folder of another.
            with path.open("xb") as file:
                file.write(content)
    except OSError as error:
        raise WorkError(f"{error.filename or folder}: cannot be written: {error.strerror}") from None


def _checked(files: object) -> dict[str, bytes]:
    if not isinstance(files, Mapping) or len(files) > FILES_MAX:
        raise WorkError(f"a worker sent {type(files).__name__} where the files of a log were expected")
    checked: dict[str, bytes] = {}
    size = 0
    for name, content in files.items():
        if not isinstance(name, str) or not isinstance(content, bytes):
            raise WorkError(f"a worker sent {name!r}, which is no file of a log")
        steps = PurePosixPath(name).parts
        is_below = steps and not name.startswith("/") and "\0" not in name and ".." not in steps
        if not is_below or PurePosixPath(name).as_posix() != name:
            raise WorkError(f"a worker sent the file {name!r}, which is not below the folder of its log")
        size += len(content)
        checked[name] = content
    if size > BYTES_MAX:
        raise WorkError(f"a worker sent {size >> 20} MiB as one log; at most {BYTES_MAX >> 20} MiB are taken")
    return checked
