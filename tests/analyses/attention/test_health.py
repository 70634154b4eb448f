"""What needs attention is found where it is by construction, and nowhere else."""

import numpy as np
import polars as pl
import pytest
from health_logs import CPUS, GROUPS, INTERVALS, KINDS, MEMORY, group_of_none, healthy, write
from known_logs import frame

from thinktime import reports
from thinktime.analyses.health.analysis import CHECKS, analyse
from thinktime.analyses.health.section import LABELS, section
from thinktime.analyses.health.words import FINDINGS, sentence, step
from thinktime.documents.document import Document
from thinktime.documents.render import render
from thinktime.log import Column, Log, LogWriter

SEEDS = 15
"""Logs of each kind in which nothing may be found. None of 60 means at most 4.9 % of such logs, with 95 %."""


def plain(text):
    """Text with the spaces at which no line may break as ordinary ones."""
    return text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")


def kinds(result):
    return {check.kind for check in result.found}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_found_on_a_machine_that_is_well(kind, tmp_path):
    for seed in range(SEEDS):
        result = analyse(write(tmp_path / str(seed), healthy(kind, seed)))
        assert kinds(result) == set(), (seed, [sentence(check) for check in result.found])


def contended(tables, seconds=slice(100, 200)):
    """In this stretch, one user has 1.8 of the CPUs, and another waits 4 s for each that he runs."""
    samples, users = tables["samples"], tables["users"]
    for columns in users.values():
        for values in columns.values():
            values[seconds] = 0.0
    users["alice"] = {"cpu_exact_s": np.zeros(INTERVALS), "run_delay_s": np.zeros(INTERVALS)}
    users["alice"]["cpu_exact_s"][seconds] = 1.8
    users["alice"]["run_delay_s"][seconds] = 0.9
    users["uid:1000"]["cpu_exact_s"][seconds] = 0.2
    users["uid:1000"]["run_delay_s"][seconds] = 3.66
    samples["idle_s"][seconds] = 0.0
    samples["user_s"][seconds] = 2.0
    samples["system_s"][seconds] = 0.0


def test_an_idle_night_is_no_idle_cpu_beside_those_who_wait(tmp_path):
    tables = healthy("idle", 1)
    contended(tables)
    # Nearly all of the record is idle, but not the part of it in which users waited.
    (waits,) = [check for check in analyse(write(tmp_path, tables)).found if check.kind == "cpu_wait"]
    assert "idle" not in sentence(waits)
    assert waits.values["idle"] < 0.1


def niced(tables):
    samples = tables["samples"]
    samples["nice_s"] = samples["idle_s"].copy()
    samples["idle_s"] = np.zeros(INTERVALS)


def niced_much(tables):
    niced(tables)
    tables["samples"]["low_priority_s"] = tables["samples"]["nice_s"]


def of_samples(name, values):
    return lambda tables: tables["samples"].update({name: values})


def shrunk(tables):
    noise = np.random.default_rng(3).normal(0, 1e7, INTERVALS)
    tables["samples"]["memory_available_bytes"] = np.linspace(0.8, 0.3, INTERVALS) * MEMORY + noise


def slow_disk(tables):
    disk = tables["disks"]["sda"]
    disk["read_wait_s"] = disk["reads"] * 0.045


def lost_packets(tables):
    tables["interfaces"]["eth0"]["errors"] = np.full(INTERVALS, 3.0)


def full_link(tables):
    rate = tables["interfaces"]["eth0"]["bytes_in"]
    tables["interfaces"]["eth0"]["bytes_in"] = np.where(np.arange(INTERVALS) % 2, 1.17e8, rate)


def group(**columns):
    none = dict.fromkeys(("throttled_s", "throttled_periods", "periods", "memory_oom_kills"), 0.0)
    made = {name: np.full(INTERVALS, value) for name, value in {**none, **columns}.items()}
    return lambda tables: tables.update({"groups": {"/lab.slice": made, "/system.slice": group_of_none()}})


def inherited(tables):
    tables["users"]["uid:0"]["inherited_s"] = np.full(INTERVALS, 0.3)
    tables["users"]["uid:0"]["cpu_exact_s"] = np.full(INTERVALS, 0.35)


def with_a_gap(tables):
    begun = tables["samples"]["start"].to_physical().to_numpy().copy()
    begun[150:] += 60_000_000
    tables["samples"]["start"] = pl.Series(begun).cast(pl.Datetime("us", "UTC"))


