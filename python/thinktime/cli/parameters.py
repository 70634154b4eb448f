"""Parameters of a simulated system on the command line and in a file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thinktime import toml
from thinktime.errors import InputError


def value(text: str) -> Any:
    """Value of `text`: a number, true or false, a list or table in JSON or TOML, or else a word.

    Raises
    ------
    InputError
        A list or table is neither JSON nor TOML.
    """
    try:
        parsed = json.loads(text)
    except ValueError:
        return toml.value(text) if text.startswith(("[", "{")) else text
    # A bare nan or Infinity is no JSON, and no length of time.
    return text if isinstance(parsed, float) and not abs(parsed) < float("inf") else parsed


def read(config: Path | None, given: Sequence[str]) -> dict[str, Any]:
    """Parameters of a TOML file, and those given one by one, which take precedence.

    Raises
    ------
    InputError
        The file cannot be read, or one of `given` is not NAME=VALUE.
    """
    parameters = {} if config is None else toml.read(config)
    for item in given:
        name, equals, text = item.partition("=")
        if not equals or not name:
            raise InputError(f"-p {item}: give NAME=VALUE, such as -p users=35")
        try:
            parameters[name.strip()] = value(text.strip())
        except InputError as error:
            raise InputError(f"-p {name.strip()}: {error}") from None
        except RecursionError:
            raise InputError(
                f"-p {name.strip()}: its lists and tables are nested too deeply; give fewer levels"
            ) from None
    return parameters


def located(error: InputError, system: str, config: Path | None, given: Sequence[str]) -> InputError:
    """`error`, preceded by file and line if the file contains the parameter that it names."""
    named = re.match(rf'{re.escape(system)}: "?(\w+)', str(error))
    if config is None or named is None:
        return error
    name = named[1]
    if name in (item.partition("=")[0].strip() for item in given):
        return error
    here = re.compile(rf'\s*\[*"?{name}"?\s*[=\].]')
    lines = config.read_text(encoding="utf-8").splitlines()
    number = next((number for number, line in enumerate(lines, 1) if here.match(line)), None)
    return error if number is None else InputError(f"{config}, line {number}: {error}")
