"""The awkward things that happen to counters and clocks, each in a text made for it."""

import datetime
import itertools

import polars as pl
import pytest
from sar_text import FIXTURES, START_S, Text, cpu_line, header, import_sar, seconds, tasks

from thinktime.errors import InputError
from thinktime.log import Log, LogWriter
from thinktime.sources.importers.interval import whole_disks
from thinktime.sources.importers.parts import OPERATIONS, Parts
from thinktime.sources.importers.problems import Problems
from thinktime.sources.importers.sar.raw import RawText
from thinktime.sources.importers.sar.raw_lines import DamagedLineError, parse_line, parse_readings


def run(text, tmp_path, **options):
    done = import_sar(text.write(tmp_path / "text"), tmp_path / "log", **options)
    log = Log.open(tmp_path / "log")
    assert log.check() == []
    return done, log


def kinds(done):
    return {kind for kind, _, _ in done.incidents}


def column(log, name, table="samples"):
    return log.table(table).select(name).collect()[name].to_list()


def disk(before, after, name="sda", marker=""):
    """A_DISK line: operations, sectors and milliseconds all grow alike."""
    fields = ("tps", "rkB/s", "wkB/s", "dkB/s", "rd_ticks", "wr_ticks", "dc_ticks", "tot_ticks", "aqu-sz")
    return f"major; 8; minor; 0; DEV{marker}; {name}; " + " ".join(
        f"{field}; {before}; {after};" for field in fields
    )


def interface(name, before, after, marker=""):
    fields = ("rxpck/s", "txpck/s", "rxkB/s", "txkB/s")
    readings = " ".join(f"{field}; {before}; {after};" for field in fields)
    return f"IFACE{marker}; {name}; {readings} speed; 0; duplex; 0;"


def test_32_bit_disk_times_wrap(tmp_path):
    """A 32-bit counter at 2^32 - 500 that stands at 1 500 has grown by 2 000 ms."""
    readings = [2**32 - 2500, 2**32 - 500, 1500]
    text = Text().boot(
        seconds(3),
        {"disk": lambda k: [disk(5, 6).replace("; 5; 6;", f"; {readings[k - 1]}; {readings[k]};", 9)]},
    )
    # The counts of operations are 64 bits wide: they did not wrap, they were reset.
    done, log = run(text, tmp_path)
    assert column(log, "busy_s", "disks") == [2.0, 2.0]
    assert column(log, "operations", "disks") == [2000, None]
    assert {"counter_wrap", "counter_reset"} <= kinds(done)


def test_a_counter_that_went_back_is_null_and_counted(tmp_path):
    paging = lambda k: [f"pswpin/s; {100 * k}; {100 * k + 7 if k != 2 else 0}; pswpout/s; {k}; {k + 1};"]  # noqa: E731
    done, log = run(Text().boot(seconds(4), {"tasks": tasks([0, 5, 9, 12]), "swap": paging}), tmp_path)
    assert column(log, "swap_in_pages") == [7, None, 7]
    assert column(log, "swap_out_pages") == [1, 1, 1]
    assert ("counter_reset", "pswpin/s went back", 1) in done.incidents


def test_a_reboot_without_mark_and_headers_shows_in_the_counters(tmp_path):
    text = Text()
    readings = [900, 950, 20, 60]
    text.out = [
        f"{START_S + 600 * k}; proc/s; {a}; {b}; cswch/s; {10 * a}; {10 * b};"
        for k, (a, b) in enumerate(itertools.pairwise(readings))
    ]
    done, log = run(text, tmp_path)
    # Of three lines the first has no length, and the second goes back.
    assert column(log, "forks") == [40]
    assert "counter_reset" in kinds(done)
    assert (
        "interval_dropped",
        "CPU time or context switches went back: a reboot without a mark",
        1,
    ) in done.incidents


