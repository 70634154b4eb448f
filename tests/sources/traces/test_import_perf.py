"""Files of perf become events: against perf's own reading, a plain second one, and by hand."""

import datetime
import lzma
import re
from pathlib import Path

import polars as pl
import pytest
from perf_file import CALLCHAIN, EXIT, FLAGS_BEFORE_4_14, NEW, PREEMPTED, SAMPLE_TYPE, PerfFile

from thinktime import reports
from thinktime.errors import InputError
from thinktime.log import Log, facts
from thinktime.sources.importers import Given, import_file

PERF = Path(__file__).parents[2] / "fixtures" / "perf"
US = 1000
A, B, IDLE = ("a", 101), ("b", 202), ("swapper/0", 0)


def imported(path, folder, given=None, **options):
    """Summary and log of an import; the log has no defect."""
    done = import_file(path, folder / "log", given=given, **options)
    log = Log.open(folder / "log")
    assert log.check() == []
    return done, log


def kinds(done):
    return {kind for kind, _, _ in done.incidents}


def unpacked(name):
    return lzma.decompress((PERF / f"{name}.xz").read_bytes())


@pytest.fixture(scope="module", params=["sched", "wakeup"])
def recorded(request, tmp_path_factory):
    """Events of a real file, and its name."""
    folder = tmp_path_factory.mktemp(request.param)
    path = folder / "perf.data"
    path.write_bytes(unpacked(f"{request.param}.data"))
    done, log = imported(path, folder)
    assert done.kind == "perf"
    return request.param, done, log, events_of(log)


def events_of(log):
    """Rows of events, with the time in microseconds."""
    return log.events().with_columns(pl.col("time").dt.epoch("us")).collect().to_dicts()


def made(folder, file, **options):
    path = folder / "perf.data"
    path.write_bytes(file if isinstance(file, bytes) else file.data)
    options.setdefault("given", Given(date=datetime.datetime(2026, 11, 27, tzinfo=datetime.timezone.utc)))
    done, log = imported(path, folder, options["given"])
    first = min(row["time"] for row in events_of(log))
    rows = [
        (row["time"] - first, row["kind"], row["task"], row["reason"], micro(row["amount"]))
        for row in events_of(log)
    ]
    return done, log, rows


def micro(amount):
    return None if amount is None else round(amount * 1e6, 3)


# Real files


def test_slices_and_waits_are_those_of_perf_sched_timehist(recorded):
    """Every switch of every task, to the microsecond that perf prints."""
    name, _, _, events = recorded
    ours, waits = {}, {}
    for row in events:
        if row["kind"] == "dispatch":
            waits[row["task"]] = row
        elif row["kind"] == "switch_out":
            ours.setdefault(row["task"], []).append((row["amount"], waits.pop(row["task"], None)))
    compared, seen = 0, {}
    for line in unpacked(f"{name}.timehist").decode().splitlines():
        found = re.match(
            r"\s*[\d.]+ \[\d+\]\s+.*?\[(\d+)(?:/\d+)?\]\s+([\d.]+)\s+([\d.]+)\s+([\d.]+)\s*$", line
        )
        if found is None or "<idle>" in line:
            continue
        task, (_, delay, run) = int(found[1]), (float(part) for part in found.groups()[1:])
        number = seen[task] = seen.get(task, -1) + 1
        slice_s, wait = ours[task][number]
        if slice_s is not None:
            assert slice_s * 1e3 == pytest.approx(run, abs=0.0011), line
            compared += 1
        if wait is not None and wait["amount"] is not None and wait["reason"] in ("woken", "started"):
            assert wait["amount"] * 1e3 == pytest.approx(delay, abs=0.0011), line
            compared += 1
    ended = re.findall(r"\[-1\S*\]", unpacked(f"{name}.timehist").decode())  # perf has lost their numbers.
    assert sum(map(len, ours.values())) == sum(seen.values()) + len(seen) + len(ended)
    assert compared > 300


