"""Archives of Performance Co-Pilot become samples, users and commands; held to what pmdumplog prints."""

import shutil

import polars as pl
import pytest
from pcp_archive import (
    BYTES,
    COUNT,
    COUNTER,
    INSTANT,
    KILOBYTES,
    MILLISECONDS,
    NANOSECONDS,
    NO_DOMAIN,
    NONE,
    U32,
    U64,
    described,
    fetched,
    mark,
    named,
    printed,
    unpacked,
    written,
)
from tool_files import column, imported, kinds, total

import thinktime
from thinktime.cli import run
from thinktime.errors import InputError
from thinktime.sources.importers import Given
from thinktime.stats.estimate import NotApplicable

BEGIN = 1_795_500_000
CPU, SWITCHES, FREE, GROUP, GROUP_MEMORY, BUSY = range(1, 7)
GROUPS, DISKS = 100, 101
METADATA = [
    described(CPU, "kernel.all.cpu.user", U64, NO_DOMAIN, COUNTER, MILLISECONDS),
    described(SWITCHES, "kernel.all.pswitch", U64, NO_DOMAIN, COUNTER, COUNT),
    described(FREE, "mem.util.free", U64, NO_DOMAIN, INSTANT, KILOBYTES),
    described(GROUP, "cgroup.cpuacct.usage", U64, GROUPS, COUNTER, NANOSECONDS),
    described(GROUP_MEMORY, "cgroup.memory.usage", U64, GROUPS, INSTANT, BYTES),
    described(BUSY, "disk.dev.avactive", U32, DISKS, COUNTER, MILLISECONDS),
    named(BEGIN, GROUPS, {0: "/", 1: "/system.slice/cron.service"}),
    named(BEGIN, DISKS, {0: "sda"}),
]


def fetch(at, cpu_ms=0, **others):
    values = {CPU: {-1: cpu_ms}, SWITCHES: {-1: 10 * at}, FREE: {-1: 1000 + at}}
    return fetched(BEGIN + at, {**values, **others.get("values", {})})


def made(tmp_path, *fetches, metadata=METADATA):
    return imported(written(tmp_path, metadata, fetches, BEGIN), tmp_path, Given())


@pytest.mark.parametrize("ending", ["meta", "0"])
def test_an_archive_has_the_differences_of_what_pmdumplog_prints(tmp_path, ending):
    meta = unpacked(tmp_path)
    done, log = imported(meta.with_suffix(f".{ending}"), tmp_path, Given())
    assert (done.kind, done.incidents) == ("pcp", ())
    values = printed()

    def grown(metric, inst=-1):
        return values[metric, inst][-1] - values[metric, inst][0]

    assert done.intervals == len(values["kernel.all.cpu.user", -1]) - 1
    # Each CPU's clock is read by itself: the total of the machine is the sum of what they have.
    assert total(log, "user_s") == pytest.approx(grown("kernel.all.cpu.user") / 1e3, abs=0.02)
    assert total(log, "context_switches") == grown("kernel.all.pswitch")
    disks = log.table("disks").filter(pl.col("device") == "vda").collect()
    assert disks["reads"].sum() == grown("disk.dev.read", 0)
    assert disks["write_bytes"].sum() == 1024 * grown("disk.dev.write_bytes", 0)
    assert disks["busy_s"].sum() == pytest.approx(grown("disk.dev.avactive", 0) / 1e3)
    assert total(log, "disk_reads") == disks["reads"].sum()
    for cpu in range(2):
        rows = log.table("cpus").filter(pl.col("cpu") == cpu).collect()
        assert rows["idle_s"].sum() == pytest.approx(grown("kernel.percpu.cpu.idle", cpu) / 1e3)
    available = [1024 * int(value) for value in values["mem.util.available", -1]]
    assert column(log, "memory_available_bytes") == available[1:]
    assert column(log, "load_1m") == pytest.approx(values["kernel.all.load", 1][1:], rel=1e-6)
    for name, inst in (("lo", 0), ("eth0", 3)):
        rows = log.table("interfaces").filter(pl.col("interface") == name).collect()
        assert rows["bytes_in"].sum() == grown("network.interface.in.bytes", inst)
    machine = log.manifest["sessions"][0]["machine"]
    assert machine["cpus"] == 2
    assert machine["hostname"] == "example"