def test_idle_time_may_run_backwards(tmp_path):
    ticks = [{"%usr": 100 + 20 * k, "%idle": 5000 + 80 * k, "%iowait": 70 - 3 * (k == 2)} for k in range(4)]
    cpus = lambda k: [cpu_line(number, ticks[k - 1], ticks[k]) for number in (-1, 0)]  # noqa: E731
    done, log = run(Text().boot(seconds(4), {"cpu": cpus}), tmp_path)
    assert column(log, "iowait_s") == [0.0, 0.0, 0.03]
    assert ("counter_reset", "%iowait of CPU 0 ran backwards", 1) in done.incidents


def test_guest_time_counts_as_user_time(tmp_path):
    """sadf prints user less guest, modulo 2^64 where guest was read ahead of user."""
    before = {"%usr": 2**64 - 5, "%guest": 105, "%gnice": 7, "%nice": 0, "%idle": 1000}
    after = {"%usr": 10, "%guest": 140, "%gnice": 9, "%nice": 1, "%idle": 1047}
    cpus = lambda k: [cpu_line(-1, before, after)]  # noqa: E731
    _, log = run(Text().boot(seconds(2), {"cpu": cpus}), tmp_path)
    assert column(log, "user_s") == pytest.approx([(150 - 100) / 100])
    assert column(log, "nice_s") == pytest.approx([(10 - 7) / 100])


def test_states_without_irq_columns(tmp_path):
    """`sadf -r -- -u` shows six states; system time then includes interrupts."""
    line = "CPU; -1; %user; 100; 130; %nice; 0; 0; %system; 50; 70; %iowait; 5; 5; %idle; 900; 950;"
    _, log = run(Text().boot(seconds(2), {"cpu": lambda k: [line]}), tmp_path)
    assert column(log, "user_s") == [0.3]
    assert column(log, "system_s") == [0.2]
    assert column(log, "irq_s") == [None]


def test_a_cpu_that_was_offline_gives_no_row(tmp_path):
    on, more = {"%usr": 100, "%idle": 900}, {"%usr": 150, "%idle": 950}
    states = {0: ([on, more, more], "on"), 1: ([on, {}, more], "off for a while")}

    def cpus(k):
        return [cpu_line(number, readings[k - 1], readings[k]) for number, (readings, _) in states.items()]

    text = Text().boot(seconds(3), {"cpu": cpus, "tasks": tasks([0, 3, 5])})
    done, log = run(text, tmp_path)
    assert column(log, "cpu", "cpus") == [0, 0]
    assert "damaged_record" not in kinds(done)


def test_suspend_drops_the_interval(tmp_path):
    """Uptime goes on in a suspend, CPU time does not."""
    ticks = [{"%usr": 10 * k, "%idle": 90 * k} for k in range(1, 5)]
    cpus = lambda k: [cpu_line(number, ticks[k - 1], ticks[k]) for number in (-1, 0)]  # noqa: E731
    moments = seconds(2) + [(uptime + 360_000, wall + 3600) for uptime, wall in seconds(4)[2:]]
    done, log = run(Text().boot(moments, {"cpu": cpus}), tmp_path)
    assert column(log, "length_s") == [1.0, 1.0]
    assert "suspend" in kinds(done)


def test_a_clock_that_is_set_changes_starts_and_not_lengths(tmp_path):
    moments = [(100_000 + 1000 * k, START_S + 10 * k - (3600 if k > 2 else 0)) for k in range(5)]
    done, log = run(Text().boot(moments, {"tasks": tasks([0, 1, 2, 3, 4])}), tmp_path)
    assert column(log, "length_s") == [10.0] * 4
    starts = [start.timestamp() - START_S for start in column(log, "start")]
    assert starts == [0, 10, 20, 30 - 3600]
    assert [detail for kind, detail, _ in done.incidents if kind == "clock_step"] == [
        "the wall clock was set by -3600 s before 2023-11-14T21:13:50Z"
    ]