def plainly(name):
    """Waits for a CPU by task, from the text of `perf script`: loops over lines, one state for each task."""
    wakes = "sched_wakeup:" if name == "wakeup" else "sched_waking:"
    ready, asleep, on, waits = {}, set(), set(), {}
    for line in unpacked(f"{name}.script").decode().splitlines():
        found = re.match(r".*?\s+(-?\d+) \[(\d+)\]\s+([\d.]+):\s+sched:(\w+:) (.*)$", line)
        time, event, text = round(float(found[3]) * 1e9), found[4], found[5]
        if event == "sched_switch:":
            gone, state, come = re.search(
                r"prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> next_comm=.* next_pid=(\d+)", text
            ).groups()
            on.discard(gone)
            ready.pop(gone, None)  # Its dispatch was not recorded.
            if state.startswith("R"):
                ready[gone] = time
            else:
                asleep.add(gone)
            if come in ready:
                waits.setdefault(int(come), []).append(time - ready.pop(come))
            asleep.discard(come)
            on.add(come)
        elif event in (wakes, "sched_wakeup_new:"):
            task = re.search(r" pid=(\d+) ", text)[1]
            if event == "sched_wakeup_new:" or (task not in ready and task not in on):
                ready[task] = time
                asleep.discard(task)
    waits.pop(0, None)
    return waits


def test_waits_for_a_cpu_are_those_of_a_plain_reading(recorded):
    """To the nanosecond that perf prints."""
    name, _, _, events = recorded
    ours = {}
    for row in events:
        if row["kind"] == "dispatch" and row["amount"] is not None:
            ours.setdefault(row["task"], []).append(round(row["amount"] * 1e9))
    expected = plainly(name)
    assert ours.keys() == expected.keys()
    for task, waits in expected.items():
        assert ours[task] == pytest.approx(waits, abs=1), task
    assert sum(map(len, expected.values())) > 200


def test_what_the_load_did_is_in_the_events(recorded):
    name, _, log, events = recorded
    by = {}
    for row in events:
        by.setdefault((row["command"], row["kind"]), []).append(row)
    for command in ("spin-a", "spin-b"):
        # It computes and is put off: it never waits for anything else.
        ends = {row["reason"] for row in by[command, "switch_out"]}
        assert "preempted" in ends
        assert sum(row["amount"] or 0.0 for row in by[command, "switch_out"]) > 0.01
    slept = [row["amount"] for row in by["sleeper", "wake_up"] if row["reason"] == "sleep" and row["amount"]]
    assert slept
    assert min(slept) >= 0.0099
    assert log.schema("events")[0].name == "time"
    assert all(row["user"] is None for row in events)
    has_ends = {"exec", "exit"} <= {row["kind"] for row in events}
    assert has_ends == (name == "wakeup")


def test_totals_of_the_intervals_are_those_of_the_events(recorded):
    """Of the slices, without those that the ends of the file cut off: at most one for each CPU and end."""
    _, _, log, events = recorded
    samples, commands = log.samples().collect(), log.table("commands").collect()
    slices = [row["amount"] or 0.0 for row in events if row["kind"] == "switch_out"]
    cut_off = samples["cpu_exact_s"].sum() - sum(slices)
    assert 0.0 <= cut_off <= 4 * max(slices)
    assert commands["cpu_exact_s"].sum() == pytest.approx(samples["cpu_exact_s"].sum(), abs=1e-9)
    waits = sum(row["amount"] or 0.0 for row in events if row["kind"] == "dispatch")
    assert commands["run_delay_s"].sum() == pytest.approx(waits, abs=1e-9)
    assert (samples["cpu_exact_s"] <= 2 * samples["length_s"] + 1e-9).all()
    assert len(samples) > 10


