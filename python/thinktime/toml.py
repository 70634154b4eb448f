"""TOML files, with errors that name the file and the line."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path
from typing import Any

from thinktime.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["line_of", "parsed", "read", "value"]

NESTING_MAX = 64
"""Most levels of lists and tables: whatever walks through them may do so recursively."""
DIGITS = "a whole number has thousands of digits, more than Python converts; give fewer digits"


def read(path: Path, *, dates: bool = False) -> dict[str, Any]:
    """Contents of a TOML file.

    Parameters
    ----------
    path : Path
    dates : bool
        True where the file may have dates and times of day.

    Raises
    ------
    InputError
        It cannot be read, is no TOML (the message has line and column), is nested too deeply, or has a date
        although there must be none.
    """
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is not TOML: {error}") from None
    except ValueError:
        raise InputError(f"{path}: {DIGITS}") from None
    except RecursionError:
        raise InputError(f"{path}: its lists and tables are nested too deeply; give fewer levels") from None
    try:
        _check(table, dates=dates)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return table


def line_of(path: Path, words: str) -> int:
    """Number of the first line of a file that has `words`, which an error is about; 1 where none has."""
    text = path.read_text(encoding="utf-8")
    return text.count("\n", 0, max(text.find(words), 0)) + 1


def parsed(text: str) -> dict[str, Any]:
    """Contents of a text in TOML that is our own, and thus right."""
    table: dict[str, Any] = tomllib.loads(text)
    return table


def value(text: str) -> Any:
    """Value of a text that is written as in a TOML file: ``[{name = "cpu", service = 0.5}]``.

    Raises
    ------
    InputError
        It is no single value of TOML, is nested too deeply, or has a date.
    """
    try:
        table = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError as error:
        example = '[{name = "cpu", service = 0.5}] or [{"name": "cpu", "service": 0.5}]'
        raise InputError(f"{text} is neither TOML nor JSON ({error}); write lists as {example}") from None
    except ValueError:
        raise InputError(DIGITS) from None
    if len(table) > 1:
        raise InputError(f"{text} is more than one value; give one")
    _check(table, dates=False)
    return table["value"]


def _check(table: dict[str, Any], *, dates: bool) -> None:
    """Refuse what cannot be walked through, and dates where there must be none."""
    if _is_deep(table):
        raise InputError(
            f"its lists and tables are nested in more than {NESTING_MAX} levels; give fewer levels"
        )
    if not dates and (dated := _date(table)) is not None:
        key, date = dated
        raise InputError(
            f"{key}: {date} is a date or a time of day; give a number, or a text in quotation marks"
        )


def _date(value: object, key: str = "") -> tuple[str, object] | None:
    """Key and value of the first date or time of day in `value`; None if there is none."""
    if isinstance(value, (datetime.date, datetime.time)):
        return key, value
    entries = (
        ((f"{key}.{name}" if key else str(name), item) for name, item in value.items())
        if isinstance(value, dict)
        else ((f"{key}[{index}]", item) for index, item in enumerate(value))
        if isinstance(value, list)
        else ()
    )
    return next((dated for name, item in entries if (dated := _date(item, name)) is not None), None)


def _is_deep(table: dict[str, Any]) -> bool:
    """Whether `table` has more than `NESTING_MAX` levels; dotted keys make them without a deep parse."""
    level: list[Any] = [table]
    for _ in range(NESTING_MAX):
        inside = [item.values() if isinstance(item, dict) else item for item in level]
        level = [item for items in inside for item in items if isinstance(item, (dict, list))]
    return bool(level)