def test_truncated_seconds_of_the_wall_clock_are_no_step(tmp_path):
    """Records every 0.97 s: the truncated wall clock strays from the uptime by less than a second."""
    moments = [(100_000 + 97 * k, START_S + int(0.9 + 0.97 * k)) for k in range(300)]
    done, log = run(Text().boot(moments, {"tasks": tasks(list(range(300)))}), tmp_path)
    assert "clock_step" not in kinds(done)
    rows = log.samples().select(pl.col("start").dt.timestamp("us"), "length_s").collect().rows()
    for (start, length), (following, _) in itertools.pairwise(rows):
        assert start + round(length * 1e6) == following


def test_midnight_in_a_text_without_dates(tmp_path):
    text = Text()
    times = ("23:49:59", "23:59:59", "00:09:59", "00:19:59")
    text.out = [
        f"{time} UTC; proc/s; {5 * k}; {5 * k + 5}; cswch/s; {9 * k}; {9 * k + 9};"
        for k, time in enumerate(times)
    ]
    _, log = run(text, tmp_path, date=datetime.date(2026, 11, 20))
    assert column(log, "length_s") == [600.0] * 3
    assert column(log, "start")[0] == datetime.datetime(
        2026, 11, 20, 23, 49, 59, tzinfo=datetime.timezone.utc
    )
    assert column(log, "start")[-1] == datetime.datetime(2026, 11, 21, 0, 9, 59, tzinfo=datetime.timezone.utc)


def test_local_times_are_named(tmp_path):
    text = Text()
    text.out = [f"10:00:0{k}; proc/s; {5 * k}; {5 * k + 5}; cswch/s; {9 * k}; {9 * k + 9};" for k in range(3)]
    done, _ = run(text, tmp_path)
    assert "timezone_unknown" in kinds(done)


def test_several_days_in_one_text(tmp_path):
    """The texts of two files one after the other, activity by activity: no day is mixed with another."""
    text = Text()
    for day in range(2):
        moments = seconds(3, 100_000 + day * 8_640_000, START_S + day * 86_400)
        readings = [1000 * day + k for k in range(3)]
        text.boot(
            moments,
            {"tasks": tasks(readings), "cpu": lambda k: [cpu_line(-1, {"%usr": 9 * k}, {"%usr": 9 * k + 9})]},
        )
    done, log = run(text, tmp_path)
    # What came between the files is in neither: no interval, and no amount for it.
    assert log.samples().select("forks", "user_s", "length_s").collect().rows() == [(1, 0.09, 1.0)] * 4
    assert [kind for kind, _, _ in done.incidents] == ["interval_dropped"]


def test_several_days_in_one_text_without_headers(tmp_path):
    text = Text()
    for day in range(2):
        times = [START_S + 86_400 * day + 600 * k for k in range(3)]
        text.out += [f"{time}; pswpin/s; 0; 1; pswpout/s; 2; 4;" for time in times]
        text.out += [f"{time}; {tasks([0, 1, 2, 3])(k)[0]}" for k, time in enumerate(times, 1)]
    _, log = run(text, tmp_path)
    assert column(log, "length_s") == [600.0] * 4
    assert column(log, "forks") == [1] * 4


def test_partitions_and_stacked_disks_count_once(tmp_path):
    names = ("sda", "sda1", "sda2", "nvme0n1", "nvme0n1p1", "dm-0", "loop7")
    text = Text().boot(seconds(2), {"disk": lambda k: [disk(1000, 1100, name) for name in names]})
    _, log = run(text, tmp_path)
    assert sorted(column(log, "device", "disks")) == ["dm-0", "loop7", "nvme0n1", "sda"]
    assert column(log, "disk_busy_s") == pytest.approx([2 * 0.1])
    assert column(log, "disk_read_bytes") == [2 * 100 * 512]