def test_a_slice_over_the_end_of_an_interval_counts_in_both(tmp_path):
    """Intervals of a millisecond: a has 1.6 ms from 0.2 ms on, b the rest until 2.5 ms."""
    file = PerfFile()
    file.switch(0 * US + 1, 0, B, 1, IDLE).switch(200 * US + 1, 0, IDLE, 0, A)
    file.switch(1800 * US + 1, 0, A, PREEMPTED, B).switch(2500 * US + 1, 0, B, 1, IDLE)
    given = Given(date=datetime.datetime(2026, 11, 27, tzinfo=datetime.timezone.utc), interval=0.001)
    _, log, _ = made(tmp_path, file, given=given)
    assert log.samples().collect()["cpu_exact_s"].to_list() == pytest.approx([0.8e-3, 1e-3, 0.5e-3])
    used = {}
    for row in log.table("commands").collect().to_dicts():
        used.setdefault(row["command"], []).append(row["cpu_exact_s"])
    assert used["a"] == pytest.approx([0.8e-3, 0.8e-3])
    assert used["b"] == pytest.approx([0.2e-3, 0.5e-3])


def test_the_time_of_day_is_that_of_the_clock_of_the_file(tmp_path):
    """With a clock of its own the file has the time of day; without, its last change stands for the end."""
    path = tmp_path / "perf.data"
    path.write_bytes(unpacked("wakeup.data"))
    done, log = imported(path, tmp_path)
    assert "time_from_file" not in kinds(done)
    year = log.events().select(pl.col("time").dt.year().min()).collect().item()
    assert year == 2026
    assert facts.last_machine(log).number("cpus") == 2
    path.write_bytes(unpacked("sched.data"))
    again, other = imported(path, tmp_path, force=True)
    assert "time_from_file" in kinds(again)
    last = other.events().select(pl.col("time").dt.epoch("us").max()).collect().item()
    assert abs(last / 1e6 - path.stat().st_mtime) < 1e-3


def test_one_cpu_of_two_in_a_pipe(tmp_path):
    path = tmp_path / "perf.data"
    path.write_bytes(unpacked("pipe.data"))
    done, log = imported(path, tmp_path)
    assert "partial_cpus" in kinds(done)
    assert facts.last_machine(log).number("cpus") == 1
    on = log.events().filter(pl.col("kind").cast(pl.String) == "dispatch").collect()["cpu"]
    assert set(on) == {1}


# By hand


def hand(order="<", **options):
    """a is put off by b at 30 us, b sleeps at 50; a wakes b at 60 and sleeps at 90, when b comes."""
    file = PerfFile(order, **options)
    file.comm(101, 101, "a").comm(202, 202, "b")
    file.switch(10 * US, 0, IDLE, 0, A)
    file.wake(20 * US, 0, B)
    file.switch(30 * US, 0, A, PREEMPTED, B)
    file.switch(50 * US, 0, B, 1, A)
    file.wake(60 * US, 0, B)
    file.switch(90 * US, 0, A, 2, B)
    return file


BY_HAND = [
    (0, "dispatch", 101, None, None),
    (10, "wake_up", 202, None, None),
    (20, "switch_out", 101, "preempted", 20.0),
    (20, "dispatch", 202, "woken", 10.0),
    (40, "switch_out", 202, "sleep", 20.0),
    (40, "dispatch", 101, "preempted", 20.0),
    (50, "wake_up", 202, "sleep", 10.0),
    (80, "switch_out", 101, "uninterruptible", 40.0),
    (80, "dispatch", 202, "woken", 30.0),
]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("sample_type", [SAMPLE_TYPE, SAMPLE_TYPE | 1, SAMPLE_TYPE | 1 << 8])
def test_a_trace_that_can_be_followed_by_hand(tmp_path, order, sample_type):
    """Either byte order; where the samples lack what the file announces, it is damage, and no rows."""
    if sample_type != SAMPLE_TYPE:
        with pytest.raises(InputError, match="perf sched record"):
            made(tmp_path, hand(order, sample_type=sample_type))
        return
    done, log, rows = made(tmp_path, hand(order))
    assert rows == BY_HAND
    assert kinds(done) == set()
    samples = log.samples().collect()
    assert samples["cpu_exact_s"].to_list() == pytest.approx([80e-6])
    assert samples["context_switches"].to_list() == [4]
    used = {row["command"]: row for row in log.table("commands").collect().to_dicts()}
    assert used["a"]["cpu_exact_s"] == pytest.approx(60e-6)
    assert used["b"]["run_delay_s"] == pytest.approx(40e-6)


