"""Tables with a mapping: every kind of column, unit and time, and what a mapping may not say."""

import datetime

import polars as pl
import pytest
from tool_files import column, imported, kinds, total

import thinktime
from thinktime.errors import InputError
from thinktime.log import Log
from thinktime.sources.importers import Given, import_file
from thinktime.sources.importers.table import EXAMPLE

START = datetime.datetime(2026, 11, 21, 8, tzinfo=datetime.timezone.utc)


def mapping(folder, columns, time='column = "t"', head="", name="map.toml"):
    path = folder / name
    path.write_text(f"{head}\n[time]\n{time}\n[columns]\n{columns}\n")
    return Given(mapping=path)


def csv(folder, *lines):
    path = folder / "data.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def times(count, step_s=10):
    return [(START + datetime.timedelta(seconds=step_s * at)).isoformat() for at in range(count)]


def test_amounts_rates_totals_and_readings(tmp_path):
    lines = [
        f"{time},{amount},{rate},{total_},{reading}"
        for time, amount, rate, total_, reading in zip(
            times(4), (9, 1, 2, 3), (99, 0.5, 1, 2), (100, 150, 30, 35), (7, 8, 9, 10), strict=True
        )
    ]
    given = mapping(
        tmp_path,
        'forks = { column = "a" }\n'
        'net_bytes_in = { column = "r", is = "rate", unit = "kB" }\n'
        'context_switches = { column = "c", is = "counter" }\n'
        'memory_free_bytes = { column = "g", unit = "MiB" }',
    )
    done, log = imported(csv(tmp_path, "t,a,r,c,g", *lines), tmp_path, given)
    assert done.kind == "table"
    assert column(log, "forks") == [1, 2, 3]
    assert column(log, "net_bytes_in") == [5000, 10_000, 20_000]
    assert column(log, "context_switches") == [50, None, 5]
    assert column(log, "memory_free_bytes") == [8 * 2**20, 9 * 2**20, 10 * 2**20]
    assert column(log, "interrupts") == [None] * 3
    assert column(log, "start") == [START + datetime.timedelta(seconds=10 * at) for at in range(3)]
    assert ("counter_reset", "c went back", 1) in done.incidents


def test_shares_of_all_cpus(tmp_path):
    given = mapping(
        tmp_path, 'user_s = { column = "u", is = "rate", unit = "% of all CPUs" }', head="[machine]\ncpus = 8"
    )
    _, log = imported(csv(tmp_path, "t,u", *(f"{time},25" for time in times(2))), tmp_path, given)
    assert column(log, "user_s") == [0.25 * 8 * 10]
    assert log.manifest["sessions"][0]["machine"] == {"cpus": 8}


@pytest.mark.parametrize(
    ("form", "cells"),
    [
        ("iso", ["2026-11-21T08:00:00Z", "2026-11-21 09:00:30+01:00"]),
        ("s", ["1795248000", "1795248030.0"]),
        ("ms", ["1795248000000", "1795248030000"]),
        ("ns", ["1795248000000000000", "1795248030000000000"]),
        ("%d.%m.%Y %H:%M:%S", ["21.11.2026 08:00:00", "21.11.2026 08:00:30"]),
    ],
)
def test_formats_of_time(form, cells, tmp_path):
    given = mapping(tmp_path, 'forks = { column = "f" }', time=f'column = "t"\nformat = "{form}"')
    _, log = imported(csv(tmp_path, "t,f", f"{cells[0]},1", f"{cells[1]},2"), tmp_path, given)
    assert column(log, "start") == [START]
    assert column(log, "length_s") == [30.0]


def test_lengths_and_marks(tmp_path):
    path = csv(tmp_path, "t,f", *(f"{time},{at}" for at, time in enumerate(times(3, step_s=60))))
    rows = 'forks = { column = "f" }'
    starts = {}
    for name, time in {
        "end": "",
        "start": '\nmarks = "start"',
        "end and length": '\nlength = "60s"',
        "start and length": '\nmarks = "start"\nlength = "60s"',
    }.items():
        _, log = imported(path, tmp_path / name, mapping(tmp_path, rows, time=f'column = "t"{time}'))
        starts[name] = (
            [(start - START).total_seconds() for start in column(log, "start")],
            column(log, "forks"),
        )
        assert set(column(log, "length_s")) == {60.0}
    assert starts == {
        "end": ([0, 60], [1, 2]),
        "start": ([0, 60], [0, 1]),
        "end and length": ([-60, 0, 60], [0, 1, 2]),
        "start and length": ([0, 60, 120], [0, 1, 2]),
    }


def test_semicolons_commas_in_numbers_and_quotes(tmp_path):
    given = mapping(tmp_path, 'load_1m = { column = "load, 1 min" }', head='decimal = ","')
    path = csv(tmp_path, '"t";"load, 1 min"', f'"{times(2)[0]}";1,5', f"{times(2)[1]};1.002,25")
    _, log = imported(path, tmp_path, given)
    assert column(log, "load_1m") == [1002.25]


