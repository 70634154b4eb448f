"""Durations and sizes of command lines: ``20s``, ``1.5min``, ``64MB``, ``1GiB``."""

from __future__ import annotations

from thinktime.errors import InputError


def parse_seconds(text: str, item: str) -> float:
    """Duration in seconds.

    Parameters
    ----------
    text : str
        A number with one of the units us, ms, s, min (or m), h, d.
    item : str
        Name of the option, for the error message.

    Raises
    ------
    InputError
        `text` is not a duration of at least 0 with a unit.
    """
    from thinktime._native import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise InputError(f"{item}: {error}") from None


def parse_bytes(text: str, item: str) -> int:
    """Size in bytes.

    Parameters
    ----------
    text : str
        A number of bytes, or one with a prefix: k, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024. A
        final B is optional.
    item : str
        Name of the option, for the error message.

    Raises
    ------
    InputError
        `text` is not a size of at least 0.
    """
    from thinktime._native import parse_size

    try:
        return parse_size(text)
    except ValueError as error:
        raise InputError(f"{item}: {error}") from None
