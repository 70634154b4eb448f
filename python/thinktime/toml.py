"""TOML files, with errors that name the file and the line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from thinktime.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["read"]


def read(path: Path) -> dict[str, Any]:
    """Read a TOML file.

    Raises
    ------
    InputError
        It cannot be read, or is no TOML; the message has line and column.
    """
    try:
        found: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not TOML: {error}") from None
    return found
