"""Any damage gives a log that passes its check, or an InputError: never another exception, and no hang."""

import base64
import contextlib
import json
import lzma
import tempfile
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from damage import LAWS_OF_VALUES, SEEDS, damaged, effort
from hypothesis import given
from hypothesis import strategies as st
from tool_files import GIVEN, TOOLS

from thinktime.errors import InputError
from thinktime.log import Log
from thinktime.sources.importers import IMPORTERS, Given, import_file
from thinktime.sources.importers.rezolus.fields import labels_of
from thinktime.sources.importers.table import EXAMPLE

MAY_BREAK = LAWS_OF_VALUES | {
    "possible_manifest",
    "users_within_machine",
    # A damaged time may put an interaction long before the one that the log begins with.
    "completions_in_order",
    "within_the_log",
}
"""Laws that a changed digit may break."""

CSV = "time,cpu user,cpu system,cpu idle,ctxt,forks,rx,free,requests\n" + "".join(
    f"2026-11-21T08:00:{at:02d},50.5,25,24.5,{10 * at},{at},2,512,{3 * at}\n" for at in range(40)
)
ACCESS = "end,ms,user\n" + "".join(f"2026-11-21T08:00:{at:02d}Z,{at},u{at % 3}\n" for at in range(40))
OF_ACCESS = """
table = "interactions"
[time]
[columns]
completion = { column = "end" }
due = { column = "ms", is = "until", of = "completion", unit = "ms" }
user = { column = "user" }
"""


def file_of(name):
    """Bytes of a fixture; that of vmstat is short, and its reports are repeated, a second apart."""
    data = (TOOLS / name).read_bytes()
    if not name.startswith("vmstat"):
        return data
    *head, report = data.decode().splitlines()
    if name == "vmstat-t.txt":
        report = report.rsplit(None, 1)[0]
        return "\n".join([*head, *(f"{report} 06:16:{at:02d}" for at in range(40))]).encode()
    return "\n".join([*head, *[report] * 40]).encode()


