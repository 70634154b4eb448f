"""A. Sekino, "Overhead Measurements of System 14", MPL-53, 1971: Tables 1 to 3."""

import numpy as np
import polars as pl
import pytest

from thinktime.analyses.capacity import analysis as capacity
from thinktime.log import Column, Log, LogWriter

# 1 CPU, 256K: mean time between events [ms] (Table 2), overhead per event [ms] (Table 3), and the
# event's share of the capacity in per cent (Table 1).
EVENTS = {
    "page_faults": (17.2, 1.95, 11.3),
    "getworks": (9.4, 0.99, 10.5),
    "drum_interrupts": (19.6, 1.10, 5.6),
    "interrupts": (56.5, 3.41, 6.0),
    "segment_faults": (591.0, 15.37, 2.6),
    "gate_faults": (108.0, 3.67, 3.4),
}
IDLE, USEFUL = 13.7, 46.7


def column(name, unit="s", kind="counter", role=None, type_="f64"):
    return Column(name=name, type=type_, unit=unit, kind=kind, description=name, role=role)


@pytest.fixture(scope="module")
def multics(tmp_path_factory):
    """A log whose mean rates and costs are the memo's."""
    n = 400
    random = np.random.default_rng(14)
    varied = random.gamma(9.0, 1 / 9.0, (n, len(EVENTS) + 1))
    varied /= varied.mean(axis=0)
    counts = {
        name: 1000.0 / between * varied[:, at] for at, (name, (between, _, _)) in enumerate(EVENTS.items())
    }
    system = sum(counts[name] * overhead / 1000.0 for name, (_, overhead, _) in EVENTS.items())
    useful = USEFUL / 100.0 * varied[:, -1]
    frame = pl.DataFrame(
        {
            "start": pl.Series(np.arange(n) * 1_000_000).cast(pl.Datetime("us", "UTC")),
            "length_s": np.ones(n),
            "useful_s": useful,
            "supervisor_s": system,
            # Beyond one CPU's second where the random rates add to more: only means matter here.
            "waiting_s": 1.0 - useful - system,
            **counts,
        }
    )
    schema = (
        column("start", "us", "time", type_="time"),
        column("length_s", kind="time"),
        column("useful_s", role="user_time"),
        column("supervisor_s", role="system_time"),
        column("waiting_s", role="idle_time"),
        *(column(name, "event", role="request") for name in EVENTS),
    )
    path = tmp_path_factory.mktemp("sekino") / "multics"
    with LogWriter.open(path, source="multics", machine={"cpus": 1}) as writer:
        writer.write("samples", frame, schema)
    return capacity.analyse(Log.open(path))


def test_table_1_is_table_3_over_table_2(multics):
    """All products equal the printed shares within 0.044 points."""
    found = {event.request: event for event in multics.events}
    assert set(found) == set(EVENTS)
    for name, (between, overhead, share) in EVENTS.items():
        event = found[name]
        assert 1000 * event.time_between.value == pytest.approx(between, rel=0.02)
        assert 1000 * event.overhead.value == pytest.approx(overhead, rel=1e-6)
        # Outliers that were dropped move the mean rates by a per cent.
        assert 100 * event.share.value == pytest.approx(share, rel=0.02, abs=0.05)


def test_columns_add_to_a_hundred_per_cent(multics):
    parts = {part.name: 100 * part.share.value for part in multics.states}
    assert sum(parts.values()) == pytest.approx(100.0)
    assert parts["useful"] == pytest.approx(USEFUL, abs=0.05)
    # The column adds to 99.8 as printed.
    assert parts["waiting"] == pytest.approx(IDLE, abs=0.3)
    assert [event.request for event in multics.events][:2] == ["page_faults", "getworks"]