def test_stacks_lie_before_the_fields(tmp_path):
    file = PerfFile(sample_type=SAMPLE_TYPE | CALLCHAIN)
    file.switch(10 * US, 0, IDLE, 0, A, stack=(1, 2, 3))
    file.switch(30 * US, 0, A, 1, IDLE, stack=range(40))
    assert made(tmp_path, file)[2] == [
        (0, "dispatch", 101, None, None),
        (20, "switch_out", 101, "sleep", 20.0),
    ]


def test_events_of_two_cpus_are_put_in_order(tmp_path):
    """perf writes one CPU after the other; a round's end says what is complete."""
    file = PerfFile()
    file.switch(10 * US, 0, IDLE, 0, A).switch(40 * US, 0, A, 1, IDLE)
    file.wake(20 * US, 1, B).switch(30 * US, 1, IDLE, 0, B).round()
    # The second CPU was read before 50; what it did at 45 comes a round later.
    file.switch(60 * US, 0, IDLE, 0, A).switch(45 * US, 1, B, 1, IDLE).round()
    file.switch(70 * US, 0, A, 1, IDLE)
    done, _, rows = made(tmp_path, file)
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert (35, "switch_out", 202, "sleep", 15.0) in rows
    assert kinds(done) == {"wake_up_unseen"}


def test_no_wait_spans_a_gap_of_lost_events(tmp_path):
    file = PerfFile()
    file.switch(10 * US, 0, IDLE, 0, A).switch(20 * US, 0, A, 1, IDLE)
    file.lost(30 * US, 7)
    file.wake(40 * US, 0, A).switch(50 * US, 0, IDLE, 0, A)
    done, log, rows = made(tmp_path, file)
    assert ("wake_up", None, None) in {(row[1], row[3], row[4]) for row in rows}
    assert {kind: count for kind, _, count in done.incidents} == {"trace_events_lost": 7}
    # The totals of an interval with a gap would be too small.
    assert log.samples().collect()["cpu_exact_s"].to_list() == [None]
    assert not log.has("commands")


def test_tasks_begin_and_end(tmp_path):
    """A thread has the name of its process, and the kernel's threads lose their numbers."""
    file = PerfFile()
    file.comm(101, 101, "a").started(7, 7, 2).comm(7, 7, "kworker/0:1-events")
    file.switch(10 * US, 0, IDLE, 0, A)
    file.started(303, 303, 101).fork(20 * US, 0, A, ("child", 303)).named(NEW, 21 * US, 0, ("child", 303))
    file.started(304, 101, 101).fork(22 * US, 0, A, ("worker", 304)).named(NEW, 23 * US, 0, ("worker", 304))
    file.switch(30 * US, 0, A, 1, ("child", 303))
    file.named(EXIT, 35 * US, 0, ("child", 303), process=303, task=303)
    file.switch(40 * US, 0, ("child", 303), 0x20, ("worker", 304))
    file.switch(50 * US, 0, ("worker", 304), 1, ("kworker/0:1", 7), process=101)
    file.switch(60 * US, 0, ("kworker/0:1", 7), 0x80, IDLE)
    _, log, rows = made(tmp_path, file)
    assert (20, "dispatch", 303, "started", 9.0) in rows
    assert (25, "exit", 303, None, 15.0) in rows
    assert (30, "switch_out", 303, "exit", 10.0) in rows
    # Idle, not waiting for a disk.
    assert (50, "switch_out", 7, "sleep", 10.0) in rows
    named = {row["task"]: (row["process"], row["command"]) for row in events_of(log)}
    assert named[303][0] == 303
    assert named[304] == (101, "a")  # Of its process, whatever the thread calls itself.
    assert named[7] == (7, "kworker")


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (0, "preempted"),
        (2048, "preempted"),
        (130, "uninterruptible"),
        (1026, "sleep"),
        (64, "exit"),
        (4, "stopped"),
    ],
)
def test_states_are_those_that_the_kernel_of_the_file_describes(tmp_path, state, reason):
    """Before Linux 4.14 bit 64 is the end of a task, and 128 a wait that a signal may end."""
    file = PerfFile(flags=FLAGS_BEFORE_4_14)
    file.switch(10 * US, 0, IDLE, 0, A).switch(30 * US, 0, A, state, IDLE)
    assert made(tmp_path, file)[2][1] == (20, "switch_out", 101, reason, 20.0)


