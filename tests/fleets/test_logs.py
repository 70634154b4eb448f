"""Logs of a fleet as they come: damaged, short, of several versions, of one machine, with wrong clocks and
units."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import simulated_fleet as simulated
from simulated_fleet import COLUMNS, EPOCH_US, Machine

from thinktime.errors import InputError
from thinktime.fleets.answer import Fleet, fleet
from thinktime.fleets.found import logs_of
from thinktime.fleets.page import document
from thinktime.fleets.summary import Summary, Unusable, summarise
from thinktime.log import LogWriter, vocabulary

ONE = Machine(host="web1", model="Alpha", hours=4.0, interval_s=10.0, saturated=(1,))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated.write(tmp_path_factory.mktemp("whole"), ONE)


def written(folder: Path, samples: pl.DataFrame, **facts: object) -> Path:
    """Log of these samples; facts of the machine replace those of `ONE`."""
    machine = {"hostname": folder.name, "cpu_model": "Alpha", "cpus": ONE.cpus, **facts}
    schema = [column for column in vocabulary("samples") if column.name in samples.columns]
    with LogWriter.open(folder, source="linux", machine=machine, start_us=EPOCH_US) as log:
        log.write("samples", samples, schema)
    return folder


def summary(path: Path) -> Summary:
    found = summarise(path)
    assert isinstance(found, Summary), found
    return found


def refused(path: Path) -> Unusable:
    found = summarise(path)
    assert isinstance(found, Unusable)
    return found


# What is found


def test_folders_and_patterns(tmp_path: Path, whole: Path) -> None:
    for name in ("a/one", "a/two", "b/three"):
        shutil.copytree(whole, tmp_path / name)
    assert [path.name for path in logs_of([tmp_path])] == ["one", "two", "three"]
    assert [path.name for path in logs_of([tmp_path / "a" / "two", tmp_path])] == ["two", "one", "three"]
    assert [path.name for path in logs_of([f"{tmp_path}/*/t*"])] == ["two", "three"]
    assert [path.name for path in logs_of([f"{tmp_path}/?"])] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("s3://bucket/logs", "a log is read from a folder of this machine; copy the logs here first"),
        ("gs:/bucket", "or mount the store as a folder"),
        ("none", "there is no such folder; `thinktime logs` lists"),
        ("none*", "no log is of this pattern"),
        ("empty", "there are no logs in it"),
        ("file", "is a file; name the folder of a log"),
    ],
)
def test_what_is_no_log_is_refused(
    given: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as error:
        fleet(given)
    assert str(error.value).startswith(f"{given}: ")
    assert message in str(error.value)


def test_no_argument_is_refused() -> None:
    with pytest.raises(InputError, match="no log is given"):
        fleet()


# What is left out, and named


def test_damage_is_named_and_ends_nothing(tmp_path: Path, whole: Path) -> None:
    for name in ("good", "cut", "changed", "empty", "nonsense"):
        shutil.copytree(whole, tmp_path / name)
    for name in ("cut", "changed"):
        part = next((tmp_path / name / "samples").glob("*.parquet"))
        data = bytearray(part.read_bytes())
        data = data[: len(data) // 2] if name == "cut" else data
        data[len(data) // 3] ^= 0x55
        part.write_bytes(data)
    (tmp_path / "empty" / "manifest.json").write_text("")
    (tmp_path / "nonsense" / "manifest.json").write_text('{"format": "thinktime log", "schema_version": 99}')
    found = fleet(tmp_path)
    assert [one.name for one in found.machines] == ["web1"]
    assert {Path(item.path).name: item.kind for item in found.unusable} == dict.fromkeys(
        ("cut", "changed", "empty", "nonsense"), "damaged"
    )
    text = " ".join(item.text for item in document(found).findings)
    assert "4 logs were not used, 4 damaged" in text.replace("\N{NO-BREAK SPACE}", " ")


def test_what_says_too_little_is_named(tmp_path: Path) -> None:
    samples = simulated.samples(ONE)
    short = refused(written(tmp_path / "short", samples.head(59)))
    assert (short.kind, short.reason) == ("short", "60 intervals are needed, not 59; record for longer")
    assert isinstance(summarise(written(tmp_path / "long", samples.head(60))), Summary)
    idle = refused(written(tmp_path / "idle", samples.drop("idle_s", "iowait_s")))
    assert idle.kind == "no_cpu"
    assert "idle time" in idle.reason


def test_other_units_are_refused(tmp_path: Path) -> None:
    samples = simulated.samples(ONE)
    schema = [
        replace(column, unit="ms") if column.name == "user_s" else column
        for column in vocabulary("samples")
        if column.name in COLUMNS
    ]
    with LogWriter.open(tmp_path / "ms", source="other", start_us=EPOCH_US) as log:
        log.write("samples", samples, schema)
    found = refused(tmp_path / "ms")
    assert found.kind == "units"
    assert "user_s is in ms, where other logs have s" in found.reason


def test_only_refused_logs_make_a_page_too(tmp_path: Path) -> None:
    written(tmp_path / "short", simulated.samples(ONE).head(5))
    page = document(fleet(tmp_path))
    assert page.findings[0].text == "No log says anything about its machine."
    assert page.sections[0].tables[0].rows[0][1] == "too short"


# Clocks


def test_clocks_are_compared(tmp_path: Path) -> None:
    samples = simulated.samples(replace(ONE, saturated=()))
    for number in range(5):
        written(tmp_path / f"m{number}", samples)
    back = pl.when(pl.int_range(pl.len()) >= 300).then(pl.duration(minutes=-20)).otherwise(pl.duration())
    written(tmp_path / "back", samples.with_columns(pl.col("start") + back))
    years = pl.duration(days=-20_000)
    written(tmp_path / "epoch", samples.with_columns(pl.col("start") + years))
    written(tmp_path / "half", samples, cpus=ONE.cpus * 2)
    found = fleet(tmp_path)
    notes = {one.name: one.notes for one in found.machines if one.notes}
    assert notes == {"back": ("backwards",), "epoch": ("apart",), "half": ("cpus",)}
    # A machine with the year 1970 does not stretch the record of the others.
    assert not found.by_day
    assert len(found.by_hour) == 4
    assert found.costs[0].models[0].machines == 7


# Several logs of one machine


def test_two_logs_of_a_machine_are_one(tmp_path: Path, whole: Path) -> None:
    samples = simulated.samples(ONE)
    middle = len(samples) // 2 + 100
    written(tmp_path / "web1-a", samples.head(middle), hostname="web1")
    written(tmp_path / "web1-b", samples.tail(-middle), hostname="web1")
    one, two = fleet(whole).machines[0], fleet(tmp_path).machines[0]
    assert len(two.paths) == 2
    assert two.saturated == one.saturated
    assert two.busy.value == pytest.approx(one.busy.value, rel=1e-12)
    assert two.exhausted.value == pytest.approx(one.exhausted.value, rel=1e-12)
    assert one.cpu_of_user is not None
    assert two.cpu_of_user is not None
    assert two.cpu_of_user.value == pytest.approx(one.cpu_of_user.value, rel=0.05)


def test_what_two_recorders_saw_counts_once(tmp_path: Path, whole: Path) -> None:
    shutil.copytree(whole, tmp_path / "first")
    shutil.copytree(whole, tmp_path / "second")
    one, two = fleet(whole).machines[0], fleet(tmp_path).machines[0]
    assert len(two.paths) == 2
    assert (two.busy, two.exhausted, two.saturated) == (one.busy, one.exhausted, one.saturated)


# Versions of the format


def as_version(path: Path, version: int) -> Path:
    """The same log as an earlier version had it: without a ledger, and in version 1 with other names."""
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["schema_version"] = version
    manifest.pop("ledger", None)
    if version == 1:
        for table in manifest["tables"]:
            for column in table["columns"]:
                if column["name"] == "pages_reclaimed":
                    column["name"] = "pages_stolen"
        for part in (path / "samples").glob("*.parquet"):
            pl.read_parquet(part, glob=False).rename({"pages_reclaimed": "pages_stolen"}).write_parquet(part)
    (path / "manifest.json").write_text(json.dumps(manifest))
    return path


def test_versions_go_together(tmp_path: Path) -> None:
    samples = simulated.samples(ONE).with_columns(pl.lit(3, pl.UInt64).alias("pages_reclaimed"))
    for version in (1, 2, 3):
        written(tmp_path / f"v{version}", samples)
        if version < 3:
            as_version(tmp_path / f"v{version}", version)
    found = fleet(tmp_path)
    assert found.unusable == ()
    assert found.versions == {"1": 1, "2": 1, "3": 1}
    first, *others = (comparable(found, f"v{version}") for version in (1, 2, 3))
    assert others == [first, first]


def comparable(found: Fleet, name: str) -> object:
    """All that is said of a machine but its names."""
    one = next(item for item in found.machines if item.name == name)
    return replace(one, name="", paths=())


def test_what_is_too_short_for_an_hour_says_so(tmp_path: Path) -> None:
    path = written(tmp_path / "web1", simulated.samples(ONE).head(80))
    found = fleet(path)
    assert found.machines[0].room.reason == "short"
    assert found.machines[0].hours == 0
    sentences = [item.text for item in document(found).findings]
    assert (
        sentences[0] == "No hour can be judged: of none was more than 15\N{NO-BREAK SPACE}minutes measured."
    )
    assert "no hour was measured for long enough" in sentences[1]


def test_machines_without_counts_of_users_have_no_room(tmp_path: Path) -> None:
    samples = simulated.samples(replace(ONE, saturated=()))
    written(tmp_path / "uncounted", samples.drop("active_users"))
    written(tmp_path / "steady", samples.with_columns(pl.lit(3, pl.UInt64).alias("active_users")))
    found = {one.name: one.room for one in fleet(tmp_path).machines}
    assert (found["uncounted"].users, found["uncounted"].reason) == (None, "no_users")
    assert (found["steady"].users, found["steady"].reason) == (None, "few_users")
