"""What sysstat's own versions wrote, against sums that hold for any cumulative counter."""

import datetime
import itertools
import json
import subprocess

import polars as pl
import pytest
from sar_text import FIXTURES, VERSIONS, import_sar, need_sadf, readings_of

from thinktime.log import Log

TICK_S = 0.01
READABLE = ("12.5.2", "12.6.1")
"""Versions whose binary files the sadf of Debian 12 reads."""


def imported(name, folder):
    done = import_sar(FIXTURES / name, folder / "log")
    log = Log.open(folder / "log")
    assert log.check() == []
    return done, log


def total(log, column, table="samples"):
    return log.table(table).select(pl.col(column).sum()).collect().item()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("column", "pattern", "scale"),
    [
        ("forks", r"proc/s; (\d+); (\d+);", 1),
        ("context_switches", r"cswch/s; (\d+); (\d+);", 1),
        ("interrupts", r"INTR; (?:sum; all|-1; intr/s); (\d+); (\d+);", 1),
        ("paged_out_bytes", r"pgpgout/s; (\d+); (\d+);", 1024),
        ("page_faults_major", r"majflt/s; (\d+); (\d+);", 1),
        ("pages_freed", r"pgfree/s; (\d+); (\d+);", 1),
        ("disk_writes", r"wtps; (\d+); (\d+);", 1),
        ("disk_write_bytes", r"bwrtn/s; (\d+); (\d+);", 512),
        ("disk_busy_s", r"DEV; vda;.* tot_ticks; (\d+); (\d+);", 0.001),
        ("net_bytes_in", r"IFACE; eth0; .*rxkB/s; (\d+); (\d+);", 1),
        ("user_s", r"CPU; -1; %usr; (\d+); (\d+);", TICK_S),
        ("system_s", r"CPU; -1;.* %sys; (\d+); (\d+);", TICK_S),
        ("idle_s", r"CPU; -1;.* %idle; (\d+); (\d+);", TICK_S),
        ("psi_io_some_s", r"%sio; (\d+); (\d+);", 1e-6),
    ],
)
def test_amounts_add_up_to_last_reading_less_first(version, column, pattern, scale, tmp_path):
    """Telescoping sum: over a boot without gaps, the intervals hold all that was counted."""
    _, log = imported(f"{version}-load.raw", tmp_path)
    readings = readings_of(FIXTURES / f"{version}-load.raw", pattern)
    assert len(readings) == 4
    grown = (readings[-1][1] - readings[0][0]) * scale
    assert total(log, column) == pytest.approx(grown, rel=1e-12, abs=1e-12)
    assert grown > 0 or column in ("page_faults_major", "net_bytes_in")


@pytest.mark.parametrize("version", VERSIONS)
def test_faults_are_minor_or_major(version, tmp_path):
    _, log = imported(f"{version}-load.raw", tmp_path)
    readings = readings_of(FIXTURES / f"{version}-load.raw", r"fault/s; (\d+); (\d+);")
    faults = total(log, "page_faults_minor") + total(log, "page_faults_major")
    assert faults == readings[-1][1] - readings[0][0] > 1000


@pytest.mark.parametrize("version", VERSIONS)
def test_cpu_states_add_up_to_the_length(version, tmp_path):
    """Each CPU is in one state at a time: its states sum to the interval, within a tick a state."""
    _, log = imported(f"{version}-load.raw", tmp_path)
    states = pl.sum_horizontal(pl.exclude("start", "cpu", "length_s"))
    rows = log.cpus().join(log.samples().select("start", "length_s"), on="start").with_columns(states=states)
    assert rows.collect().height == 2 * 4
    # The kernel counts ticks in each of 8 states, and idle time of a CPU without ticks is read late.
    assert rows.select((pl.col("states") - pl.col("length_s")).abs().max()).collect().item() <= 8 * TICK_S


