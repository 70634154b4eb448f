"""What the columns of a Parquet file are: metadata of its fields, from the Arrow schema in its footer.

polars, which reads the values, does not hand these out; pyarrow would, and is a hundred megabytes for it.
"""

from __future__ import annotations

import base64
import binascii
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

FOOTER_BYTES_MAX = 64 << 20
"""Longest footer that is looked at."""
FIELDS_MAX = 100_000
TEXT_MAX = 400
_TAIL = b"PAR1"
# Places of the members of the tables of Arrow's Schema.fbs and Message.fbs.
_HEADER, _FIELDS, _NAME, _METADATA, _KEY, _VALUE = 2, 1, 0, 6, 0, 1


def footer_of(path: Path) -> bytes:
    """Footer of a Parquet file; empty if it has none."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size < 12:
            return b""
        file.seek(size - 8)
        tail = file.read(8)
        (length,) = struct.unpack("<I", tail[:4])
        if tail[4:] != _TAIL or length > min(size - 12, FOOTER_BYTES_MAX):
            return b""
        file.seek(size - 8 - length)
        return file.read(length)


def labels_of(schema: str) -> dict[str, Mapping[str, str]]:
    """Metadata of each field by its name, from the text of key ``ARROW:schema``.

    Raises
    ------
    ValueError
        It is no schema of Arrow.
    """
    try:
        data = base64.b64decode(schema, validate=True)
        # A mark and the length, or the length alone in files of old versions.
        at = 8 if data[:4] == b"\xff\xff\xff\xff" else 4
        message = at + struct.unpack_from("<I", data, at)[0]
        header = _table(data, message, _HEADER)
        fields = None if header is None else _table(data, header, _FIELDS)
        if fields is None:
            raise ValueError("it has no fields")
        return {
            name: dict(_pairs(data, field))
            for field in _vector(data, fields)
            if (name := _text(data, field, _NAME)) is not None
        }
    except (binascii.Error, struct.error, IndexError) as error:
        raise ValueError(str(error)) from None


def _table(data: bytes, at: int, member: int) -> int | None:
    """Place that a member of a table refers to; None where the table lacks it."""
    (back,) = struct.unpack_from("<i", data, at)
    table = at - back
    if table < 0:
        raise ValueError("a table outside of the schema")
    (length,) = struct.unpack_from("<H", data, table)
    if 4 + 2 * member + 2 > length:
        return None
    (offset,) = struct.unpack_from("<H", data, table + 4 + 2 * member)
    return at + offset + struct.unpack_from("<I", data, at + offset)[0] if offset else None


def _vector(data: bytes, at: int) -> Iterator[int]:
    (count,) = struct.unpack_from("<I", data, at)
    if count > min(FIELDS_MAX, len(data) // 4):
        raise ValueError(f"{count} entries")
    for place in range(at + 4, at + 4 + 4 * count, 4):
        yield place + struct.unpack_from("<I", data, place)[0]


def _pairs(data: bytes, field: int) -> Iterator[tuple[str, str]]:
    vector = _table(data, field, _METADATA)
    for pair in () if vector is None else _vector(data, vector):
        key, value = _text(data, pair, _KEY), _text(data, pair, _VALUE)
        if key is not None and value is not None:
            yield key, value


def _text(data: bytes, at: int, member: int) -> str | None:
    place = _table(data, at, member)
    if place is None:
        return None
    (length,) = struct.unpack_from("<I", data, place)
    return data[place + 4 : place + 4 + min(length, TEXT_MAX)].decode("utf-8", "replace")
