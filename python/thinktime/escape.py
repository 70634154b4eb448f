"""Text from outside made safe to show: the only place that decides which characters are escaped."""

from __future__ import annotations

import unicodedata

_JOINERS = "\u200c\u200d\u00ad"
"""Format characters that spelling needs, and that move nothing: joiners and the soft hyphen."""


def escaped(text: str) -> str:
    r"""`text` on one line: control characters, direction marks and line separators as ``\x1b``, ``\u202e``.

    Names of users, files, commands and columns come from the recorded machine or from another person. Printed
    as they are, they could move the cursor of a terminal, add a line to an answer, or turn the reading
    direction of a page. Escaping twice changes nothing more.

    Examples
    --------
    >>> print(escaped("eve\x1b[2J\nbase: 0 defects"))
    eve\x1b[2J\x0abase: 0 defects
    """
    return text if text.isprintable() else text.translate(_CODES)


def is_hidden(character: str) -> bool:
    """True for a character that acts on what shows it, instead of being shown."""
    if character.isprintable():
        return False
    category = unicodedata.category(character)
    return category in {"Cc", "Cs", "Zl", "Zp"} or (category == "Cf" and character not in _JOINERS)


def _code(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class _Codes(dict[int, int | str]):
    """What stands for each character, by its number; looked up once for each."""

    def __missing__(self, number: int) -> int | str:
        character = chr(number)
        found = self[number] = _code(character) if is_hidden(character) else number
        return found


_CODES = _Codes()