@pytest.mark.parametrize("version", VERSIONS)
def test_gauges_are_readings_at_the_end(version, tmp_path):
    _, log = imported(f"{version}-load.raw", tmp_path)
    last = log.samples().collect().row(-1, named=True)
    path = FIXTURES / f"{version}-load.raw"
    assert last["memory_free_bytes"] == readings_of(path, r"kbmemfree; (\d+);")[-1][0] * 1024
    assert last["memory_total_bytes"] == readings_of(path, r"kbttlmem; (\d+);")[-1][0] * 1024
    assert last["threads"] == readings_of(path, r"plist-sz; (\d+);")[-1][0]
    assert last["load_1m"] == pytest.approx(readings_of(path, r"ldavg-1; (\d+);")[-1][0] / 100)


def test_what_sar_does_not_record_is_null(tmp_path):
    _, log = imported("12.6.1-load.raw", tmp_path)
    absent = ("cpu_exact_s", "active_users", "sessions", "processes", "softirq_net_rx", "recorder_cpu_s")
    assert log.samples().select(pl.col(absent).is_null().all()).collect().row(0) == (True,) * len(absent)
    assert not log.has("users")
    assert not log.has("interactions")


@pytest.mark.parametrize("version", VERSIONS)
def test_times_are_those_of_the_records(version, tmp_path):
    done, log = imported(f"{version}-load.raw", tmp_path)
    moments = readings_of(
        FIXTURES / f"{version}-load.raw", r"uptime_cs; (\d+); ust_time; (\d+);.*record_type; 1;"
    )
    moments = list(dict.fromkeys(moments))
    rows = log.samples().select(pl.col("start").dt.timestamp("us"), "length_s").collect().rows()
    lengths = [(b[0] - a[0]) / 100 for a, b in itertools.pairwise(moments)]
    assert [length for _, length in rows] == pytest.approx(lengths)
    for (start_us, _), (_, wall_s) in zip(rows, moments, strict=False):
        # sadc truncates to seconds; following the uptime, a start may be later by less than one.
        assert abs(start_us / 1e6 - wall_s) < 1.0
    assert done.intervals == 4


@pytest.mark.parametrize("version", VERSIONS)
def test_restart_record_and_uptime_that_went_back_drop_the_interval(version, tmp_path):
    done, log = imported(f"{version}-restart.raw", tmp_path)
    # Boot 1: 3 records, a comment, 2 records. Boot 2: 3 records, then 3 with an uptime less by 600 s.
    # Between them: one pair at the same time (or 0.01 s apart), one across RESTART, one across the reboot.
    assert done.intervals == 2 + 1 + 2 + 2
    assert log.samples().select(pl.col("length_s").is_between(0.9, 1.2).all()).collect().item()
    kinds = [kind for kind, _, _ in done.incidents]
    assert kinds.count("reboot") == 1
    assert kinds.count("interval_dropped") == 2
    manifest = {(row["kind"], row["detail"]): row["count"] for row in log.manifest["incidents"]}
    assert manifest == {(kind, detail): count for kind, detail, count in done.incidents}
    # Left out: the pair that is 0 or 0.01 s long, and the pair across the reboot.
    readings = readings_of(FIXTURES / f"{version}-restart.raw", r"proc/s; (\d+); (\d+);")
    kept = [after - before for at, (before, after) in enumerate(readings) if at not in (2, 6)]
    assert len(readings) == 9
    assert total(log, "forks") == sum(kept)


@pytest.mark.parametrize("version", VERSIONS)
def test_plain_text_says_what_it_cannot_tell(version, tmp_path):
    done, log = imported(f"{version}-restart.plain", tmp_path)
    kinds = {kind for kind, _, _ in done.incidents}
    assert {"coarse_clock", "date_unknown", "interval_dropped", "reboot"} <= kinds
    session = log.manifest["sessions"][0]
    assert session["options"]["clock"] == "wall clock, whole seconds"
    assert log.samples().select(pl.col("start").min().dt.date()).collect().item() == datetime.date(1970, 1, 1)


