"""Texts of vmstat, iostat and pidstat: by hand, and between two readings of /proc."""

import datetime
import re

import pytest
from tool_files import GIVEN, TOOLS, column, imported, kinds, proc, total

from thinktime.errors import InputError
from thinktime.log import Log
from thinktime.sources.importers import Given, import_file

BERLIN = datetime.timezone(datetime.timedelta(hours=1))
HEAD = "Linux 6.1.0 (host) \t11/21/26 \t_x86_64_\t(4 CPU)\n"


def written(folder, text):
    path = folder / "text"
    path.write_text(text)
    return path


def rows_of(name, first):
    """Lines of a text that begin with one of `first`, in words."""
    return [line.split() for line in (TOOLS / name).read_text().splitlines() if re.match(first, line)]


def test_vmstat_by_hand(tmp_path):
    """Two CPUs: a percent of all for one second is 20 ms."""
    done, log = imported("vmstat-t.txt", tmp_path)
    reports = [[int(word) for word in words[:17]] for words in rows_of("vmstat-t.txt", r"\s*\d")]
    assert done.kind == "vmstat"
    assert done.intervals == len(reports) - 1 == 4
    later = reports[1:]
    assert column(log, "context_switches") == [row[11] for row in later]
    assert column(log, "interrupts") == [row[10] for row in later]
    assert column(log, "paged_in_bytes") == [1024 * row[8] for row in later]
    assert column(log, "paged_out_bytes") == [1024 * row[9] for row in later]
    for name, at in {"user_s": 12, "system_s": 13, "idle_s": 14, "iowait_s": 15, "steal_s": 16}.items():
        assert column(log, name) == pytest.approx([row[at] / 100 * 2 for row in later])
    assert column(log, "runnable") == [row[0] for row in later]
    assert column(log, "memory_free_bytes") == [1024 * row[3] for row in later]
    assert column(log, "memory_cached_with_slab_bytes") == [1024 * row[5] for row in later]
    for absent in (
        "nice_s",
        "memory_cached_bytes",
        "memory_total_bytes",
        "forks",
        "active_users",
        "cpu_exact_s",
    ):
        assert column(log, absent) == [None] * 4
    starts = column(log, "start")
    assert (starts[1] - starts[0]).total_seconds() == 1.0
    assert str(starts[0])[:19] == " ".join(rows_of("vmstat-t.txt", r"\s*\d")[0][-2:])


@pytest.mark.parametrize(
    ("name", "read", "pattern", "scale"),
    [
        ("vmstat-t.txt", "context_switches", r"^ctxt (\d+)", 1),
        ("vmstat-w.txt", "context_switches", r"^ctxt (\d+)", 1),
        ("vmstat-t.txt", "paged_out_bytes", r"^pgpgout (\d+)", 1024),
        ("vmstat-t.txt", "user_s", r"^cpu  (\d+) (\d+)", 0.01),
        ("iostat-x-t.txt", "user_s", r"^cpu  (\d+)", 0.01),
        ("iostat-x-t.txt", "system_s", r"^cpu  \d+ \d+ (\d+)", 0.01),
        ("iostat-x-t.txt", "disk_writes", r"vda (?:\d+ ){4}(\d+)", 1),
        ("iostat-x-t.txt", "disk_write_bytes", r"vda (?:\d+ ){6}(\d+)", 512),
        ("iostat-x-t.txt", "disk_busy_s", r"vda (?:\d+ ){9}(\d+)", 0.001),
        ("iostat-iso.txt", "disk_write_bytes", r"vda (?:\d+ ){6}(\d+)", 512),
    ],
)
def test_the_amounts_are_those_that_the_kernel_counted(name, read, pattern, scale, tmp_path):
    """The tool looked at all but the time at its start and end, and times are whole seconds."""
    _, log = imported(name, tmp_path)
    grown = proc(name, pattern) * scale
    found = total(log, read)
    slack = 0.02 * 2 * 4 if name.startswith("vmstat") else 0.02
    assert 0.6 * grown - slack <= found <= 1.05 * grown + slack
    assert grown > 0