def test_users_have_the_cpu_time_of_their_processes(tmp_path):
    _, log = imported(unpacked(tmp_path), tmp_path, Given())
    values = printed()
    uids = {inst: int(seen[0]) for (metric, inst), seen in values.items() if metric == "proc.id.uid"}
    # Of the processes that lasted, which are those whose numbers were in every fetch.
    lasting = {
        inst: seen[-1] - seen[0]
        for (metric, inst), seen in values.items()
        if metric == "proc.psinfo.utime" and len(seen) == len(values["kernel.all.cpu.user", -1])
    }
    used = dict(log.table("users").group_by("user").agg(pl.col("user_s").sum()).collect().iter_rows())
    for uid in (3001, 3002):
        at_least = sum(grown for inst, grown in lasting.items() if uids[inst] == uid) / 1e3
        assert 0 < at_least <= used[f"uid:{uid}"] + 1e-9
        assert used[f"uid:{uid}"] < at_least + 0.5
    commands = log.table("commands").filter(pl.col("user") == "uid:3001").collect()
    assert commands["user_s"].sum() == pytest.approx(used["uid:3001"])
    assert "work" in set(commands["command"])
    assert max(column(log, "active_users")) <= len(used)


def test_version_3_of_the_format_says_the_same(tmp_path):
    logs = []
    for name in ("load", "load-3"):
        (tmp_path / name).mkdir()
        logs.append(imported(unpacked(tmp_path / name, name), tmp_path / name, Given())[1])
    one, other = logs
    assert one.tables == other.tables
    for table in one.tables:
        assert one.table(table).collect().equals(other.table(table).collect()), table


def test_units_and_meaning_are_those_of_the_metadata(tmp_path):
    done, log = made(tmp_path, fetch(0, 100), fetch(10, 2100), fetch(20, 2600))
    assert done.incidents == ()
    assert column(log, "user_s") == pytest.approx([2.0, 0.5])
    assert column(log, "context_switches") == [100, 100]
    assert column(log, "memory_free_bytes") == [1024 * 1010, 1024 * 1020]
    other = [described(CPU, "kernel.all.cpu.user", U64, NO_DOMAIN, COUNTER, MILLISECONDS)]
    other += [described(SWITCHES, "kernel.all.pswitch", U64, NO_DOMAIN, INSTANT, NONE)]
    other += [described(FREE, "mem.util.free", U64, NO_DOMAIN, INSTANT, MILLISECONDS)]
    (tmp_path / "other").mkdir()
    done, log = made(tmp_path / "other", fetch(0, 100), fetch(10, 2100), metadata=other)
    assert kinds(done) == {"unit_unknown"}
    assert column(log, "context_switches") == [None]
    assert column(log, "memory_free_bytes") == [None]


def test_control_groups_by_their_paths(tmp_path):
    fetches = [
        fetch(at, at, values={GROUP: {0: at * 10**9, 1: at * 10**8}, GROUP_MEMORY: {0: 7, 1: 4096 + at}})
        for at in (0, 10, 20)
    ]
    _, log = made(tmp_path, *fetches)
    rows = log.table("groups").select("group", "name", "kind", "cpu_s", "memory_bytes").collect().rows()
    assert ("/system.slice/cron.service", "cron.service", "service", pytest.approx(1.0), 4106) in rows
    assert ("/", "/", "group", pytest.approx(10.0), 7) in rows


def test_counters_of_32_bits_begin_again(tmp_path):
    readings = [(0, 2**32 - 500), (10, 1500)]
    done, log = made(tmp_path, *(fetch(at, at, values={BUSY: {0: value}}) for at, value in readings))
    assert kinds(done) == {"counter_wrap"}
    assert column(log, "busy_s", "disks") == pytest.approx([2.0])


def test_an_interruption_and_a_boot_are_gaps(tmp_path):
    done, log = made(
        tmp_path, fetch(0, 0), fetch(10, 1000), mark(BEGIN + 11), fetch(30, 5000), fetch(40, 6000)
    )
    assert kinds(done) == {"interval_dropped"}
    assert column(log, "user_s") == pytest.approx([1.0, 1.0])
    (tmp_path / "boot").mkdir()
    done, log = made(tmp_path / "boot", fetch(0, 9000), fetch(10, 9500), fetch(20, 100), fetch(30, 300))
    assert kinds(done) == {"reboot"}
    assert column(log, "user_s") == pytest.approx([0.5, 0.2])


def test_groups_of_metrics_that_are_fetched_one_after_the_other_are_one_reading(tmp_path):
    fetches = []
    for at in (0, 10, 20):
        fetches.append(fetched(BEGIN + at, {CPU: {-1: 100 * at}}))
        fetches.append(fetched(BEGIN + at + 0.02, {SWITCHES: {-1: 7 * at}}))
    done, log = made(tmp_path, *fetches)
    assert done.incidents == ()
    assert column(log, "user_s") == pytest.approx([1.0, 1.0])
    assert column(log, "context_switches") == [70, 70]


def test_what_is_logged_less_often_is_null_between(tmp_path):
    fetches = [
        fetched(BEGIN + at, {CPU: {-1: at}} | ({SWITCHES: {-1: at}} if at % 20 == 0 else {}))
        for at in range(0, 50, 10)
    ]
    _, log = made(tmp_path, *fetches)
    assert column(log, "context_switches") == [None] * 4


