"""Numbers as readers see them: scaled to a readable unit, cut to the digits that the interval supports."""

from __future__ import annotations

import math
import time
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinktime.documents import format as shown
from thinktime.documents.document import Column
from thinktime.escape import escaped
from thinktime.stats.estimate import Estimate


def read(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.000377, "s/fork", "377 µs/fork"),
        (4.1e-6, "s", "4.10 µs"),
        (0.9994, "s", "999 ms"),
        (0.9996, "s", "1.000 s"),
        (1234.5, "s", "1234 s"),
        (0.0, "s", "0 s"),
        (-0.002, "s", "−2.00 ms"),
        (8.3e9, "byte", "8.30 GB"),
        (512, "byte", "512 B"),
        (1.5e6, "byte/s", "1.50 MB/s"),
        (0.345, "share", "34.5 %"),
        (1.0, "share", "100 %"),
        (1.5, "1/s", "1.50/s"),
        (1, "user", "1 user"),
        (12, "user", "12 users"),
        (9.0, "user", "9 users"),
        (12.34, "user", "12.3 users"),
        (3, "switch", "3 switches"),
        (130_564.2, "fault/s", "130 564 faults/s"),
        (2.5e6, "fault/s", "2.50 M faults/s"),
        (2e9, "fault", "2.00 G faults"),
        (1e300, "s", "1.00 × 10³⁰⁰ s"),
        (1e300, "fault", "1.00 × 10³⁰⁰ faults"),
        (10**18, "", "1.00 × 10¹⁸"),
        (1e-9, "", "1.00 × 10⁻⁹"),
        (math.inf, "s", "∞ s"),
        (math.nan, "s", "–"),
        (None, "s", "–"),
    ],
)
def test_quantity(value: float | None, unit: str, text: str) -> None:
    assert read(shown.quantity(value, unit)) == text


@pytest.mark.parametrize(
    ("value", "low", "high", "unit", "text"),
    [
        (377.2e-6, 364.8e-6, 389.6e-6, "s/fork", "377 ± 12 µs/fork"),
        (377.2e-6, 350e-6, 420e-6, "s/fork", "377 (350 to 420) µs/fork"),
        (0.412, 0.400, 0.424, "share", "41.2 ± 1.2 %"),
        (0.9731, 0.95, 0.98, "", "0.973 (0.950 to 0.980)"),
        (4.0, -8.0, 16.0, "user", "4 ± 12 users"),
        (6.0, 4.0, 9.0, "user", "6 (4 to 9) users"),
        (6.5, 4.0, 9.0, "user", "6.5 ± 2.5 users"),
        (0.0, -1e-6, 1e-6, "s", "0.0 ± 1.0 µs"),
        (1e-6, 0.0, None, "s", "1.0 (0.0 to –) µs"),
        (5.25, None, None, "user", "5.25 users"),
        (66.0, None, None, "user", "66 users"),
        (1.0, 1.0, 1.0, "process", "1 process"),
        (1.0, 1.0, 1.0, "s", "1.00 s"),
        (math.nan, None, None, "s", "–"),
        (1.0, 0.5, math.inf, "s", "1.00 (0.50 to ∞) s"),
    ],
)
def test_estimate(value: float, low: float | None, high: float | None, unit: str, text: str) -> None:
    assert (
        read(shown.estimate(Estimate(value=value, unit=unit, n=30, method="mean", low=low, high=high)))
        == text
    )


@given(
    st.floats(1e-6, 1e9),
    st.floats(1e-3, 0.9),
)
def test_the_printed_interval_holds_the_true_one(value: float, relative: float) -> None:
    """Rounding to two digits of the half-width moves an end by less than 6 % of the half-width."""
    half = value * relative
    text = shown.estimate(
        Estimate(value=value, unit="", n=30, method="mean", low=value - half, high=value + half)
    )
    bare = read(text).replace(" ", "").replace("−", "-")
    centre, spread = (float(part) for part in bare.split("±"))
    assert abs(centre - value) <= 0.06 * half * (1 + 1e-9)
    assert abs(spread - half) <= 0.06 * half * (1 + 1e-9)


def test_a_column_of_like_figures_shares_its_unit() -> None:
    column = shown.column(Column("p90", unit="s"), [0.120, 1.4, None, 0.0456])
    assert column.unit == "ms"
    assert column.cells == ("120", "1400", "–", "46")


def test_a_column_of_unlike_figures_keeps_a_unit_a_cell() -> None:
    column = shown.column(Column("cost", unit="s"), [0.120, 3e-6])
    assert column.unit == ""
    assert [read(cell) for cell in column.cells] == ["120 ms", "3.00 µs"]


def test_estimates_bring_their_own_unit() -> None:
    column = shown.column(
        Column("mean"), [Estimate(value=0.002, unit="s", n=3, method="mean", low=0.0019, high=0.0021), None]
    )
    assert (column.unit, read(column.cells[0])) == ("ms", "2.00 ± 0.10")


def test_a_small_figure_in_a_column_of_large_ones_is_no_zero() -> None:
    assert "0" not in shown.column(Column("rate", unit="fault/s"), [5000.0, 6000.0, 0.4]).cells[2].strip("0.")
    assert shown.column(Column("rate", unit="fault/s"), [5000.0, 6000.0, 0.4]).cells[2] == "0.4"


def test_an_empty_column_shows_that_nothing_was_measured() -> None:
    assert shown.column(Column("p90", unit="s"), [None, None]).cells == ("–", "–")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(12.34, "12.3 s"), (200, "3 min 20 s"), (3600, "1 h"), (90_061, "1 d 1 h"), (59.99, "60.0 s")],
)
def test_duration(seconds: float, text: str) -> None:
    assert read(shown.duration(seconds)) == text


def test_names_cannot_steer_a_terminal() -> None:
    assert escaped("a\x1b[2J\u202eb\n\x7f") == "a\\x1b[2J\\u202eb\\x0a\\x7f"
    assert escaped("Jürgen 数据 👩\u200d💻") == "Jürgen 数据 👩\u200d💻"


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "2026-11-23 16:31 UTC"),
        ("Europe/Berlin", "2026-11-23 17:31 CET"),
        ("Asia/Kathmandu", "2026-11-23 22:16 UTC+05:45"),
    ],
)
def test_instants_of_a_list_are_in_the_zone_of_the_reader(monkeypatch, zone, text):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert shown.local_minute(datetime(2026, 11, 23, 16, 31, 2, tzinfo=timezone.utc)) == text
    finally:
        monkeypatch.undo()
        time.tzset()
