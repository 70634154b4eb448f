"""Any damage gives a log that passes its check, or an InputError: never another exception."""

import contextlib
import random
import subprocess
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sar_text import FIXTURES, need_sadf

from thinktime.errors import InputError
from thinktime.log import Log
from thinktime.sources.sar import import_sar

NOISE = (
    b"NaN",
    b"-1",
    b"1e999",
    b"null",
    b"true",
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b";",
    b"\n",
    b"\0",
    b"\xff\xfe",
)
NOISE += (
    b"99999999999999999999",
    b"18446744073709551615",
    b"9" * 5000,
    b"; ; ;",
    b"LINUX-RESTART",
    b"# uptime_cs; 1",
)
SEEDS = st.integers(min_value=0, max_value=2**32 - 1)
QUIET = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def damaged(data, seed):
    """`data` with one to six changes: cut, flipped, lines lost or doubled, noise put in, numbers changed."""
    rng = random.Random(seed)
    data = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        if not data:
            break
        at = rng.randrange(len(data))
        change = rng.randrange(7)
        if change == 0:
            del data[at:]
        elif change == 1:
            data[at] ^= 1 << rng.randrange(8)
        elif change == 2:
            del data[at : at + rng.randrange(1, 2000)]
        elif change == 3:
            data[at:at] = rng.choice(NOISE)
        elif change == 4:
            piece = data[at : at + rng.randrange(1, 3000)]
            where = rng.randrange(len(data))
            data[where:where] = piece
        elif change == 5:
            digits = [k for k in range(at, min(at + 200, len(data))) if 48 <= data[k] <= 57]
            for k in digits[:5]:
                data[k] = rng.choice(b"0123456789")
        else:
            lines = bytes(data).split(b"\n")
            one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[one], lines[other] = lines[other], lines[one]
            del lines[rng.randrange(len(lines))]
            data = bytearray(b"\n".join(lines))
    return bytes(data)


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
        assert log.check() == []
        samples = log.samples().collect()
        assert samples.height == done.intervals > 0
        counters = [c.name for c in log.schema("samples") if c.kind == "counter" and c.type == "f64"]
        for name in counters:
            low = samples[name].min()
            assert low is None or low >= 0, name
            assert samples[name].is_nan().sum() == 0, name
        assert samples.select(pl.col("length_s").is_finite().all()).item()
        return True


@pytest.mark.parametrize("name", ["12.6.1-restart.raw", "12.7.5-load.raw", "12.5.2-restart.plain"])
@given(seed=SEEDS)
@QUIET
def test_damaged_text(name, seed):
    obeys_the_laws(damaged((FIXTURES / name).read_bytes(), seed))


@pytest.mark.parametrize("name", ["12.6.1-restart.json", "12.5.2-load.json"])
@given(seed=SEEDS)
@QUIET
def test_damaged_json(name, seed):
    obeys_the_laws(damaged((FIXTURES / name).read_bytes(), seed))


@given(seed=SEEDS)
@settings(QUIET, max_examples=40)
def test_damaged_binary(seed):
    need_sadf()
    obeys_the_laws(damaged((FIXTURES / "12.6.1-restart.sa").read_bytes(), seed))


@given(data=st.binary(max_size=300))
@settings(QUIET, max_examples=60)
@pytest.mark.parametrize("head", [b"", b"{", b"\x96\xd5u!", b"10:00:00 UTC; CPU; 0; ", b"# uptime_cs; "])
def test_noise(head, data):
    obeys_the_laws(head + data)


def test_the_damage_leaves_something_to_read():
    """Fuzz that is refused at the door tests the door alone: most damaged texts must give a log."""
    texts = ((FIXTURES / name).read_bytes() for name in ("12.6.1-restart.raw", "12.6.1-restart.json"))
    for data in texts:
        read = [obeys_the_laws(damaged(data, seed)) for seed in range(60)]
        assert sum(read) > 30


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
