"""Times and sizes as people write them: ``20s``, ``1.5m``, ``64MB``, ``1GiB``."""

from __future__ import annotations

import math
import re

from thinktime.errors import InputError

__all__ = ["parse_bytes", "parse_seconds"]

SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
BYTES = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}
NUMBER = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e-?[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)


def parse_seconds(text: str, item: str) -> float:
    """Return the time `text` in seconds; `item` names the option in the message.

    Raises
    ------
    InputError
        `text` is no number from 0 up with one of the units us, ms, s, m, h, d.
    """
    match = NUMBER.fullmatch(text)
    if match is None or match[2].lower() not in SECONDS:
        raise InputError(f"{item} {text}: is no time; give a number with a unit, such as 500ms, 20s or 3m")
    seconds = float(match[1]) * SECONDS[match[2].lower()]
    if not math.isfinite(seconds):
        raise InputError(f"{item} {text}: is no finite time; give a number with a unit, such as 20s")
    return seconds


def parse_bytes(text: str, item: str) -> int:
    """Return the size `text` in bytes: k, M, G are powers of 1000, Ki, Mi, Gi of 1024; a B may follow.

    Raises
    ------
    InputError
        `text` is no size from 0 up.
    """
    match = NUMBER.fullmatch(text)
    unit = "" if match is None else match[2].lower().removesuffix("b")
    if match is None or unit not in BYTES or not math.isfinite(float(match[1])):
        raise InputError(
            f"{item} {text}: is no size; give bytes, or a number with kB, MB, GB, KiB, MiB or GiB"
        )
    return round(float(match[1]) * BYTES[unit])