def test_rows_about_users(tmp_path):
    """Rows of one time are one interval; totals are kept for each user."""
    lines = ["t,who,cpu"]
    for at, time in enumerate(times(3)):
        lines += [f"{time},anna,{100 * at}", f"{time},bob,{7}"]
    given = mapping(
        tmp_path,
        'user = { column = "who" }\nuser_s = { column = "cpu", is = "counter", unit = "ticks" }',
        head='table = "users"',
    )
    _, log = imported(csv(tmp_path, *lines), tmp_path, given)
    assert column(log, "user", "users") == ["anna", "bob"] * 2
    assert column(log, "user_s", "users") == [1.0, 0.0] * 2
    assert column(log, "active_users") == [1, 1]


def test_requests_are_interactions_that_the_questions_answer(tmp_path):
    """An access log: 200 requests, one a second, each 250 ms long."""
    lines = ["end,path,ms,user"]
    for at in range(200):
        end = START + datetime.timedelta(seconds=at, milliseconds=250)
        lines.append(f"{end.isoformat()},{'/a' if at % 2 else '/b'},250,u{at % 4}")
    given = mapping(
        tmp_path,
        'completion = { column = "end" }\n'
        'due = { column = "ms", is = "until", of = "completion", unit = "ms" }\n'
        'class = { column = "path" }\nuser = { column = "user" }',
        time="",
        head='table = "interactions"\nsource = "nginx"',
    )
    done, log = imported(csv(tmp_path, *lines), tmp_path, given)
    assert (done.intervals, done.rows) == (0, 200)
    assert column(log, "due", "interactions")[0] == START
    result = thinktime.analyse("response", log)
    assert {group.label: group.response.mean.value for group in result.by_class} == {
        "/a": pytest.approx(0.25),
        "/b": pytest.approx(0.25),
    }


SACCT = """\
User|Partition|Submit|Start|End
anna|short|2026-11-21T08:00:00|2026-11-21T08:05:00|2026-11-21T08:15:00
bob|long|2026-11-21T08:01:00|2026-11-21T08:01:10|Unknown
carl|long|2026-11-21T08:02:00|Unknown|Unknown
"""
OF_SACCT = """\
user = { column = "User" }
class = { column = "Partition" }
due = { column = "Submit" }
first_service = { column = "Start" }
completion = { column = "End" }
"""


def test_jobs_of_slurm(tmp_path):
    """Text as `sacct --parsable2` prints it: jobs that run or wait have no end."""
    (tmp_path / "jobs").write_text(SACCT)
    given = mapping(tmp_path, OF_SACCT, time='timezone = "Europe/Berlin"', head='table = "interactions"')
    _, log = imported(tmp_path / "jobs", tmp_path, given)
    assert column(log, "user", "interactions") == ["anna", "bob", "carl"]
    assert column(log, "due", "interactions")[0] == START - datetime.timedelta(hours=1)
    assert [value is None for value in column(log, "completion", "interactions")] == [False, True, True]
    assert [value is None for value in column(log, "first_service", "interactions")] == [False, False, True]


def test_a_column_of_ones_own_takes_part_in_the_questions(tmp_path):
    """System time is 2 ms a request: a regression without arguments finds it."""
    lines = ["t,sys,idle,req"]
    counts = [(17 * at * at + 31 * at) % 211 for at in range(120)]
    for time, count in zip(times(120), counts, strict=True):
        lines.append(f"{time},{100 + 2 * count},{9000 - 2 * count},{count}")
    given = mapping(
        tmp_path,
        'system_s = { column = "sys", unit = "ms" }\nidle_s = { column = "idle", unit = "ms" }\n'
        'requests = { column = "req", own = true, own_unit = "request", role = "request" }',
        head="[machine]\ncpus = 1",
    )
    _, log = imported(csv(tmp_path, *lines), tmp_path, given)
    result = thinktime.analyse("overhead", log)
    (cost,) = [item for item in result.costs if item.request == "requests"]
    assert cost.seconds.value == pytest.approx(0.002, rel=1e-6)


def test_parquet_is_read_as_csv_is(tmp_path):
    frame = pl.DataFrame(
        {
            "t": [START + datetime.timedelta(seconds=at) for at in range(10_000)],
            "f": [at % 7 for at in range(10_000)],
            "g": [None if at % 2 else at for at in range(10_000)],
        }
    )
    path = tmp_path / "data.parquet"
    frame.write_parquet(path, row_group_size=1000)
    given = mapping(tmp_path, 'forks = { column = "f" }\nthreads = { column = "g", is = "gauge" }')
    done, log = imported(path, tmp_path, given)
    assert done.form == "parquet"
    assert done.intervals == 9999
    assert total(log, "forks") == sum(at % 7 for at in range(1, 10_000))
    assert log.samples().select(pl.col("threads").null_count()).collect().item() == 5000