def test_iostat_by_hand(tmp_path):
    done, log = imported("iostat-x-t.txt", tmp_path)
    cpu = [[float(word) for word in words] for words in rows_of("iostat-x-t.txt", r" {5,}\d")]
    disk = rows_of("iostat-x-t.txt", "vda")
    names = rows_of("iostat-x-t.txt", "Device")[0]
    assert done.intervals == 4
    for at, name in enumerate(("user_s", "nice_s", "system_s", "iowait_s", "steal_s", "idle_s")):
        assert column(log, name) == pytest.approx([row[at] / 100 * 2 for row in cpu[1:]])

    def of_disk(name):
        return [float(row[names.index(name)]) for row in disk[1:]]

    assert column(log, "writes", "disks") == [round(value) for value in of_disk("w/s")]
    assert column(log, "write_bytes", "disks") == [round(1024 * value) for value in of_disk("wkB/s")]
    assert column(log, "busy_s", "disks") == pytest.approx([value / 100 for value in of_disk("%util")])
    assert column(log, "queue_s", "disks") == pytest.approx(of_disk("aqu-sz"))
    wait_s = [rate * wait / 1000 for rate, wait in zip(of_disk("w/s"), of_disk("w_await"), strict=True)]
    assert column(log, "write_wait_s", "disks") == pytest.approx(wait_s)
    assert column(log, "disk_writes") == column(log, "writes", "disks")
    assert log.manifest["sessions"][0]["machine"]["cpus"] == 2


def test_iostat_without_x_counts_operations_together(tmp_path):
    _, log = imported("iostat-m.txt", tmp_path)
    disk = [[float(word) for word in words[1:]] for words in rows_of("iostat-m.txt", "vda")][1:]
    assert column(log, "operations", "disks") == [round(row[0]) for row in disk]
    assert column(log, "write_bytes", "disks") == [round(row[2] * 2**20) for row in disk]
    assert column(log, "reads", "disks") == column(log, "busy_s", "disks") == [None, None]
    assert column(log, "disk_busy_s") == [None, None]


def test_partitions_and_stacked_devices_are_not_counted_again(tmp_path):
    report = (
        "{time}\nDevice r/s w/s %util\nsda 5.00 2.00 50.00\nsda1 5.00 2.00 50.00\ndm-0 3.00 1.00 40.00\n\n"
    )
    times = [f"11/21/26 08:00:0{second}" for second in (0, 2)]
    path = written(tmp_path, HEAD + "\n" + "".join(report.format(time=time) for time in times))
    _, log = imported(path, tmp_path)
    assert column(log, "device", "disks") == ["sda", "dm-0"]
    assert column(log, "disk_reads") == [10]
    assert column(log, "disk_busy_s") == [1.0]


def test_pidstat_by_hand(tmp_path):
    done, log = imported("pidstat-h.txt", tmp_path)
    lines = rows_of("pidstat-h.txt", r"\d\d:")
    times = list(dict.fromkeys(words[0] for words in lines))
    names = next(iter(rows_of("pidstat-h.txt", "#")))[2:]
    assert done.intervals == len(times) - 1
    for at, time in enumerate(times[1:]):
        rows = [dict(zip(names, words[1:], strict=False)) for words in lines if words[0] == time]
        users = {int(row["UID"]) for row in rows}
        start = column(log, "start")[at]
        found = log.table("users").collect().filter(start=start)
        assert set(found["user"]) == {f"uid:{user}" for user in users}
        used = sum(float(row["%usr"]) + float(row["%guest"]) for row in rows) / 100
        assert found["user_s"].sum() == pytest.approx(used)
        assert found["run_delay_s"].sum() == pytest.approx(sum(float(row["%wait"]) for row in rows) / 100)
        assert found["page_faults_minor"].sum() == pytest.approx(
            sum(float(row["minflt/s"]) for row in rows), abs=len(users)
        )
        assert found["io_delay_s"].sum() == pytest.approx(sum(int(row["iodelay"]) for row in rows) / 100)
        commands = log.table("commands").collect().filter(start=start)
        assert commands["user_s"].sum() == pytest.approx(used)
        assert set(commands["command"]) == {row["Command"] for row in rows}
    assert column(log, "active_users") == [1] * done.intervals
    assert column(log, "user_s") == [None] * done.intervals
    assert ["of the first thread" in detail for kind, detail, _ in done.incidents].count(True) == 1


def test_pidstat_in_blocks_has_the_length_of_its_first_report(tmp_path):
    """Its head lines have the time before: three reports, one interval each."""
    done, log = imported("pidstat-blocks.txt", tmp_path)
    assert done.intervals == 3
    lines = rows_of("pidstat-blocks.txt", r"\d\d:")
    used, in_cpu_table = 0.0, False
    for words in lines:
        if words[-1] == "Command":
            in_cpu_table = "%usr" in words
        elif in_cpu_table:
            used += float(words[3]) / 100
    assert total(log, "user_s", "users") == pytest.approx(used)
    assert total(log, "page_faults_minor", "users") > 0


