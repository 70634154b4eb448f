"""Any damage gives a log that passes its check, or an InputError: never another exception."""

import contextlib
import subprocess
import tempfile
from pathlib import Path

import polars as pl
import pytest
from damage import LAWS_OF_VALUES, SEEDS, damaged, effort
from hypothesis import example, given
from hypothesis import strategies as st
from sar_text import FIXTURES, import_sar, need_sadf

from thinktime.errors import InputError
from thinktime.log import Log


def obeys_the_laws(data):
    """Whether a log came of it; fails on anything but a sound log or an InputError without one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        path.write_bytes(data)
        done = None
        with contextlib.suppress(InputError):
            done = import_sar(path, Path(folder) / "log")
        if done is None:
            assert not (Path(folder) / "log" / "samples").exists()
            return False
        log = Log.open(Path(folder) / "log")
        assert {defect.law for defect in log.check()} <= LAWS_OF_VALUES
        samples = log.samples().collect()
        assert samples.height == done.intervals > 0
        counters = [c.name for c in log.schema("samples") if c.kind == "counter" and c.type == "f64"]
        for name in counters:
            low = samples[name].min()
            assert low is None or low >= 0, name
            assert samples[name].is_nan().sum() == 0, name
        assert samples.select(pl.col("length_s").is_finite().all()).item()
        return True


@pytest.mark.parametrize(
    "name",
    [
        "12.6.1-restart.raw",
        pytest.param("12.7.5-load.raw", marks=pytest.mark.thorough),
        "12.5.2-restart.plain",
    ],
)
@given(seed=SEEDS)
@effort(40)
# These set the clock back behind the first interval, as do the seeds named below.
@example(seed=432)
@example(seed=1023)
def test_damaged_text(name, seed):
    obeys_the_laws(damaged((FIXTURES / name).read_bytes(), seed))


@pytest.mark.parametrize(
    "name", ["12.6.1-restart.json", pytest.param("12.5.2-load.json", marks=pytest.mark.thorough)]
)
@given(seed=SEEDS)
@effort(40)
@example(seed=8157)
@example(seed=12318)
def test_damaged_json(name, seed):
    obeys_the_laws(damaged((FIXTURES / name).read_bytes(), seed))


@given(seed=SEEDS)
@effort(40)
@example(seed=170)
def test_damaged_binary(seed):
    need_sadf()
    obeys_the_laws(damaged((FIXTURES / "12.6.1-restart.sa").read_bytes(), seed))


@given(data=st.binary(max_size=300))
@effort(60)
@pytest.mark.parametrize("head", [b"", b"{", b"\x96\xd5u!", b"10:00:00 UTC; CPU; 0; ", b"# uptime_cs; "])
def test_noise(head, data):
    obeys_the_laws(head + data)


def test_the_damage_leaves_something_to_read():
    """Fuzz that is refused at the door tests the door alone: most damaged texts must give a log."""
    texts = ((FIXTURES / name).read_bytes() for name in ("12.6.1-restart.raw", "12.6.1-restart.json"))
    for data in texts:
        read = [obeys_the_laws(damaged(data, seed)) for seed in range(30)]
        assert sum(read) > 15


@pytest.mark.parametrize("share", [0.55, 0.7, 0.8, 0.9, 0.99])
def test_truncated_binary_keeps_its_complete_records(share, tmp_path):
    """sadf prints activity by activity and stops at the damage in the first; the others count too."""
    sadf = need_sadf()
    data = (FIXTURES / "12.6.1-load.sa").read_bytes()
    path = tmp_path / "sa21"
    path.write_bytes(data[: int(len(data) * share)])
    printed = subprocess.run([sadf, "-r", path, "--", "-w"], capture_output=True, text=True).stdout
    done = import_sar(path, tmp_path / "log")
    assert done.intervals == printed.count("proc/s") > 0
    whole = import_sar(FIXTURES / "12.6.1-load.sa", tmp_path / "whole")
    kept, all_rows = (Log.open(one.log).samples().collect() for one in (done, whole))
    # The records before the damage are as in the whole file, in every column.
    assert kept.equals(all_rows.head(kept.height))
    assert "truncated" in {kind for kind, _, _ in done.incidents}


@pytest.mark.parametrize("share", [0.2, 0.5, 0.97])
def test_truncated_text_keeps_its_complete_records(share, tmp_path):
    data = (FIXTURES / "12.6.1-load.raw").read_bytes()
    path = tmp_path / "text"
    path.write_bytes(data[: int(len(data) * share)])
    done = import_sar(path, tmp_path / "log")
    whole = import_sar(FIXTURES / "12.6.1-load.raw", tmp_path / "whole")
    assert done.intervals == whole.intervals
    kept, all_rows = (Log.open(one.log).samples().collect() for one in (done, whole))
    # The text goes activity by activity: what the cut took is null, what it left is unchanged.
    for name in kept.columns:
        cut = kept[name].is_null()
        assert (cut | (kept[name] == all_rows[name])).all() or all_rows[name].is_null().all(), name