def test_damaged_parquet_is_refused(tmp_path):
    path = tmp_path / "data.parquet"
    pl.DataFrame({"t": [START], "f": [1]}).write_parquet(path)
    given = mapping(tmp_path, 'forks = { column = "f" }')
    whole = path.read_bytes()
    for data, says in (
        (whole[:10], "is cut off: a Parquet file ends with"),
        (whole[:-20], "is cut off: a Parquet file ends with"),
        (whole[:-8] + bytes(4) + whole[-4:], "cannot be read as Parquet"),
    ):
        (tmp_path / "damaged").write_bytes(data)
        with pytest.raises(InputError, match=says):
            import_file(tmp_path / "damaged", tmp_path / "log", given=given)


def test_damage_has_its_line_and_item(tmp_path):
    lines = ["t,f", *(f"{time},{at}" for at, time in enumerate(times(5)))]
    lines[2] = "yesterday,1"
    lines[3] = lines[3].replace(",2", ",many")
    lines[4] += ",9"
    done, log = imported(csv(tmp_path, *lines), tmp_path, mapping(tmp_path, 'forks = { column = "f" }'))
    details = [detail for kind, detail, _ in done.incidents if kind == "damaged_record"]
    assert any("line 3: t is 'yesterday'" in detail for detail in details)
    assert any("line 4: f is 'many'" in detail for detail in details)
    assert any("line 5: has 3 cells" in detail for detail in details)
    assert column(log, "forks") == [None, 4]
    assert column(log, "length_s") == [20.0, 20.0]


def test_times_that_go_back_or_stand_still(tmp_path):
    one, two, three = times(3)
    path = csv(tmp_path, "t,f", f"{two},1", f"{three},2", f"{three},3", f"{one},4", f"{two},5")
    done, log = imported(path, tmp_path, mapping(tmp_path, 'forks = { column = "f" }'))
    assert column(log, "forks") == [2, 5]
    assert {"clock_step", "duplicate_record"} <= kinds(done)


REFUSED = {
    'forks = { column = "f", is = "gauge" }': "columns.forks.is: a counter of samples cannot hold a gauge",
    'forks = { column = "nosuch" }': "has no column 'nosuch', which the mapping names",
    'fork = { column = "f" }': "columns.fork: table samples has no such column; did you mean forks",
    'forks = { column = "f", unit = "kb" }': "there is no unit kb",
    'forks = { column = "f", unti = "kB" }': "unti: there is no such key; did you mean unit",
    'forks = { column = "f", scale = -1 }': "columns.forks.scale: -1 is no positive number",
    "forks = 7": "columns.forks",
    'user_s = { column = "f", unit = "% of all CPUs" }': "needs their number, as cpus = 4",
    'start = { column = "f" }': "start comes from [time]",
    "": "[columns] names no column",
}


@pytest.mark.parametrize("columns", REFUSED)
def test_what_a_mapping_may_not_say(columns, tmp_path):
    path = csv(tmp_path, "t,f", f"{times(1)[0]},1")
    with pytest.raises(InputError) as caught:
        import_file(path, tmp_path / "log", given=mapping(tmp_path, columns))
    assert REFUSED[columns] in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize(
    ("time", "head", "says"),
    [
        ("", "", "time has no column"),
        ('column = "t"\nformat = "unix"', "", "unix is no format"),
        ('column = "t"\ntimezone = "Mars"', "", "there is no zone Mars"),
        ('column = "t"\nmarks = "middle"', "", "there is no middle"),
        ('column = "t"\nlength = "5"', "", "has no unit"),
        ('column = "t"', 'table = "sample"', "did you mean samples"),
        ('column = "t"', 'table = "disks"', "columns.device: is needed"),
        ('column = "t"', 'color = "red"', "there is no such key"),
        ('column = "t"', "table = ", "is not TOML"),
    ],
)
def test_what_the_rest_of_a_mapping_may_not_say(time, head, says, tmp_path):
    path = csv(tmp_path, "t,f", f"{times(1)[0]},1")
    columns = 'reads = { column = "f" }' if "disks" in head else 'forks = { column = "f" }'
    with pytest.raises(InputError, match=says):
        import_file(path, tmp_path / "log", given=mapping(tmp_path, columns, time=time, head=head))


def test_the_example_is_a_mapping_that_works(tmp_path):
    (tmp_path / "map.toml").write_text(EXAMPLE)
    lines = ["time,cpu user,cpu system,cpu idle,ctxt,forks,rx,free,requests"]
    lines += [f"{time},50,25,25,{10 * at},{at},2,512,{3 * at}" for at, time in enumerate(times(3))]
    _, log = imported(csv(tmp_path, *lines), tmp_path, Given(mapping=tmp_path / "map.toml"))
    assert column(log, "user_s") == [20.0, 20.0]
    assert column(log, "requests") == [3.0, 3.0]
    assert column(log, "net_bytes_in") == [20_000, 20_000]
    (own,) = [item for item in log.schema("samples") if item.name == "requests"]
    assert (own.unit, own.role, own.kind) == ("request", "request", "counter")
    assert Log.open(tmp_path / "log").manifest["sessions"][0]["source"] == "collectd"


def test_a_table_without_a_mapping_says_how_to_get_one(tmp_path):
    path = csv(tmp_path, "a,b", "1,2", "3,4")
    with pytest.raises(InputError, match="--example-mapping"):
        import_file(path, tmp_path / "log")
