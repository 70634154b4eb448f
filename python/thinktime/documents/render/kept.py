"""Text that takes long to make, kept in the cache of the user."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path


def kept(name: str, make: Callable[[], str]) -> str:
    """Text of the file `name` in the cache, or what `make` gives, which is then written there.

    The cache is ``thinktime`` in ``$XDG_CACHE_HOME``, or in ``~/.cache``. A file is used only if it belongs
    to this user, nobody else may write it, and its text has the checksum in its first line: it becomes a
    part of pages. Where nothing can be written, nothing is kept.
    """
    try:
        path = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "thinktime" / name
    except RuntimeError:
        # No home.
        return make()
    found = _read(path)
    if found is None:
        found = make()
        with contextlib.suppress(OSError):
            _write(path, found)
    return found


def _read(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, encoding="utf-8", newline="") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
                return None
            checksum, _, text = file.read().partition("\n")
    except (OSError, ValueError):
        return None
    return text if checksum == _checksum(text) else None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    try:
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(f"{_checksum(text)}\n{text}")
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
