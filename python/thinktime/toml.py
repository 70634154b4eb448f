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

__all__ = ["read", "value"]

NESTING_MAX = 64
"""Most levels of lists and tables: whatever walks through them may do so recursively."""


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
    except RecursionError:
        raise InputError(f"{path}: its lists and tables are nested too deeply; give fewer levels") from None
    if _is_deep(found):
        raise InputError(
            f"{path}: its lists and tables are nested in more than {NESTING_MAX} levels; give fewer levels"
        )
    return found


def value(text: str) -> Any:
    """Value of a text that is written as in a TOML file: ``[{name = "cpu", service = 0.5}]``.

    Raises
    ------
    InputError
        It is no single value of TOML.
    """
    try:
        table = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError as error:
        example = '[{name = "cpu", service = 0.5}] or [{"name": "cpu", "service": 0.5}]'
        raise InputError(f"{text} is neither TOML nor JSON ({error}); write lists as {example}") from None
    if len(table) > 1:
        raise InputError(f"{text} is more than one value; give one")
    return table["value"]


def _is_deep(table: dict[str, Any]) -> bool:
    """Whether `table` has more than `NESTING_MAX` levels; dotted keys make them without a deep parse."""
    level: list[Any] = [table]
    for _ in range(NESTING_MAX):
        inside = [item.values() if isinstance(item, dict) else item for item in level]
        level = [item for items in inside for item in items if isinstance(item, (dict, list))]
    return bool(level)