def test_pidstat_counts_processes_and_not_their_threads_again(tmp_path):
    _, log = imported("pidstat-threads.txt", tmp_path)
    lines = rows_of("pidstat-threads.txt", r"\d\d:")
    used, in_cpu_table = 0.0, False
    for words in lines:
        if words[-1] == "Command":
            in_cpu_table = "%usr" in words
        elif in_cpu_table and words[3] == "-":
            used += float(words[4]) / 100
    assert total(log, "user_s", "users") == pytest.approx(used)


def test_pidstat_with_names_of_users(tmp_path):
    _, log = imported("pidstat-epoch.txt", tmp_path)
    first = log.table("users").collect().row(0, named=True)
    assert (first["user"], first["name"], first["kind"]) == ("user:root", "root", "system")
    assert "timezone_unknown" not in {row["kind"] for row in log.manifest["incidents"]}


def test_texts_without_times_need_an_interval(tmp_path):
    for name, given in {"vmstat-w.txt": Given(cpus=2), "iostat-d.txt": Given()}.items():
        with pytest.raises(InputError, match=r"line \d+: reports have no times; .*--interval 1s"):
            import_file(TOOLS / name, tmp_path / "log", given=given)
        assert not (tmp_path / "log").exists()
    begin = datetime.datetime(2026, 11, 21, 8, 0, tzinfo=BERLIN)
    _, log = imported("iostat-d.txt", tmp_path, Given(interval=30.0, date=begin))
    assert column(log, "length_s") == [30.0, 30.0]
    assert [f"{start:%H:%M:%S}" for start in column(log, "start")] == ["07:00:00", "07:00:30"]


def test_two_runs_in_one_text(tmp_path):
    """The first report of each counts since the boot; without times the second run follows the first."""
    text = (TOOLS / "iostat-d.txt").read_text()
    done, log = imported(written(tmp_path, text + text), tmp_path, Given(interval=30.0))
    assert column(log, "length_s") == [30.0] * 4
    assert [start.second + 60 * start.minute for start in column(log, "start")] == [0, 30, 60, 90]
    earlier = (TOOLS / "iostat-x-t.txt").read_text()
    done, log = imported(written(tmp_path, earlier + earlier), tmp_path, force=True)
    assert done.intervals == 8
    assert "clock_step" in kinds(done)


def test_vmstat_needs_the_number_of_cpus(tmp_path):
    with pytest.raises(InputError, match="--cpus N"):
        import_file(TOOLS / "vmstat-t.txt", tmp_path / "log")


def test_another_unit_of_memory_is_noticed(tmp_path):
    done, log = imported("vmstat-a-m.txt", tmp_path)
    assert "unit_unknown" in kinds(done)
    assert column(log, "memory_free_bytes") == [None, None]
    assert None not in column(log, "context_switches")


VMSTAT = (
    "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----\n"
    " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st {zone}\n"
)
REPORT = " 1  0 0 999999 0 500000 {swap} 0 1 2 3 {cs} 10 5 85 0 0 {time}\n"


def vmstat(times, zone="UTC", swap=0, cs=7):
    return VMSTAT.format(zone=zone) + "".join(REPORT.format(time=time, swap=swap, cs=cs) for time in times)


def test_zones(tmp_path):
    times = ["2026-07-01 08:00:00", "2026-07-01 08:00:10"]
    done, log = imported(written(tmp_path, vmstat(times, zone="CEST")), tmp_path, Given(cpus=1))
    assert "timezone_unknown" in kinds(done)
    zone = datetime.timezone(datetime.timedelta(hours=2))
    done, log = imported(tmp_path / "text", tmp_path, Given(cpus=1, timezone=zone), force=True)
    assert "timezone_unknown" not in kinds(done)
    assert f"{column(log, 'start')[0]:%H:%M:%S}" == "06:00:00"
    # 10 s at 5 KiB a second, in pages of 4 KiB.
    _, log = imported(written(tmp_path, vmstat(times, swap=4)), tmp_path, Given(cpus=1), force=True)
    assert column(log, "swap_in_pages") == [10]
    assert column(log, "context_switches") == [70]


def test_a_clock_that_goes_back_and_a_second_run(tmp_path):
    times = [f"2026-07-01 08:{minute:02d}:00" for minute in (0, 1, 2)]
    back = ["2026-07-01 07:30:00", "2026-07-01 07:31:00"]
    done, log = imported(written(tmp_path, vmstat(times + back)), tmp_path, Given(cpus=1))
    assert done.intervals == 3
    assert "clock_step" in kinds(done)
    again = vmstat(times) + vmstat(["2026-07-01 09:30:00", "2026-07-01 09:31:00"], cs=99)
    done, log = imported(written(tmp_path, again), tmp_path, Given(cpus=1), force=True)
    # The report after the second head line counts since the boot, and not over the hour and a half.
    assert column(log, "context_switches") == [7 * 60, 7 * 60, 99 * 60]
    assert "interval_dropped" in kinds(done)