@pytest.mark.parametrize(
    ("names", "whole"),
    [
        (["sda", "sda1", "sdb1"], {"sda", "sdb1"}),
        (["nvme0n1", "nvme0n1p2", "nvme1n1"], {"nvme0n1", "nvme1n1"}),
        (["md0", "md0p1", "md1"], {"md0", "md1"}),
        (["mmcblk0", "mmcblk0p1", "mmcblk0boot0"], {"mmcblk0", "mmcblk0boot0"}),
        (["dev8-0", "dev8-1"], {"dev8-0", "dev8-1"}),
        (["dm-1", "dm-10"], {"dm-1", "dm-10"}),
    ],
)
def test_which_disks_are_whole(names, whole):
    assert whole_disks(names) == whole


def test_hot_plugged_interface_counts_from_zero(tmp_path):
    """With debug marks sadf says [NEW], and prints zeros for the record before."""

    def lines(k):
        known = [interface("lo", 10 * k, 10 * k + 10), interface("eth0", 100 * k, 100 * k + 100)]
        return known + ([interface("veth1", 0, 42, " [NEW]")] if k == 2 else [])

    _, log = run(Text().boot(seconds(3), {"net": lines}), tmp_path)
    assert column(log, "net_packets_in") == [100, 142]
    assert column(log, "loopback_bytes") == [10, 10]
    assert column(log, "interface", "interfaces") == ["lo", "eth0", "lo", "eth0", "veth1"]


def test_markers_of_the_debug_mode_are_no_fields():
    line = parse_line(b"1700000000; CPU [TLS]; 1; %usr [DEC]; 20; 10; %idle; 1; 2;")
    assert line.activity == "cpu"
    readings = parse_readings(line)
    assert readings.item == "1"
    assert readings.counter("%usr") == (20, 10)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"1700000000; proc/s; 1; 2; cswch/s; 3; 4", "ends early"),
        (b"1700000000; proc/s; 1; 2; cswch/s; 3; 99999999999999999999;", "64 bits"),
        (b"1700000000; proc/s; 1; 2; cswch/s; 3; " + b"9" * 5000 + b";", "64 bits"),
        (b"1700000000; proc/s; 1; 2; proc/s; 3; 4;", "new field's name"),
        (b"1700000000; CPU; x; %usr; 1; 2;", "is not a number"),
        (b"1700000000; IFACE; ; rxpck/s; 1; 2;", "names no item"),
    ],
)
def test_damaged_lines_say_which_item(line, says):
    with pytest.raises(DamagedLineError, match=says):
        parse_readings(parse_line(line))


@pytest.mark.parametrize(
    "line", [b"25:00:00 UTC; proc/s; 1; 2;", b"yesterday; proc/s; 1; 2;", b"\xff\xfe; 1;"]
)
def test_a_line_needs_a_time(line):
    with pytest.raises(DamagedLineError):
        parse_line(line)


def test_one_damaged_line_costs_one_value(tmp_path):
    lines = (FIXTURES / "12.6.1-load.raw").read_text().splitlines()
    at = next(k for k, line in enumerate(lines) if "; proc/s; " in line)
    lines[at] = lines[at].replace("proc/s; ", "proc/s; minus ")
    path = tmp_path / "text"
    path.write_text("\n".join(lines) + "\n")
    done = import_sar(path, tmp_path / "log")
    whole = import_sar(FIXTURES / "12.6.1-load.raw", tmp_path / "whole")
    assert done.intervals == whole.intervals == 4
    assert column(Log.open(tmp_path / "log"), "forks")[0] is None
    a, b = (
        Log.open(tmp_path / name).samples().drop("forks", "context_switches").collect()
        for name in ("log", "whole")
    )
    assert a.equals(b)
    assert any(kind == "damaged_record" and f"line {at + 1}:" in detail for kind, detail, _ in done.incidents)


def test_comments_that_look_like_records_are_comments(tmp_path):
    text = Text().boot(seconds(3), {"tasks": tasks([0, 4, 8])})
    text.out.insert(4, f"{START_S + 1}; COM proc/s; 1; 2; cswch/s; 3; 4;")
    text.out.insert(4, header(0, START_S + 1, 4))
    _, log = run(text, tmp_path)
    assert column(log, "forks") == [4, 4]


