"""What `thinktime record` says at its end of what it could not see."""

from pathlib import Path

from thinktime.cli import record

REFUSED = "Operation not permitted (os error 1)"
UTMP = {"/run/utmp": "neither utmp nor systemd-logind here"}
CLOCK = {"perf_event_open cpu-clock": "not permitted: run as root, give CAP_PERFMON"}
MEMORY = {"memory": {"not_permitted": 56}}
"""Of some processes not even root reads the memory."""


def test_what_only_root_may_read_is_named() -> None:
    facts = {"missing": UTMP | CLOCK, "processes": {"exits": REFUSED}, "people": MEMORY}
    assert record._hidden(facts, root=False) == [
        "perf_event_open cpu-clock",
        "whose processes end between two samples",
        "what others' processes read and write, and their share of memory",
    ]
    facts = {"missing": UTMP, "processes": {"exits": "taskstats"}, "people": MEMORY}
    assert record._hidden(facts, root=True) == []


def test_what_is_not_permitted_is_told_apart_from_what_the_machine_lacks() -> None:
    facts = {
        "recorded_s": 12.0,
        "cost": {"cpu_per_sample": None},
        "busy": None,
        "missing": UTMP | CLOCK,
        "processes": {"method": "/proc", "exits": "taskstats"},
    }
    summary = {
        "samples_taken": 24,
        "samples": 24,
        "samples_lost": 0,
        "missed_deadlines": 0,
        "dropped_intervals": 0,
        "facts": facts,
    }
    assert record._lines(summary, Path("run"))[-3:] == [
        "not available on this machine: /run/utmp; see `thinktime doctor`",
        "not permitted: perf_event_open cpu-clock; record as root, or see `thinktime doctor`",
        "run",
    ]