def test_plain_text_takes_its_day_from_the_caller(tmp_path):
    day = datetime.date(2026, 11, 21)
    done = import_sar(FIXTURES / "12.6.1-restart.plain", tmp_path / "log", date=day)
    assert "date_unknown" not in {kind for kind, _, _ in done.incidents}
    starts = Log.open(tmp_path / "log").samples().select("start").collect()
    with_headers = imported("12.6.1-restart.raw", tmp_path / "other")[1].samples().select("start").collect()
    # Whole seconds against the uptime's hundredths.
    assert abs((starts["start"][-1] - with_headers["start"][-1]).total_seconds()) < 1.5


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["load", "restart"])
def test_json_agrees_with_the_counters_within_its_rounding(version, name, tmp_path):
    """Rates are rounded to 0.01, lengths to seconds: |error| <= 0.005 l + amount |1 - l'/l|."""
    exact = imported(f"{version}-{name}.raw", tmp_path / "raw")[1].samples().collect()
    done, log = imported(f"{version}-{name}.json", tmp_path / "json")
    rounded = log.samples().collect()
    assert rounded.height == exact.height
    assert next(kind for kind, _, _ in done.incidents) == "rounded_input"
    assert log.manifest["sessions"][0]["options"]["rates_rounded_to"] == 0.01
    columns = {
        "forks": 1,
        "context_switches": 1,
        "interrupts": 1,
        "paged_out_bytes": 1024,
        "disk_write_bytes": 512,
    }
    for a, b in zip(exact.iter_rows(named=True), rounded.iter_rows(named=True), strict=True):
        for column, scale in columns.items():
            stretch = abs(1 - b["length_s"] / a["length_s"])
            assert abs(a[column] - b[column]) <= (0.005 * scale + a[column] * stretch) * 1.001 + 1, column
        for column in ("user_s", "system_s", "idle_s"):
            assert b[column] == pytest.approx(a[column], abs=0.03), column
        for column in ("memory_total_bytes", "memory_free_bytes", "threads", "swap_total_bytes", "runnable"):
            assert b[column] == a[column], column


def test_json_names_the_machine(tmp_path):
    _, log = imported("12.6.1-load.json", tmp_path)
    host = json.loads((FIXTURES / "12.6.1-load.json").read_text())["sysstat"]["hosts"][0]
    machine = log.manifest["sessions"][0]["machine"]
    assert machine["hostname"] == host["nodename"]
    assert machine["kernel"] == host["release"]
    assert machine["cpus"] == 2


@pytest.mark.parametrize("version", READABLE)
@pytest.mark.parametrize("name", ["load", "restart"])
def test_binary_gives_what_its_text_gives(version, name, tmp_path):
    need_sadf()
    _, from_binary = imported(f"{version}-{name}.sa", tmp_path / "binary")
    _, from_text = imported(f"{version}-{name}.raw", tmp_path / "text")
    for table in ("samples", "cpus", "disks", "interfaces"):
        unread = ["interrupts"] if version == "12.5.2" and table == "samples" else []
        a, b = (log.table(table).drop(unread).collect() for log in (from_binary, from_text))
        assert a.equals(b)


def test_binary_names_machine_versions_and_ticks(tmp_path):
    need_sadf()
    _, log = imported("12.5.2-load.sa", tmp_path)
    session = log.manifest["sessions"][0]
    assert session["source"] == "sar"
    assert session["options"]["sysstat_of_file"] == "12.5.2"
    assert session["options"]["hz"] == 100
    assert session["options"]["hz_source"] == "the file's header"
    assert session["machine"]["architecture"] == "x86_64"
    assert session["machine"]["cpus"] == 2


def test_activity_that_sadf_cannot_read_is_null_and_named(tmp_path):
    """The interrupts of 12.5.2 have a format that sadf 12.6.1 does not know."""
    if "12.6" not in subprocess.run([need_sadf(), "-V"], capture_output=True, text=True).stdout:
        pytest.skip("another version of sadf")
    done, log = imported("12.5.2-load.sa", tmp_path)
    assert (
        "unread_activity",
        "A_IRQ has a format that the sadf installed here does not read",
        1,
    ) in done.incidents
    assert log.samples().select(pl.col("interrupts").is_null().all()).collect().item()