@pytest.mark.parametrize(("us", "gu"), [(10, 0), (30, 20), (10, 20)])
def test_guest_time_is_user_time_whether_it_stands_apart(us, gu, tmp_path):
    """Of 100 %: 30 of users and guests, or with guests apart 10 and 20."""
    idle = 100 - 5 - (us if us == 30 else us + gu)
    head = VMSTAT.format(zone="UTC").replace(" st ", " st  gu ")
    rows = "".join(
        f" 1 0 0 999999 0 500000 0 0 1 2 3 7 {us} 5 {idle} 0 0 {gu} 2026-07-01 08:00:0{second}\n"
        for second in (0, 1)
    )
    _, log = imported(written(tmp_path, head + rows), tmp_path, Given(cpus=1))
    assert column(log, "user_s") == pytest.approx([0.3 if gu else 0.1])


def test_damage_has_its_line(tmp_path):
    text = (TOOLS / "vmstat-t.txt").read_text().splitlines()
    text[3] = text[3][:60]
    done, log = imported(written(tmp_path, "\n".join(text)), tmp_path, Given(cpus=2))
    assert any(kind == "damaged_record" and "line 4" in detail for kind, detail, _ in done.incidents)
    # The next report holds since the damaged one, whose time is lost: of four intervals two are left.
    assert column(log, "length_s") == [1.0, 1.0]
    assert (
        "interval_dropped",
        "the report before it is damaged: its length is not known",
        1,
    ) in done.incidents


def test_a_report_whose_time_is_damaged_costs_the_next_one_too(tmp_path):
    text = (TOOLS / "iostat-x-t.txt").read_text()
    second = rows_of("iostat-x-t.txt", r"\d\d/")[1]
    done, log = imported(written(tmp_path, text.replace(" ".join(second), "?")), tmp_path)
    assert {"damaged_record", "interval_dropped"} <= kinds(done)
    assert column(log, "length_s") == [1.0, 1.0]


@pytest.mark.parametrize(
    ("line", "utc"),
    [
        ("11/21/26 08:00:00", "2026-11-21 08:00:00"),
        ("11/21/2026 08:00:00 PM", "2026-11-21 20:00:00"),
        ("11/21/2026 12:00:00 AM", "2026-11-21 00:00:00"),
        ("21/11/26 08:00:00", "2026-11-21 08:00:00"),
        ("21.11.2026 08:00:00", "2026-11-21 08:00:00"),
        ("2026-11-21T08:00:00+0100", "2026-11-21 07:00:00"),
        ("2026-11-21T08:00:00-02:30", "2026-11-21 10:30:00"),
    ],
)
def test_times_of_every_country(line, utc, tmp_path):
    cpu = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 10,00 0,00 5,00 0,00 0,00 85,00\n\n"
    later = line.replace(":00:00", ":00:10")
    path = written(tmp_path, f"{HEAD}\n{line}\n{cpu}{later}\n{cpu}")
    _, log = imported(path, tmp_path)
    assert str(column(log, "start")[0])[:19] == utc
    assert column(log, "user_s") == pytest.approx([0.1 * 10 * 4])


def test_times_of_day_pass_midnight(tmp_path):
    head = "# Time        UID       PID    %usr %system  %guest   %wait    %CPU   CPU  Command\n"
    rows = "".join(
        f"{head}{time} 1000 7 50.00 0.00 0.00 0.00 50.00 0 sh\n\n" for time in ("23:59:50", "00:00:00")
    )
    done, log = imported(written(tmp_path, f"{HEAD}\n{rows}"), tmp_path)
    assert column(log, "length_s") == [10.0]
    assert str(column(log, "start")[0])[:19] == "2026-11-21 23:59:50"
    assert column(log, "user_s", "users") == [5.0]
    assert "clock_step" not in kinds(done)


@pytest.mark.parametrize("name", sorted(GIVEN))
def test_nothing_is_lost_of_a_sound_file(name, tmp_path):
    done, _ = imported(name, tmp_path)
    assert not kinds(done) & {
        "damaged_record",
        "truncated",
        "clock_step",
        "counter_reset",
        "duplicate_series",
    }
    assert (
        Log.open(tmp_path / "log").manifest["sessions"][0]["source"]
        == done.kind
        == re.split("-", name)[0].replace("node", "prometheus")
    )