def obeys_the_laws(data, kind=None, say=None, mapping=None, *, name="input", beside=None):
    """Whether a log came of it; fails on anything but a sound log or an InputError without one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        for other, bytes_of_other in (beside or {}).items():
            (Path(folder) / other).write_bytes(bytes_of_other)
        if mapping is not None:
            (Path(folder) / "map.toml").write_bytes(mapping)
            say = Given(mapping=Path(folder) / "map.toml")
        done = None
        with contextlib.suppress(InputError):
            done = import_file(path, Path(folder) / "log", kind=kind, given=say)
        if done is None:
            # What is found to be impossible only in the middle leaves what was read before it, sealed.
            return False
        log = Log.open(Path(folder) / "log")
        assert {defect.law for defect in log.check()} <= MAY_BREAK
        if done.intervals:
            samples = log.samples().collect()
            assert samples.height == done.intervals
            for item in log.schema("samples"):
                if item.kind == "counter" and item.type == "f64":
                    low = samples[item.name].min()
                    assert low is None or low >= 0, item.name
                    assert samples[item.name].is_nan().sum() == 0, item.name
            assert samples.select(pl.col("length_s").is_finite().all()).item()
        return True


@pytest.mark.parametrize(
    "name",
    ["vmstat-t.txt", "vmstat-w.txt", "iostat-x-t.txt", "iostat-d.txt", "pidstat-h.txt", "pidstat-blocks.txt"],
)
@given(seed=SEEDS)
@effort(15)
def test_damaged_reports(name, seed):
    data = damaged(file_of(name), seed)
    obeys_the_laws(data, kind=name.partition("-")[0], say=GIVEN[name])


def short(name):
    """A fixture with the metrics that are read."""
    words = ("# time", "# TYPE node_f", "node_", "namedprocess_")
    lines = (TOOLS / name).read_text().splitlines()
    return "\n".join(line for line in lines if line.startswith(words) and "vmstat" not in line).encode()


@pytest.mark.parametrize("name", ["node-process.prom", "node-unmarked.prom"])
@given(seed=SEEDS)
@effort(15)
def test_damaged_scrapes(name, seed):
    obeys_the_laws(damaged(short(name), seed, longest=20_000), kind="prometheus")


def answer():
    """A range query's JSON."""
    names = ("node_forks_total", "node_intr_total", "node_load1", "node_boot_time_seconds")
    series = [
        {"metric": {"__name__": name}, "values": [[1_790_000_000 + 15 * at, str(7 * at)] for at in range(20)]}
        for name in names
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": series}}).encode()


REZOLUS_SCHEMA = base64.b64decode(
    pl.read_parquet_metadata(TOOLS.parent / "rezolus" / "5.4.parquet")["ARROW:schema"]
)


@cache
def pcp_part(name):
    """A file of the archive of Performance Co-Pilot."""
    return lzma.decompress((TOOLS.parent / "pcp" / f"{name}.xz").read_bytes())


JOBS = "JobID|User|Partition|Submit|Start|End|TotalCPU|AllocCPUS|State\n" + "".join(
    f"{at}|u{at % 3}|short|2026-11-21T08:00:{at:02d}|2026-11-21T08:01:{at:02d}|"
    f"2026-11-21T09:{50 - at:02d}:00|{at}:01:00|{at % 4}|COMPLETED\n"
    f"{at}.batch|||2026-11-21T08:00:{at:02d}||||1|\n"
    for at in range(40)
)


@given(seed=SEEDS)
@effort(20)
def test_damaged_jobs(seed):
    obeys_the_laws(damaged(JOBS.encode(), seed), kind="sacct")


@given(seed=SEEDS)
@effort(10)
@pytest.mark.parametrize("name", ["wtmp-boots", "wtmp-sshd", "wtmpdb-boots.db"])
def test_damaged_logins(name, seed):
    # With hours as intervals, for a damaged time may be years away.
    data = (TOOLS.parent / "logins" / name).read_bytes()
    obeys_the_laws(damaged(data, seed, longest=800), kind="wtmp", say=Given(interval=3600.0))


@given(seed=SEEDS)
@effort(6)
def test_damaged_archives(seed):
    parts = {f"load.{ending}": pcp_part(f"load.{ending}") for ending in ("meta", "0")}
    which = sorted(parts)[seed % 2]
    parts[which] = damaged(parts[which], seed, longest=20_000)
    obeys_the_laws(parts.pop("load.meta"), kind="pcp", name="load.meta", beside=parts)


@cache
def perf_part(name):
    """A file of perf."""
    return lzma.decompress((TOOLS.parent / "perf" / f"{name}.data.xz").read_bytes())


@given(seed=SEEDS)
@effort(6)
@pytest.mark.parametrize("name", ["wakeup", "pipe"])
def test_damaged_files_of_perf(name, seed):
    obeys_the_laws(damaged(perf_part(name), seed, longest=200), kind="perf")


@given(at=st.integers(0, 1 << 16), value=st.integers(0, 255), part=st.sampled_from([0.0, 0.2, 0.5, 0.9]))
@effort(12)
def test_changed_bytes_of_a_file_of_perf(at, value, part):
    """Whatever a length, an offset or a number becomes: nothing moves, so that all parts are reached."""
    data = bytearray(perf_part("wakeup"))
    place = (int(part * len(data)) + at) % len(data)
    data[place : place + 4] = bytes([value]) * 4
    obeys_the_laws(bytes(data), kind="perf")


@given(seed=SEEDS)
@effort(10)
def test_damaged_recordings_of_rezolus(seed):
    data = damaged((TOOLS.parent / "rezolus" / "5.4.parquet").read_bytes(), seed, longest=500)
    obeys_the_laws(data, kind="rezolus")


@given(data=st.binary(max_size=300), at=st.integers(0, 200))
@effort(100)
def test_schemas_of_arrow_that_are_none(data, at):
    schema = REZOLUS_SCHEMA[:at] + data + REZOLUS_SCHEMA[at + len(data) :]
    with contextlib.suppress(ValueError):
        labels_of(base64.b64encode(schema).decode())


@given(seed=SEEDS)
@effort(25)
def test_damaged_range_queries(seed):
    obeys_the_laws(damaged(answer(), seed), kind="prometheus")


@given(seed=SEEDS)
@effort(20)
def test_damaged_tables(seed):
    obeys_the_laws(damaged(CSV.encode(), seed), mapping=EXAMPLE.encode())
    obeys_the_laws(damaged(ACCESS.encode(), seed), mapping=OF_ACCESS.encode())


@given(seed=SEEDS)
@effort(25)
def test_damaged_mappings(seed):
    obeys_the_laws(CSV.encode(), mapping=damaged(EXAMPLE.encode(), seed))


@given(seed=SEEDS)
@effort(15)
def test_damaged_parquet(seed, tmp_path_factory):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        pl.read_csv(CSV.encode()).write_parquet(path)
        data = path.read_bytes()
    obeys_the_laws(damaged(data, seed), mapping=EXAMPLE.encode())


@given(data=st.binary(max_size=200))
@effort(6)
@pytest.mark.parametrize("kind", [item.name for item in IMPORTERS if item.name != "sar"])
@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"procs --\n r  b   swpd   free buff cache us sy id\n",
        b"Linux 6.1 (h) 11/21/26 _x86_64_ (2 CPU)\n\navg-cpu: %user\n",
        b"Linux 6.1 (h) 11/21/26 _x86_64_ (2 CPU)\n\n# Time UID PID %usr Command\n08:00:00 ",
        b"# TYPE node_forks_total counter\nnode_forks_total{",
        b'{"data":{"result":[',
        b"time,cpu user\n",
        b"JobID|User|Submit|Start|End\n1|u|2026-11-21T08:00:00|",
        b"\0\0\0\x84\x50\x05\x26\x02" + bytes(120) + b"\0\0\0\x84\0\0\0\x20",
        (TOOLS.parent / "logins" / "wtmp-sshd").read_bytes()[:1000],
        b"SQLite format 3\0\x10\0\1\1\0\x40\x20\x20",
        b"PERFILE2" + b"\x68".ljust(8, b"\0") + b"\x90".ljust(8, b"\0") + b"\x68",
        b"PERFILE2" + b"\x10".ljust(8, b"\0"),
        b"2ELIFREP" + b"\x10".rjust(8, b"\0"),
    ],
)
def test_noise(head, kind, data):
    say = {"vmstat": Given(cpus=2, interval=1.0), "iostat": Given(interval=1.0)}.get(kind, Given())
    obeys_the_laws(head + data, kind=kind, say=say, mapping=EXAMPLE.encode() if kind == "table" else None)


