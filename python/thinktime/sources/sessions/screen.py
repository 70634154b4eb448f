"""The line of a terminal on which a user types, as the output leaves it; nothing else is kept."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

ROW_MAX = 4096
"""Most characters of a row."""
SEQUENCE_MAX = 4096
"""Longest escape sequence: what is longer is no sequence."""

_ALTERNATE = {"47", "1047", "1049"}
_CSI = re.compile(r"([?<=>!]*)([0-9;:]*)[ -/]*([@-~])")


class Screen:
    """Row of the cursor. Escape sequences that move within it are obeyed, all others are swallowed."""

    def __init__(self) -> None:
        self._row: list[str] = []
        self.column = 0
        """Column of the cursor, from 0."""
        self.alternate = False
        """True while a program shows the alternate screen."""
        self.uncertain = False
        """True if the row was reached by a movement that is not followed."""
        self._sequence: str | None = None

    @property
    def row(self) -> str:
        """Text of the row."""
        return "".join(self._row)

    @property
    def before_cursor(self) -> str:
        """Text of the row up to the cursor."""
        return "".join(self._row[: self.column])

    def cut(self, count: int) -> None:
        """Forget the first `count` characters of the row: output without an end of line, before a prompt."""
        del self._row[:count]
        self.column = max(self.column - count, 0)

    def feed(self, text: str) -> Iterator[str]:
        """What `text` does: ``newline`` before the row is left, ``shown`` for a character, ``alternate``.

        Whoever iterates sees the screen as it is at each of them.
        """
        for character in text:
            if self._sequence is not None:
                yield from self._escape(character)
            elif character == "\x1b":
                self._sequence = ""
            elif character == "\n":
                if not self.alternate:
                    yield "newline"
                self._row, self.column, self.uncertain = [], 0, False
            elif character == "\r":
                self.column = 0
            elif character == "\b":
                self.column = max(self.column - 1, 0)
            elif character == "\t":
                for _ in range(8 - self.column % 8):
                    self._put(" ")
            elif unicodedata.category(character) != "Cc":
                self._put(character)
                if not self.alternate:
                    yield "shown"

    def _put(self, character: str) -> None:
        if self.column >= ROW_MAX:
            self.uncertain = True
            return
        if self.column > len(self._row):
            self._row += " " * (self.column - len(self._row))
        self._row[self.column : self.column + 1] = [character]
        self.column += 1

    def _escape(self, character: str) -> Iterator[str]:
        """One more character of an escape sequence."""
        assert self._sequence is not None
        self._sequence += character
        sequence = self._sequence
        if sequence[0] == "[":
            if "@" <= character <= "~" and len(sequence) > 1:
                self._sequence = None
                yield from self._control(sequence[1:])
            elif character < " ":
                self._sequence = None
        elif sequence[0] in "]PX^_":
            # Titles and other strings end with BEL or ESC \.
            if character == "\a" or sequence.endswith("\x1b\\"):
                self._sequence = None
        elif not " " <= character <= "/":
            self._sequence = None
            self.uncertain |= character in "78MDEc"
        if self._sequence is not None and len(sequence) > SEQUENCE_MAX:
            self._sequence = None
            self.uncertain = True

    def _control(self, sequence: str) -> Iterator[str]:
        """Obey a control sequence."""
        found = _CSI.fullmatch(sequence)
        if found is None:
            self.uncertain = True
            return
        mark, numbers, final = found.groups()
        if mark == "?" and final in "hl":
            if _ALTERNATE & set(numbers.split(";")) and self.alternate != (final == "h"):
                self.alternate = final == "h"
                self._row, self.column, self.uncertain = [], 0, False
                yield "alternate"
            return
        if mark:
            return
        first = numbers.split(";")[0]
        count = min(int(first), ROW_MAX) if re.fullmatch(r"[0-9]{1,6}", first) else 0
        self._move(final, count)

    def _move(self, final: str, count: int) -> None:
        once = max(count, 1)
        if final == "C":
            self.column = min(self.column + once, ROW_MAX)
        elif final == "D":
            self.column = max(self.column - once, 0)
        elif final == "G":
            self.column = once - 1
        elif final == "K":
            if count == 0:
                del self._row[self.column :]
            elif count == 2:
                self._row = []
            else:
                self._row[: self.column + 1] = " " * min(self.column + 1, len(self._row))
        elif final == "P":
            del self._row[self.column : self.column + once]
        elif final == "@":
            room = ROW_MAX - len(self._row)
            self._row[self.column : self.column] = " " * min(once, max(room, 0))
        elif final == "X":
            upto = min(self.column + once, len(self._row))
            self._row[self.column : upto] = " " * (upto - self.column)
        elif final in "Hf":
            # A screen that was cleared begins with an empty row; another row is not known.
            self._row, self.column, self.uncertain = [], 0, count > 1
        elif final in "ABEFd":
            self.uncertain = True
