"""Read a large JSON document piece by piece: only one element of a long array is in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

CHUNK_CHARS = 1 << 16
VALUE_CHARS_MAX = 1 << 24
"""The longest single value; a sadf record with 1 000 CPUs and 1 000 disks has 2^19 characters."""
DIGITS_MAX = 400
"""A double has at most 309 digits before the point."""

_SPACE = re.compile(r"[ \t\r\n]*")


class DamagedJsonError(ValueError):
    """The text is not JSON; the message names the place and the expected element."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _integer(digits: str) -> int:
    if len(digits) > DIGITS_MAX:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


class JsonStream:
    """A JSON text with a reading position.

    Parameters
    ----------
    path : Path
        File in UTF-8; invalid bytes are replaced, visibly.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open(encoding="utf-8-sig", errors="replace")
        self._text = ""
        self._at = 0
        self._line = 1
        self._column = 1
        self._ended = False
        self._decoder = json.JSONDecoder(parse_constant=_no_constant, parse_int=_integer)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def line(self) -> int:
        """Number of the line of the reading position."""
        return self._line + self._text.count("\n", 0, self._at)

    @property
    def place(self) -> str:
        """Line and column of the reading position, from 1 on: answers of servers are one line."""
        return self._place(self._at)

    def _place(self, at: int) -> str:
        return f"line {self._line + self._text.count(chr(10), 0, at)}, column {self._column_of(at)}"

    def _column_of(self, at: int) -> int:
        begin = self._text.rfind("\n", 0, at)
        return self._column + at if begin < 0 else at - begin

    def _more(self) -> bool:
        """Read more text; False at the end."""
        if self._ended:
            return False
        self._column = self._column_of(self._at)
        self._line += self._text.count("\n", 0, self._at)
        # Growing by what is there keeps the work of a long value linear.
        chunk = self._file.read(max(CHUNK_CHARS, len(self._text) - self._at))
        self._text, self._at = self._text[self._at :] + chunk, 0
        self._ended = not chunk
        return bool(chunk)

    def _fail(self, needed: str) -> NoReturn:
        shown = self._text[self._at : self._at + 30]
        actual = repr(shown) if shown else "the end of the file"
        raise DamagedJsonError(f"{self.place}: {needed} is needed, found {actual}")

    def peek(self) -> str:
        """Next character after white space; empty at the end."""
        while True:
            match = _SPACE.match(self._text, self._at)
            self._at = match.end() if match else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def expect(self, character: str) -> None:
        """Step over `character`."""
        if self.peek() != character:
            self._fail(repr(character))
        self._at += 1

    def value(self) -> Any:
        """Value that begins here, read completely."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except RecursionError:
                self._fail("JSON that is nested less deeply")
            except ValueError as error:
                # Reading more drops the text before the value.
                into = error.pos - self._at if isinstance(error, json.JSONDecodeError) else 0
                if len(self._text) - self._at < VALUE_CHARS_MAX and self._more():
                    continue
                words = error.args[0].partition(": line")[0]
                raise DamagedJsonError(f"{self._place(self._at + into)}: {words}") from None
            # A number at the end of what was read may go on.
            if end == len(self._text) and self._more():
                continue
            self._at = end
            return value

    def fields(self) -> Iterator[str]:
        """Keys of the object that begins here; the caller reads each value before the next key."""
        self.expect("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            key = self.value()
            if not isinstance(key, str):
                self._fail("a key in quotes")
            self.expect(":")
            yield key
            if self.peek() != ",":
                break
            self._at += 1
        self.expect("}")

    def elements(self) -> Iterator[int]:
        """Numbers of the elements of the array that begins here; the caller reads each element."""
        self.expect("[")
        if self.peek() == "]":
            self._at += 1
            return
        number = 0
        while True:
            yield number
            number += 1
            if self.peek() != ",":
                break
            self._at += 1
        self.expect("]")

    def skip_to(self, pattern: re.Pattern[str], overlap: int) -> bool:
        """Move to the next match of `pattern` after this place; False where there is none.

        A match is found across chunks when it is no longer than `overlap` characters.
        """
        self._at = min(self._at + 1, len(self._text))
        while True:
            match = pattern.search(self._text, self._at)
            if match is not None:
                self._at = match.start()
                return True
            self._at = max(self._at, len(self._text) - overlap)
            if not self._more():
                return False
