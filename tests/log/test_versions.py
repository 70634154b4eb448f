"""Logs of an earlier version of the format read as if they had been written today.

``version_1`` was written by the last thinktime of version 1: two sealed parts, and an open one as a kill
leaves it. Its values follow from the row numbers, so that the same log can be written anew here.
"""

import json
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path

import polars as pl
import pyarrow
import pytest
from polars.testing import assert_frame_equal

from thinktime.log import Column, Log, LogError, LogWriter, vocabulary

ROWS = range(12)
TABLES = ("samples", "interactions", "events")
START = datetime.fromtimestamp(1_790_000_000, timezone.utc)
STARTS = [START + timedelta(seconds=row) for row in ROWS]


@pytest.fixture
def old(tmp_path):
    return Path(shutil.copytree(Path(__file__).parent / "version_1", tmp_path / "old"))


def rows():
    """What the old log holds, by the columns of today."""
    return {
        "samples": {
            "start": STARTS,
            "length_s": [1.0] * 12,
            "user_s": [0.25 + row / 100.0 for row in ROWS],
            "cpu_exact_s": [0.5] * 12,
            "pages_reclaimed": [None if row == 3 else row * 7 for row in ROWS],
            "recorder_delay_s": [0.001 * row for row in ROWS],
        },
        "interactions": {
            "user": ["user:1"] * 12,
            "class": ["edit"] * 12,
            "population": [1] * 12,
            "due": STARTS,
            "sent": [start + timedelta(milliseconds=1) for start in STARTS],
            "completion": [
                None if row % 5 == 4 else start + timedelta(milliseconds=250)
                for row, start in enumerate(STARTS)
            ],
            "service_s": [0.125] * 12,
            "waited": [None if row == 7 else row % 2 == 1 for row in ROWS],
        },
        "events": {
            "time": STARTS,
            "kind": ["slice_end"] * 12,
            "user": ["user:1"] * 12,
            "cpu": [0] * 12,
            "amount": [0.125] * 12,
        },
    }


def described(schema):
    """All that an analysis goes by: not the sentence for a reader."""
    return [(column.name, column.type, column.unit, column.kind, column.role) for column in schema]


@pytest.fixture
def new(tmp_path):
    with LogWriter.open(tmp_path / "new", source="network", machine={"cpus": 1}) as writer:
        for table, columns in rows().items():
            schema = [column for column in vocabulary(table) if column.name in columns]
            writer.write(table, pl.DataFrame(columns), schema)
    return Log.open(tmp_path / "new")


@pytest.mark.parametrize("table", TABLES)
def test_the_rows_of_an_old_log_are_those_of_a_new_one(old, new, table):
    log = Log.open(old)
    assert_frame_equal(log.table(table).collect(), new.table(table).collect())
    assert_frame_equal(pl.concat(log.in_turn(table)).collect(), new.table(table).collect())
    assert pyarrow.table(log.arrow(table)).equals(pyarrow.table(new.arrow(table)))
    assert described(log.schema(table)) == described(new.schema(table))


def test_a_selection_is_pushed_down_to_the_old_names(old):
    plan = Log.open(old).samples().select("pages_reclaimed").explain()
    assert "busy_exact_s" not in plan
    assert Log.open(old).samples().select(pl.col("pages_reclaimed").sum()).collect().item() == 441


def test_an_old_log_has_no_defects_but_no_list_of_its_parts(old):
    """Its writer was killed, so that its session has no end either."""
    notes = [(defect.severity, defect.item) for defect in Log.open(old).check()]
    assert notes == [("note", "ledger"), ("note", "end_us")]


@pytest.mark.parametrize("table", TABLES)
def test_an_old_log_is_gone_on_with(old, new, table):
    """Parts of both versions, and what was open at the kill, are read as one table."""
    with LogWriter.open(old, "resume", source="network") as writer:
        for name, columns in rows().items():
            schema = [column for column in vocabulary(name) if column.name in columns]
            writer.write(name, pl.DataFrame(columns), schema)
    log = Log.open(old)
    assert json.loads((old / "manifest.json").read_text())["schema_version"] == 3
    once = new.table(table).collect()
    assert_frame_equal(log.table(table).collect(), pl.concat([once, once]))
    assert log.check() == []


@pytest.mark.parametrize(
    ("table", "column", "remedy"),
    [
        (
            "samples",
            Column(name="busy_exact_s", type="f64", unit="s", kind="counter", description="CPU time"),
            "cpu_exact_s",
        ),
        (
            "interactions",
            Column(name="waited", type="u64", unit="", kind="gauge", description="Waited"),
            "waited of type bool",
        ),
    ],
)
def test_an_old_column_is_refused_for_new_rows(tmp_path, table, column, remedy):
    with (
        pytest.raises(LogError, match=f"{column.name}.*{remedy}"),
        LogWriter.open(tmp_path / "run", source="test") as writer,
    ):
        writer.write(table, pl.DataFrame({column.name: [1]}), [column])
