from __future__ import annotations

import pytest

from thinktime.errors import InputError
from thinktime.quantity import parse_bytes, parse_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20s", 20.0),
        ("500ms", 0.5),
        ("1.5m", 90.0),
        ("2min", 120.0),
        ("1h", 3600.0),
        (" 3 s ", 3.0),
    ],
)
def test_times_as_people_write_them(text: str, seconds: float) -> None:
    assert parse_seconds(text, "--step") == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [("100", 100), ("64MB", 64_000_000), ("1KiB", 1024), ("2TB", 2 * 10**12), ("0", 0)],
)
def test_sizes_as_people_write_them(text: str, size: int) -> None:
    assert parse_bytes(text, "--array") == size


@pytest.mark.parametrize("text", ["", "20", "-1s", "soon", "1 fortnight", "nan", "inf", "1e999s", "0x10"])
def test_no_time_is_refused_with_item_and_remedy(text: str) -> None:
    with pytest.raises(InputError, match=r"^--step: .*give a number"):
        parse_seconds(text, "--step")


@pytest.mark.parametrize("text", ["", "-1", "big", "1PB", "1e999"])
def test_no_size_is_refused_with_item_and_remedy(text: str) -> None:
    with pytest.raises(InputError, match=r"^--array: .*give bytes"):
        parse_bytes(text, "--array")
