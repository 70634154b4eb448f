"""`thinktime export`: rows of a real log, read back by other readers."""

import csv
import json
import os
import subprocess
import sys
import time

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from thinktime.cli import run
from thinktime.log import Log, LogWriter
from thinktime.sources.linux import RecordOptions, record

HOSTILE = ["=1+1", "\x1b[31mred", "a\nb", "\u202ex", "+cmd", "alice"]
CLI = [sys.executable, "-c", "from thinktime.cli import main; main()"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "log"
    record(path, RecordOptions(interval_s=0.1, duration_s=1.5))
    return path


@pytest.fixture
def written(tmp_path):
    """A log with names of strangers."""
    log = tmp_path / "log"
    rows = pl.DataFrame(
        {
            "start": pl.Series([1_000_000 * at for at in range(len(HOSTILE))]).cast(pl.Datetime("us", "UTC")),
            "user": HOSTILE,
            "cpu_exact_s": [0.1 + at for at in range(len(HOSTILE))],
        }
    )
    with LogWriter.open(log, "create", source="test", start_us=0) as writer:
        writer.write("users", rows)
    return log


READERS = {
    "arrow": pl.read_ipc,
    "feather": pl.read_ipc,
    "parquet": pl.read_parquet,
}


@pytest.mark.parametrize("ending", READERS)
@pytest.mark.parametrize("table", ["samples", "users", "commands"])
def test_what_is_read_back_is_the_log(recorded, tmp_path, ending, table):
    file = tmp_path / f"{table}.{ending}"
    assert run(["export", str(recorded), table, "-o", str(file)]) == 0
    with file.open("rb") as open_file:
        assert_frame_equal(READERS[ending](open_file), Log.open(recorded).table(table).collect())
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_json_lines_have_every_text_exactly(written, tmp_path):
    file = tmp_path / "users.jsonl"
    assert run(["export", str(written), "users", "-o", str(file)]) == 0
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [row["user"] for row in rows] == HOSTILE
    assert [row["cpu_exact_s"] for row in rows] == [0.1 + at for at in range(len(HOSTILE))]


def test_csv_acts_on_no_spreadsheet_and_no_terminal(written, tmp_path):
    file = tmp_path / "users.csv"
    assert run(["export", str(written), "users", "-o", str(file)]) == 0
    text = file.read_text()
    assert not any(character in text for character in "\x1b\u202e")
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["user"] for row in rows] == ["'=1+1", "\\x1b[31mred", "a\\x0ab", "\\u202ex", "'+cmd", "alice"]
    assert [float(row["cpu_exact_s"]) for row in rows] == [0.1 + at for at in range(len(HOSTILE))]
    assert rows[1]["start"] == "1970-01-01T00:00:01.000000Z"


def test_every_table_with_rows_becomes_a_file(recorded, tmp_path):
    folder = tmp_path / "all"
    assert run(["export", str(recorded), "-o", str(folder), "--format", "parquet"]) == 0
    log = Log.open(recorded)
    assert {path.stem for path in folder.iterdir()} == {name for name in log.tables if log.has(name)}
    for path in folder.iterdir():
        assert_frame_equal(pl.read_parquet(path), log.table(path.stem).collect())


def test_rows_that_are_in_no_parquet_file_yet_are_written_too(tmp_path):
    log = tmp_path / "log"
    recorder = subprocess.Popen([*CLI, "record", "-o", str(log), "-i", "0.1s"], stderr=subprocess.DEVNULL)
    try:
        while not (log / "manifest.json").is_file() or Log.open(log).samples().collect().height < 3:
            assert recorder.poll() is None
            time.sleep(0.05)
        assert not list(log.glob("samples/*.parquet"))
        assert run(["export", str(log), "samples", "-o", str(tmp_path / "x.parquet")]) == 0
        assert pl.read_parquet(tmp_path / "x.parquet").height >= 3
    finally:
        recorder.kill()
        recorder.wait()


def test_standard_output_is_a_stream(recorded):
    command = [*CLI, "export", str(recorded), "samples", "-o", "-", "--format", "jsonl"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["length_s"] for row in rows] == Log.open(recorded).samples().collect()["length_s"].to_list()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["samples"], "--output: is missing"),
        (["sampels", "-o", "x.csv"], "did you mean samples?"),
        (["samples", "-o", "x.pdf"], "not a known format"),
        (["samples", "-o", "x"], "has no ending"),
        (["-o", "x.csv"], "is one file for"),
        (["-o", "x"], "say the format"),
        (["-o", "-", "--format", "csv"], "is one stream for"),
        (["samples", "-o", "no/such/x.csv"], "does not exist"),
    ],
)
def test_what_cannot_be_written_is_refused(recorded, tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    assert run(["export", str(recorded), *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_only_if_that_is_asked_for(recorded, tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("mine")
    assert run(["export", str(recorded), "samples", "-o", str(file)]) == 2
    assert file.read_text() == "mine"
    assert run(["export", str(recorded), "samples", "-o", str(file), "--force"]) == 0
    assert file.read_text().startswith("start,")


def test_a_full_disk_leaves_nothing_half(recorded, capfd):
    assert run(["export", str(recorded), "samples", "-o", "/dev/full", "--format", "csv"]) == 1
    assert "cannot be written" in capfd.readouterr().err


def test_a_damaged_part_is_named(recorded, tmp_path, capsys):
    log = tmp_path / "log"
    subprocess.run(["cp", "-r", str(recorded), str(log)], check=True)
    [part] = (log / "users").glob("*.parquet")
    data = bytearray(part.read_bytes())
    data[4 : len(data) // 2] = os.urandom(len(data) // 2 - 4)
    part.write_bytes(data)
    assert run(["export", str(log), "users", "-o", str(tmp_path / "x.csv")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "part-000001.parquet" in said
    assert "Traceback" not in said
    assert not (tmp_path / "x.csv").exists()


# A form of text and one of bytes; the others take the same ways.
@pytest.mark.parametrize(
    "form",
    ["csv", "parquet", *(pytest.param(form, marks=pytest.mark.thorough) for form in ("jsonl", "arrow"))],
)
def test_a_reader_that_has_seen_enough_is_no_error(written, form):
    line = [*CLI, "export", str(written), "users", "-o", "-", "--format", form]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run(line, stdout=gone, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.stderr == ""
    # A disk that is full is one.
    with open("/dev/full", "wb") as full:
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