def test_the_date_is_that_of_the_first_event(tmp_path):
    given = Given(date=datetime.datetime(2026, 11, 21, 8, 0, 1), timezone=datetime.timezone.utc)
    _, log, _ = made(tmp_path, hand(), given=given)
    first = log.events().select(pl.col("time").min()).collect().item()
    assert first == datetime.datetime(2026, 11, 21, 8, 0, 1, tzinfo=datetime.timezone.utc)


def test_the_wall_clock_of_the_file(tmp_path):
    """At 5 s of its clock it was 1,790,000,000 s; the first event is 10 us after its clock began."""
    file = hand(clock=1)
    file.features[29] = file.pack("IIQQ", 1, 1, 1_790_000_000 * 10**9, 5 * 10**9)
    (tmp_path / "perf.data").write_bytes(file.data)
    done, log = imported(tmp_path / "perf.data", tmp_path)
    assert kinds(done) == set()
    first = log.events().select(pl.col("time").dt.epoch("us").min()).collect().item()
    assert first == 1_789_999_995_000_010


# Damage


def test_damage_is_located_and_costs_what_it_covers(tmp_path):
    file = hand()
    for number in range(20):
        file.switch((100 + 2 * number) * US, 0, B if number % 2 == 0 else A, 1, A if number % 2 == 0 else B)
    place = file.place(5)
    data = bytearray(file.data)
    data[place + 4 : place + 8] = b"\xff\xff\x03\x00"
    done, _, rows = made(tmp_path, bytes(data))
    (detail,) = (detail for kind, detail, _ in done.incidents if kind == "damaged_record")
    assert f"byte {place}: " in detail
    assert len(rows) > 30


def test_a_time_that_cannot_be_is_left_out(tmp_path):
    file = hand()
    place = file.place(4)
    data = bytearray(file.data)
    data[place + 24 : place + 32] = b"\x7f" * 8
    done, _, rows = made(tmp_path, bytes(data))
    assert any(f"byte {place}: a sample with an impossible time" in detail for _, detail, _ in done.incidents)
    assert all(row[0] < 1000 for row in rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-2000], "copy it again"),
        (lambda data: data[:48] + bytes(8) + data[56:], "end it with Ctrl-C"),
        (lambda data: b"PERFFILE" + data[8:], "later one"),
        (lambda data: data[:60], "ends within its head"),
        (lambda data: data[:16] + bytes(8) + data[24:], "list of its events"),
        (
            lambda data: data.replace(b"\x17\x08\x44tracing", b"\x17\x08\x44tracinG"),
            "description of its tracepoints",
        ),
        (lambda data: data.replace(b"name: sched_switch", b"name: sched_other_"), "perf sched record"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, change, message):
    path = tmp_path / "perf.data"
    path.write_bytes(change(hand().data))
    with pytest.raises(InputError, match=message) as refused:
        import_file(path, tmp_path / "log")
    assert str(path) in str(refused.value)
    assert not (tmp_path / "log").exists()


def test_compressed_records_are_refused(tmp_path):
    file = hand().record(81, b"\x28\xb5\x2f\xfd" + bytes(20))
    path = tmp_path / "perf.data"
    path.write_bytes(file.data)
    with pytest.raises(InputError, match=f"byte {file.place(-1)}: its records are compressed.*without -z"):
        import_file(path, tmp_path / "log")


def test_the_report_of_a_trace_begins_with_what_it_shows(recorded):
    _, _, log, _ = recorded
    document = reports.build([log])
    first, second, third, *_ = document.findings
    assert {first.section, second.section, third.section} == {"scheduling"}
    assert "waited" in first.text
    assert "tasks ran on 2" in second.text
    assert "of the waiting for a CPU" in third.text