def test_the_damage_leaves_something_to_read():
    """Fuzz that is refused at the door tests the door alone: many damaged files must give a log."""
    for name in ("vmstat-t.txt", "iostat-x-t.txt", "pidstat-h.txt"):
        data, kind = file_of(name), name.partition("-")[0]
        read = [obeys_the_laws(damaged(data, seed, longest=200), kind, GIVEN[name]) for seed in range(12)]
        assert sum(read) > 3, name
    read = [obeys_the_laws(damaged(short("node-process.prom"), seed), "prometheus") for seed in range(12)]
    assert sum(read) > 5
    read = [obeys_the_laws(damaged(JOBS.encode(), seed, 200), "sacct") for seed in range(12)]
    assert sum(read) > 5
    logins = (TOOLS.parent / "logins" / "wtmp-boots").read_bytes()
    hourly = Given(interval=3600.0)
    assert sum(obeys_the_laws(damaged(logins, seed, 200), "wtmp", hourly) for seed in range(12)) > 5
    volume, beside = pcp_part("load.0"), {"load.meta": pcp_part("load.meta")}
    archives = [
        obeys_the_laws(damaged(volume, seed, 200), "pcp", name="load.0", beside=beside) for seed in range(3)
    ]
    assert sum(archives) > 1
    read = [obeys_the_laws(damaged(perf_part("pipe"), seed, 200), "perf") for seed in range(12)]
    assert sum(read) > 3
    read = [obeys_the_laws(damaged(CSV.encode(), seed, 200), mapping=EXAMPLE.encode()) for seed in range(12)]
    assert sum(read) > 5