def test_lengths_come_from_the_clock_never_from_the_interval_asked_for(tmp_path):
    moments = [(0, START_S), (150, START_S + 1), (60_150, START_S + 601)]
    _, log = run(Text().boot(moments, {"tasks": tasks([0, 1, 2])}), tmp_path)
    assert column(log, "length_s") == [1.5, 600.0]


def test_one_record_is_no_interval(tmp_path):
    text = Text().restart(START_S)
    with pytest.raises(InputError, match="two records of one boot"):
        import_sar(text.write(tmp_path / "text"), tmp_path / "log")
    assert not (tmp_path / "log").exists()


def test_many_intervals_come_in_parts_and_in_order(tmp_path):
    ticks = [{"%usr": 10 * k, "%idle": 90 * k + 1} for k in range(202)]
    sums = [{name: 2 * count for name, count in each.items()} for each in ticks]

    def cpus(k):
        """Both CPUs together, as the line of -1 has them, and each."""
        return [cpu_line(-1, sums[k - 1], sums[k])] + [cpu_line(n, ticks[k - 1], ticks[k]) for n in (0, 1)]

    text = Text().boot(seconds(201), {"cpu": cpus, "tasks": tasks(list(range(201)))})
    records = RawText(path=text.write(tmp_path / "text"), problems=Problems())
    parts = Parts(
        lambda start_us: LogWriter.open(tmp_path / "log", source="sar", start_us=start_us),
        {"disks": (OPERATIONS,)},
        rows_max=16,
        part_bytes_max=1,
    )
    for interval in records.intervals(records.index()):
        parts.add(interval)
    parts.flush()
    parts.writer.finish()
    log = Log.open(tmp_path / "log")
    assert log.check() == []
    assert parts.intervals == 200
    # Two rows of CPUs for each interval: eight intervals fill a part.
    assert len(list((tmp_path / "log" / "samples").glob("*.parquet"))) == 25
    starts = column(log, "start")
    assert starts == sorted(starts)
    assert log.cpus().collect().height == 400
    assert column(log, "forks") == [1] * 200


@pytest.mark.parametrize("name", ["12.6.1-load.raw", "12.6.1-load.json", "12.6.1-restart.plain"])
def test_byte_order_mark_and_carriage_returns_do_not_matter(name, tmp_path):
    data = (FIXTURES / name).read_bytes()
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    done, plain = import_sar(path, tmp_path / "log"), import_sar(FIXTURES / name, tmp_path / "plain")
    a, b = (Log.open(one.log).samples().collect() for one in (done, plain))
    assert a.equals(b)
    assert "damaged_record" not in kinds(done)


def test_incidents_stay_few_however_much_is_damaged(tmp_path):
    text = Text().boot(seconds(3), {"tasks": tasks([0, 4, 8])})
    text.out += [f"damage number {k}" for k in range(1000)]
    done, log = run(text, tmp_path)
    damaged = [count for kind, _, count in done.incidents if kind == "damaged_record"]
    assert len(damaged) == 21
    assert sum(damaged) == 1000
    assert sum(row["count"] for row in log.manifest["incidents"]) == 1000


def test_missing_records_are_seen_by_their_readings(tmp_path):
    """Each line has the reading before: where that is not the one of the record before, one is missing."""
    text = Text().boot(seconds(6), {"tasks": tasks([0, 4, 9, 15, 22, 30])})
    text.out = [line for line in text.out if f"{START_S + 3}" not in line]
    done, log = run(text, tmp_path)
    # Records 0, 1, 2, 4, 5: between 2 and 4 the length would be 2 s, the amount that of 1 s.
    assert column(log, "forks") == [4, 5, 8]
    assert column(log, "length_s") == [1.0] * 3
    assert [detail for kind, detail, _ in done.incidents if kind == "interval_dropped"] == [
        "records are missing before 2023-11-14T22:13:24Z"
    ]
