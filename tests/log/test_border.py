"""Errors of the program stay errors of the program, whatever state the log is in; those of damage name it."""

from __future__ import annotations

from pathlib import Path

import pytest

from thinktime.log import Log, LogError
from thinktime.log.border import BUGS, reading
from thinktime.sources.simulated import simulate


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("border") / "log"
    simulate("apl360", {"users": 2, "length": 60.0}, seed=1, replications=1).record(path)
    return path


@pytest.fixture(scope="module")
def damaged(whole, tmp_path_factory) -> Path:
    """The log with a byte changed in the middle of a part."""
    path = tmp_path_factory.mktemp("damaged") / "log"
    path.mkdir()
    for file in whole.rglob("*"):
        copy = path / file.relative_to(whole)
        copy.mkdir(parents=True, exist_ok=True) if file.is_dir() else copy.write_bytes(file.read_bytes())
    part = path / "samples" / "part-000001.parquet"
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 0xFF
    part.write_bytes(data)
    return path


@pytest.mark.parametrize("bug", BUGS)
def test_a_bug_is_not_blamed_on_a_damaged_log(damaged, bug):
    with pytest.raises(bug, match="of ours"), reading(Log.open(damaged)):
        raise bug("of ours")


@pytest.mark.parametrize("error", [ValueError, TypeError, KeyError, ZeroDivisionError])
def test_what_values_cause_names_the_defects_and_the_error(damaged, error):
    with pytest.raises(LogError) as caught, reading(Log.open(damaged)):
        raise error("so many")
    text = str(caught.value)
    assert "since the log has defects: " in text
    assert "samples/part-000001.parquet" in text
    assert f"it failed with {error.__name__}: " in text
    assert "so many" in text
    assert isinstance(caught.value.__cause__, error)


@pytest.mark.parametrize("error", [*BUGS, ValueError, TypeError])
def test_on_a_whole_log_every_error_is_a_bug(whole, error):
    with pytest.raises(error, match="of ours"), reading(Log.open(whole)):
        raise error("of ours")
