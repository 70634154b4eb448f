"""A limit on open files that leaves no room for those of all processes costs time, and no samples."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

from thinktime.log import Log

RECORDER = Path(__file__).parents[2] / "target" / "static" / "thinktime-recorder"
PROCESSES = 200
FILES = 512


def test_ways_of_reading_that_are_tried_leave_each_other_room(tmp_path: Path) -> None:
    """With three files for each process, two ways at a time would need more than the limit."""
    sleepers = [subprocess.Popen(["sleep", "60"]) for _ in range(PROCESSES)]
    try:
        done = subprocess.run(
            [RECORDER, "record", "-o", "log", "--interval", "200ms", "--duration", "1s"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES)),
            check=False,
        )
    finally:
        for sleeper in sleepers:
            sleeper.kill()
            sleeper.wait()
    assert done.returncode == 0, done.stderr
    log = Log.open(tmp_path / "log")
    assert log.check() == []
    assert log.samples().collect()["processes"].min() >= PROCESSES