def test_several_volumes_are_one_archive(tmp_path):
    meta = written(tmp_path, METADATA, [fetch(0, 0), fetch(10, 1000)], BEGIN)
    other = written(tmp_path, METADATA, [fetch(20, 3000)], BEGIN, name="second")
    shutil.move(other.with_suffix(".0"), tmp_path / "made.1")
    _, log = imported(meta, tmp_path, Given())
    assert column(log, "user_s") == pytest.approx([1.0, 2.0])
    shutil.move(tmp_path / "made.1", tmp_path / "made.2")
    done, _ = imported(meta, tmp_path, Given(), force=True)
    assert any("made.1 is missing" in detail for kind, detail, _ in done.incidents if kind == "truncated")


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        (lambda data: data[:-10], "truncated", "made.0, byte"),
        (
            lambda data: data[:132] + b"\xff" * 50 + data[132:],
            "damaged_record",
            "byte 132: 50 bytes are no record",
        ),
        (lambda data: data[:140] + b"\xff\xff" + data[142:], None, None),
    ],
)
def test_damage_of_values_costs_what_is_damaged(tmp_path, change, kind, says):
    meta = written(tmp_path, METADATA, [fetch(at, 100 * at) for at in range(0, 60, 10)], BEGIN)
    volume = meta.with_suffix(".0")
    volume.write_bytes(change(volume.read_bytes()))
    done, log = imported(meta, tmp_path, Given())
    assert done.intervals >= 3
    if kind is not None:
        assert kinds(done) == {kind}
        assert says in next(detail for _, detail, _ in done.incidents)
        assert column(log, "user_s")[-1] == pytest.approx(1.0)


def test_damage_of_names_costs_their_metrics(tmp_path):
    metadata = [METADATA[0], b"\xff" * 40, *METADATA[1:]]
    done, log = made(tmp_path, fetch(0, 0), fetch(10, 1000), metadata=metadata)
    assert kinds(done) == {"damaged_record"}
    assert column(log, "context_switches") == [100]


def test_what_is_missing_or_of_another_version_is_said_with_the_remedy(tmp_path):
    meta = unpacked(tmp_path)
    volume = meta.with_suffix(".0")
    meta.rename(tmp_path / "kept")
    (tmp_path / "load.meta.xz").touch()
    with pytest.raises(InputError, match=r"load\.meta: is missing.*xz -dk"):
        imported(volume, tmp_path, Given())
    (tmp_path / "kept").rename(meta)
    volume.unlink()
    with pytest.raises(InputError, match=r"load\.0: is missing"):
        imported(meta, tmp_path, Given())
    unpacked(tmp_path)
    data = bytearray(volume.read_bytes())
    data[7] = 9
    volume.write_bytes(data)
    with pytest.raises(InputError, match=r"load\.0: is an archive of version 9; .*pmlogextract"):
        imported(meta, tmp_path, Given())
    shutil.copy(meta, tmp_path / "renamed")
    with pytest.raises(InputError, match="name it so, beside the others"):
        imported(tmp_path / "renamed", tmp_path, Given())
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match=r"has no CPU time of the machine; log kernel\.all\.cpu"):
        made(tmp_path / "other", fetched(BEGIN, {SWITCHES: {-1: 1}}), metadata=METADATA[1:])


def test_damage_of_the_metadata_is_the_reason(tmp_path):
    meta = unpacked(tmp_path)
    meta.write_bytes(meta.read_bytes()[:200])
    with pytest.raises(
        InputError, match=r"no CPU time of the machine; it is damaged: load\.meta, byte \d+: "
    ):
        imported(meta, tmp_path, Given())


def test_the_questions_that_apply_are_answered(tmp_path, capsys):
    _, log = imported(unpacked(tmp_path), tmp_path, Given())
    capacity = thinktime.analyse("capacity", log)
    length_s = total(log, "length_s")
    idle = (total(log, "idle_s") + total(log, "iowait_s")) / (2 * length_s)
    assert capacity.user.value + capacity.system.value == pytest.approx(1 - idle, abs=0.02)
    users = thinktime.analyse("users", log)
    assert {"uid:3001", "uid:3002"} <= {user.user for user in users.users}
    assert thinktime.analyse("timeline", log).measured("active_users")
    assert not isinstance(thinktime.analyse("disks", log), NotApplicable)
    assert isinstance(thinktime.analyse("arrivals", log), NotApplicable)
    for words in (["report"], ["analyse", "saturation"], ["analyse", "overhead"], ["check"]):
        assert run([*words, str(tmp_path / "log")]) == 0, words
    (tmp_path / "other").mkdir()
    made(tmp_path / "other", *(fetch(at, 500 * at + 9 * (at % 3)) for at in range(30)))
    assert run(["analyse", "compare", str(tmp_path / "log"), str(tmp_path / "other" / "log")]) == 0
    assert capsys.readouterr().err == ""
