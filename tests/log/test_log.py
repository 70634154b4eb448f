"""`thinktime.log`: what is written comes back, for every kind of reader."""

from datetime import datetime, timezone

import duckdb
import pandas
import polars as pl
import pyarrow
import pyarrow.parquet
import pytest

from thinktime.log import Column, Log, LogError, LogWriter, interactions, vocabulary


def at(second):
    return datetime(2026, 1, 1, 0, 0, second, tzinfo=timezone.utc)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "run"
    with LogWriter.open(path, source="test", machine={"cpus": 2}, options={"interval_s": 5}) as writer:
        for start in (0, 5):
            frame = pl.DataFrame({"start": [at(start)], "length_s": [5.0], "user_s": [1.5], "forks": [start]})
            writer.write("samples", frame)
        writer.incident("suspend", "the lid was closed")
        writer.incident("suspend", "the lid was closed")
        writer.set("recorder", {"method": "by hand"})
    return Log.open(path)


def test_rows_come_back_in_order_with_nulls_for_what_was_not_measured(log):
    frame = log.samples().collect()
    assert frame["start"].to_list() == [at(0), at(5)]
    assert frame["forks"].to_list() == [0, 5]
    assert frame["user_s"].to_list() == [1.5, 1.5]
    assert frame["idle_s"].to_list() == [None, None]
    assert frame.columns == [column.name for column in vocabulary("samples")]


def test_a_table_that_is_absent_is_empty_with_its_columns(log):
    assert not log.has("interactions")
    assert log.has("samples")
    assert log.interactions().collect().columns == [column.name for column in vocabulary("interactions")]
    with pytest.raises(LogError, match="interactions"):
        log.table("no_such_table")


def test_a_part_has_the_rows_of_its_time_alone(tmp_path):
    second = 1_000_000
    start = int(at(0).timestamp()) * second
    with LogWriter.open(tmp_path / "run", source="test", machine={}) as writer:
        frame = pl.DataFrame(
            {"start": [at(0), at(5), at(10)], "length_s": [5.0, 5.0, 5.0], "forks": [1, 2, 3]}
        )
        writer.write("samples", frame)
        writer.write("interactions", pl.DataFrame({"user": ["a", "b"], "due": [at(4), at(11)]}))
        writer.write("events", pl.DataFrame({"time": [at(4), at(12)], "kind": ["one", "two"]}))
    whole = Log.open(tmp_path / "run")
    part = whole.between(start + 5 * second, start + 14 * second)
    # The last interval begins inside and ends outside.
    assert part.samples().collect()["forks"].to_list() == [2]
    assert pl.concat(part.in_turn("samples")).collect()["forks"].to_list() == [2]
    assert part.interactions().collect()["user"].to_list() == ["b"]
    assert part.events().collect()["kind"].to_list() == ["two"]
    assert (part.is_part, whole.is_part) == (True, False)
    assert whole.samples().collect().height == 3
    assert not whole.between(0, 1).has("samples")


def test_the_think_time_of_an_input_includes_lines_that_nobody_waited_for(tmp_path):
    rows = {
        "user": ["a", "a", "b", "a", "a", "b"],
        "due": [at(1), at(2), at(3), at(5), at(9), at(10)],
        "completion": [at(1), None, at(3), None, at(9), None],
        "waited": [True, False, True, False, True, True],
        "think_s": [1.0, 0.5, 3.0, 2.5, 4.0, 7.0],
    }
    with LogWriter.open(tmp_path / "run", source="test", machine={}) as writer:
        writer.write("interactions", pl.DataFrame(rows))
    found = interactions.read(Log.open(tmp_path / "run"), ["think_s"])
    # Two lines without a wait lie before the third of user a; the last of b was waited for in vain.
    assert found.columns["think_s"].tolist() == [1.0, 3.0, 0.5 + 2.5 + 4.0, 7.0]
    assert found.users.tolist() == ["a", "b", "a", "b"]


def test_the_manifest_tells_who_wrote_it_and_what_went_wrong(log):
    (session,) = log.manifest["sessions"]
    assert session["source"] == "test"
    assert session["machine"] == {"cpus": 2}
    assert session["recorder"] == {"method": "by hand"}
    assert session["end_us"] >= session["start_us"]
    (incident,) = log.manifest["incidents"]
    assert (incident["kind"], incident["count"]) == ("suspend", 2)
    assert log.check() == []


def test_roles_need_no_arguments(log):
    assert log.columns_with("user_time") == ["user_s", "nice_s"]
    assert log.columns_with("load") == ["active_users"]
    with pytest.raises(ValueError, match="system_time"):
        log.columns_with("sytem_time")