def hidden(tables):
    contended(tables)
    return {"users": {"attributed_s": 12.0, "exact_s": 300.0}, "exact_time": "/proc/schedstat"}


WRONG = {
    "contended": (contended, {"held_up", "cpu_wait"}, "While alice used 1.8 of 2 CPUs"),
    "niced": (niced, {"low_priority"}, "at low priority (nice)"),
    "niced_much": (niced_much, {"low_priority"}, "at low priority (nice 10 or more), which took"),
    "stolen": (of_samples("steal_s", np.full(INTERVALS, 0.2)), {"stolen"}, "The hypervisor gave"),
    "memory pressure": (
        of_samples("psi_memory_some_s", np.full(INTERVALS, 0.03)),
        {"memory_pressure"},
        "stalled for lack of memory 3.00 % of the time, 9.00 s in all",
    ),
    "swapping": (of_samples("swap_in_pages", np.full(INTERVALS, 30)), {"swapping"}, "30.0 pages/s were read"),
    "reclaim": (
        lambda tables: tables["samples"].update(
            pages_scanned=np.full(INTERVALS, 5000), pages_reclaimed=np.full(INTERVALS, 500)
        ),
        {"reclaim"},
        "examined 5000 pages/s and could free only 10.0 % of them",
    ),
    "little memory": (
        lambda tables: tables["samples"]["memory_available_bytes"].__setitem__(7, 0.04 * MEMORY),
        {"memory_low"},
        "4.00 % of the memory was available: 640 MB of 16.0 GB",
    ),
    "shrinking": (shrunk, {"memory_shrinking"}, "Available memory fell steadily"),
    "stalled on a disk": (
        of_samples("psi_io_some_s", np.full(INTERVALS, 0.3)),
        {"io_pressure"},
        "stalled on a disk 30.0 % of the time; on sda, a read took",
    ),
    "slow reads": (slow_disk, {"slow_reads"}, "A read of sda took 45.0 ms on average"),
    "lost packets": (lost_packets, {"faulty_network"}, "900 with errors"),
    "full link": (full_link, {"steady_network"}, "within 5 % of its highest rate"),
    "throttled": (
        group(throttled_s=0.2, throttled_periods=4, periods=10),
        {"throttled"},
        "CPU quotas stopped /lab.slice in 40.0 % of its periods, 60.0 s in all",
    ),
    "killed": (
        group(memory_oom_kills=1, periods=10),
        {"killed"},
        "The kernel killed 300 processes for lack of memory in /lab.slice",
    ),
    "inherited": (inherited, {"inherited"}, "90.0 s may be of others"),
    "hidden": (hidden, {"unattributed"}, "4.00 % of the CPU time could be attributed to users"),
    "gap": (with_a_gap, {"gaps"}, "Nothing was recorded for 1 min, in 1 gap."),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found_and_told(name, tmp_path):
    change, expected, words = WRONG[name]
    tables = healthy("files" if "disk" in name or "reads" in name else "office", 5)
    recorder = change(tables)
    result = analyse(write(tmp_path / "log", tables, recorder=recorder))
    assert kinds(result) == expected
    told = [plain(sentence(check)) for check in result.found]
    assert any(words in text for text in told), told
    page = render(
        Document(title="t", subtitle="", findings=(), sections=(section(result),)),
        "text",
    )
    assert words.split(";")[0][:40] in page.replace("\n", " ")


@pytest.mark.parametrize(
    ("exits", "words"),
    [("taskstats", "higher priority"), ("not permitted", "Record as root"), (None, "as root")],
)
def test_the_remedy_for_unseen_processes_is_not_root_where_the_recorder_was_root(tmp_path, exits, words):
    tables = healthy("office", 5)
    inherited(tables)
    recorder = None if exits is None else {"processes": {"exits": exits}}
    check = analyse(write(tmp_path / "log", tables, recorder=recorder)).of("inherited")
    assert words in step(check)


@pytest.mark.parametrize(("way", "said"), [("forward", True), ("back", False)])
def test_a_clock_set_forward_is_named_where_it_looks_like_a_gap(tmp_path, way, said):
    tables = healthy("office", 5)
    with_a_gap(tables)
    write(tmp_path / "log", tables)
    with LogWriter.open(tmp_path / "log", "resume", source="test") as writer:
        writer.incident("clock_step", f"the wall clock was set {way}; lengths are monotonic")
    check = analyse(Log.open(tmp_path / "log")).of("gaps")
    assert check.found
    assert ("The wall clock was set forward once" in sentence(check)) == said


def test_every_kind_of_finding_is_tested():
    assert set().union(*(expected for _, expected, _ in WRONG.values())) == set(FINDINGS) == set(LABELS)
    assert len(CHECKS) == len(FINDINGS)


def test_the_figures_of_a_user_who_holds_up_others_are_those_of_the_log(tmp_path):
    tables = healthy("office", 5)
    contended(tables)
    check = analyse(write(tmp_path / "log", tables)).of("held_up")
    assert check.values["user"] == "alice"
    assert check.values["used"] == pytest.approx(1.8)
    assert check.values["waited_s"] == pytest.approx(366.0)
    assert check.values["ran_s"] == pytest.approx(20.0)
    assert check.values["without"] < 0.5 * check.values["ratio"]


@pytest.mark.parametrize("alone", [True, False])
def test_time_for_which_quotas_stopped_groups_is_named_beside_the_waits_that_contain_it(tmp_path, alone):
    """The kernel counts a task that a quota stopped as one that waits for a CPU."""
    tables = healthy("office", 5)
    contended(tables)
    if alone:
        tables["users"]["alice"]["cpu_exact_s"][:] = 1.8
    without = analyse(write(tmp_path / "without", tables))
    group(throttled_s=0.2, throttled_periods=4, periods=10)(tables)
    stopped = analyse(write(tmp_path / "stopped", tables))
    for kind in ("cpu_wait", "held_up"):
        assert "quotas" not in sentence(without.of(kind))
        assert "CPU quotas stopped control groups for 60.0 s" in plain(sentence(stopped.of(kind)))


def test_stalls_beside_free_memory_are_laid_to_the_limit_of_a_control_group(tmp_path):
    """More memory in the machine would not help a group that is at its own limit."""
    tables = healthy("office", 5)
    tables["samples"]["psi_memory_some_s"] = np.full(INTERVALS, 0.3)
    columns = tuple(
        Column(name=name, type="f64", unit="byte", kind="gauge", description=name)
        for name in ("memory_bytes", "memory_limit_bytes")
    )
    found = {}
    for name, held, available in (("full", 99, 0.8), ("roomy", 50, 0.8), ("short", 99, 0.05)):
        tables["samples"]["memory_available_bytes"] = np.full(INTERVALS, available * MEMORY)
        write(tmp_path / name, tables)
        row = {"start": tables["samples"]["start"][:1], "group": ["/lab.slice"]}
        row |= {"memory_bytes": [held], "memory_limit_bytes": [100]}
        with LogWriter.open(tmp_path / name, "resume", source="test") as writer:
            writer.write("groups", frame(row, (*GROUPS, *columns)), (*GROUPS, *columns))
        found[name] = analyse(Log.open(tmp_path / name)).of("memory_pressure")
    text = plain(sentence(found["full"]))
    assert "80.0 % of the machine's memory was available: /lab.slice held 99.0 %" in text
    assert step(found["full"]).startswith("Raise the memory limit of /lab.slice")
    assert "by a limit of its own" in sentence(found["roomy"])
    assert "the machine is not" in step(found["roomy"])
    assert "available" not in sentence(found["short"])
    assert "add memory" in step(found["short"])


def test_who_moved_most_data_is_not_told_where_that_of_others_is_not_known(tmp_path):
    """A recorder without rights reads what its own user moved."""
    tables = healthy("office", 5)
    tables["samples"]["psi_io_some_s"] = np.full(INTERVALS, 0.3)
    tables["users"]["uid:1000"]["read_bytes"] = np.full(INTERVALS, 1e6)
    check = analyse(write(tmp_path / "some", tables)).of("io_pressure")
    assert check.values["user"] is None
    for columns in tables["users"].values():
        columns.setdefault("read_bytes", np.zeros(INTERVALS))
    check = analyse(write(tmp_path / "all", tables)).of("io_pressure")
    assert check.values["user"] == ("uid:1000", 300e6)


def test_a_user_without_whom_others_wait_as_long_is_not_blamed(tmp_path):
    """The others wait 18 s for each second all the time, whether or not that user works."""
    tables = healthy("office", 5)
    contended(tables)
    users = tables["users"]
    for user in ("uid:0", "uid:1001", "uid:1002", "uid:1003"):
        del users[user]
    users["uid:1000"]["cpu_exact_s"][:] = 0.2
    users["uid:1000"]["run_delay_s"][:] = 3.66
    assert kinds(analyse(write(tmp_path / "log", tables))) == {"cpu_wait"}


def test_findings_come_by_the_time_they_cost(tmp_path):
    tables = healthy("office", 5)
    contended(tables)
    tables["samples"]["psi_io_some_s"] = np.full(INTERVALS, 0.3)
    tables["samples"]["memory_available_bytes"] = np.full(INTERVALS, 0.05 * MEMORY)
    with_a_gap(tables)
    result = analyse(write(tmp_path / "log", tables))
    assert [check.kind for check in result.found] == [
        "cpu_wait",
        "held_up",
        "io_pressure",
        "memory_low",
        "gaps",
    ]


def test_waits_without_those_of_users_are_known_from_pressure(tmp_path):
    tables = healthy("office", 5)
    del tables["users"]
    tables["samples"]["psi_cpu_some_s"] = np.full(INTERVALS, 0.5)
    (check,) = analyse(write(tmp_path / "log", tables)).found
    assert check.evidence == ("samples.psi_cpu_some_s",)
    assert plain(sentence(check)).startswith("Some program was waiting for a CPU for 150 s")


def test_the_report_begins_with_what_needs_attention(tmp_path):
    tables = healthy("office", 5)
    contended(tables)
    result = analyse(log := write(tmp_path / "log", tables))
    document = reports.build([log])
    first = document.findings[: len(result.found)]
    assert [item.text for item in first] == [sentence(check) for check in result.found]
    assert all(item.tone == "warning" and "users.run_delay_s" in item.evidence for item in first)
    steps = [item.text for item in document.findings if item.tone == "next"]
    assert steps[: len(result.found)] == [step(check) for check in result.found]


def test_the_report_of_a_machine_that_is_well_says_so(tmp_path):
    document = reports.build([write(tmp_path / "log", healthy("office", 5))])
    assert plain(document.findings[0].text).startswith("Of 14 things examined, none is beyond its limit.")


def test_an_exhausted_cpu_for_which_few_wait_is_told_before_all_is_well(tmp_path):
    tables = healthy("office", 5)
    samples, used_s = tables["samples"], np.full(INTERVALS, float(CPUS))
    samples |= {"user_s": 0.7 * used_s, "system_s": 0.3 * used_s, "idle_s": 0.0 * used_s}
    samples["steal_s"] = 0.0 * used_s
    tables["users"] = {"uid:1000": {"cpu_exact_s": 0.99 * used_s, "run_delay_s": 0.198 * used_s}}
    document = reports.build([write(tmp_path / "log", tables)])
    texts = [plain(item.text) for item in document.findings]
    (limit,) = (at for at, text in enumerate(texts) if text.startswith("The limit is the CPU"))
    assert "; programs waited 200 ms for it for each second that they used" in texts[limit]
    assert texts[limit + 1].startswith("Of 14 things examined, none is beyond its limit.")


def test_work_at_low_priority_saturates_nothing(tmp_path):
    tables = healthy("office", 5)
    niced(tables)
    document = reports.build([write(tmp_path / "log", tables)])
    (limit,) = [item for item in document.highlights if item.name == "limit"]
    assert limit.value == "nothing"
    assert any("without work at low priority" in item.text for item in document.findings)
    # The same load at nice 1 does, as the recorder saw, and at normal priority.
    tables["samples"]["low_priority_s"] = np.zeros(INTERVALS)
    document = reports.build([write(tmp_path / "near", tables)])
    (limit,) = [item for item in document.highlights if item.name == "limit"]
    assert limit.value == "CPU"
    tables["samples"]["user_s"] = tables["samples"]["user_s"] + tables["samples"]["nice_s"]
    tables["samples"]["nice_s"] = np.zeros(INTERVALS)
    document = reports.build([write(tmp_path / "other", tables)])
    (limit,) = [item for item in document.highlights if item.name == "limit"]
    assert limit.value == "CPU"


def test_too_few_intervals_are_no_finding(tmp_path):
    tables = healthy("office", 5, intervals=4)
    tables["samples"]["psi_memory_some_s"] = np.full(4, 0.5)
    assert kinds(analyse(write(tmp_path / "log", tables))) == set()


def test_a_log_without_anything_to_examine_says_so(tmp_path):
    with LogWriter.open(tmp_path / "log", source="test", start_us=0):
        pass
    from thinktime.log import Log

    assert "no samples" in analyse(Log.open(tmp_path / "log")).reason
    assert CPUS == 2