@pytest.mark.parametrize(
    "table",
    [
        "samples",
        "users",
        "cpus",
        "disks",
        "interfaces",
        "interactions",
        "events",
        "commands",
        "presence",
        "groups",
        "latencies",
    ],
)
def test_every_column_of_the_vocabulary_says_what_it_is(table):
    for column in vocabulary(table):
        assert column.description, column
        assert column.kind == "label" or column.unit or column.name == "amount", column
        assert not column.name.endswith("_s") or column.unit == "s", column
        assert not column.name.endswith("_bytes") or column.unit == "byte", column


def test_arrow_consumers_see_units_kinds_and_roles(log):
    table = pyarrow.table(log.arrow("samples"))
    metadata = table.schema.field("user_s").metadata
    assert metadata[b"unit"] == b"s"
    assert metadata[b"kind"] == b"counter"
    assert metadata[b"role"] == b"user_time"
    assert table.column("forks").to_pylist() == [0, 5]


def test_the_files_alone_carry_the_same_metadata(log):
    part = next((log.path / "samples").glob("*.parquet"))
    field = pyarrow.parquet.read_schema(part).field("system_s")
    assert field.metadata[b"role"] == b"system_time"


def test_duckdb_reads_the_files_and_the_arrow_stream(log):
    pattern = str(log.path / "samples" / "*.parquet")
    assert duckdb.sql(f"select sum(forks) from '{pattern}'").limit(1).fetchall() == [(5,)]
    rows = pyarrow.table(log.arrow("samples"))
    assert duckdb.sql("select count(*), sum(user_s) from rows").limit(1).fetchall() == [(2, 3.0)]
    assert rows.num_rows == 2


def test_pandas_reads_the_files(log):
    frame = pandas.read_parquet(log.path / "samples")
    assert frame["forks"].tolist() == [0, 5]


def test_values_that_do_not_fit_are_refused_by_column(tmp_path):
    with pytest.raises(LogError, match="forks"), LogWriter.open(tmp_path / "a", source="test") as writer:
        writer.write("samples", pl.DataFrame({"forks": [-1]}))
    with pytest.raises(LogError, match="frobs"), LogWriter.open(tmp_path / "b", source="test") as writer:
        writer.write("samples", pl.DataFrame({"frobs": [1]}))


def test_a_source_may_add_columns_of_its_own(tmp_path):
    vsio = Column(
        name="vsio",
        type="u64",
        unit="request",
        kind="counter",
        description="Start I/O to virtual selector channels",
        role="request",
    )
    with LogWriter.open(tmp_path / "run", source="cp67") as writer:
        writer.write("samples", pl.DataFrame({"vsio": [7]}), [*vocabulary("samples"), vsio])
    log = Log.open(tmp_path / "run")
    assert "vsio" in log.columns_with("request")
    assert log.samples().select("vsio").collect().item() == 7


def test_an_exception_keeps_what_was_written_and_leaves_the_session_open(tmp_path):
    def fail_after_writing():
        with LogWriter.open(tmp_path / "run", source="test") as writer:
            writer.write("samples", pl.DataFrame({"start": [at(0)], "length_s": [1.0]}))
            raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        fail_after_writing()
    log = Log.open(tmp_path / "run")
    assert log.samples().collect().height == 1
    assert "end_us" not in log.manifest["sessions"][0]


def test_a_session_of_another_time_keeps_its_times(tmp_path):
    with LogWriter.open(tmp_path / "run", source="sar", start_us=10) as writer:
        writer.incident("suspend", "long ago", count=3, span_us=(20, 30))
        writer.end_us = 40
    manifest = Log.open(tmp_path / "run").manifest
    assert manifest["incidents"] == [
        {"kind": "suspend", "detail": "long ago", "count": 3, "first_us": 20, "last_us": 30}
    ]
    assert (manifest["sessions"][0]["start_us"], manifest["sessions"][0]["end_us"]) == (10, 40)


def test_a_log_is_not_written_over(log):
    with pytest.raises(LogError, match="--force"):
        LogWriter.open(log.path, source="test")
    with pytest.raises(LogError, match="manifest"):
        Log.open(log.path.parent)


def test_a_session_without_an_end_is_a_note_once_nobody_writes_it(tmp_path):
    def leave():
        with LogWriter.open(tmp_path / "run", source="test") as writer:
            assert Log.open(tmp_path / "run").check() == [], "a writer holds the log"
            writer.incident("test", "left by an exception")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        leave()
    (note,) = Log.open(tmp_path / "run").check()
    assert (note.severity, note.item, note.place) == ("note", "end_us", "session 1")
    with LogWriter.open(tmp_path / "run", "resume", source="test"):
        pass
    assert Log.open(tmp_path / "run").check() == []
