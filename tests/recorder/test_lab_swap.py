"""`thinktime lab swap` on this very machine: a real swap area, a real control group, interrupted, killed,
resumed."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from thinktime.cli import run
from thinktime.errors import InputError, WorkError
from thinktime.log.runs import Runs
from thinktime.sources.swapping import guardian
from thinktime.sources.swapping.ground import Ground, Wanted, check

CLI = [sys.executable, "-c", "from thinktime.cli import main; main()"]
SMALL = (
    *("--memory", "8MiB", "--processes", "1,6", "--size", "2MiB", "--compute", "12"),
    *("--replications", "1", "--time", "2s", "--warm-up", "1s", "--yes"),
)
PATIENCE_S = 120.0


def wanted(folder: Path) -> Wanted:
    return Wanted(
        folder=folder,
        swap_bytes=16 << 20,
        files_bytes=1 << 20,
        bytes_per_s=16 << 20,
        memory_bytes=8 << 20,
        seconds=60.0,
    )


def why_not(folder: Path) -> str | None:
    """Reason for which the experiment cannot be made on this machine."""
    try:
        check(wanted(folder))
    except InputError as error:
        return str(error)
    return None


@pytest.fixture(scope="module")
def usable(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip where the machine, a container above all, refuses what the experiment needs."""
    folder = tmp_path_factory.mktemp("ground")
    reason = why_not(folder)
    if reason is not None:
        pytest.skip(reason)
    try:
        Ground(wanted(folder)).close()
    except WorkError as error:
        # What a tool of the system refuses; whatever else fails, fails below.
        if str(error).startswith(guardian.TOOLS):
            pytest.skip(str(error))


@pytest.fixture
def scratch(usable: None, tmp_path: Path) -> Iterator[Path]:
    before = traces()
    yield tmp_path
    assert traces() == before, "something of the experiment remains"


def traces() -> dict[str, list[str]]:
    """Everything that an experiment makes, as it is now."""
    groups = [place for name, place in guardian.hierarchies().items() if name in ("memory", "unified")]
    loops = subprocess.run(
        ["losetup", "--list", "--output", "NAME,BACK-FILE"], capture_output=True, text=True
    )
    root = guardian.hierarchies().get("blkio")
    limits = (
        [Path(root, f"blkio.throttle.{way}_bps_device").read_text() for way in ("read", "write")]
        if root
        else []
    )
    return {
        "swaps": Path("/proc/swaps").read_text().splitlines(),
        "loops": loops.stdout.splitlines(),
        "groups": [path.name for place in groups for path in Path(place).glob("thinktime-swap-*")],
        "limits": limits,
        "states": [str(guardian.STATE)] if guardian.STATE.exists() else [],
    }


def lab(*arguments: object, scratch: Path) -> subprocess.Popen[str]:
    line = [*CLI, "lab", "swap", *map(str, arguments), "--scratch", str(scratch)]
    return subprocess.Popen(line, cwd=scratch, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def until_swapping(process: subprocess.Popen[str]) -> None:
    """Wait until the experiment swaps, by its own device's counter."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        if guardian.STATE.exists() and '"group"' in (text := guardian.STATE.read_text()):
            swap = Path(json.loads(text)["swap"]).name
            if int(Path(f"/sys/block/{swap}/stat").read_text().split()[6]) > 2048:
                return
        time.sleep(0.05)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_processes_that_do_not_fit_swap_on_the_device_and_those_that_fit_do_not(scratch: Path) -> None:
    done = lab(*SMALL, "-o", "runs", scratch=scratch)
    output, errors = done.communicate(timeout=PATIENCE_S)
    assert done.returncode == 0, errors
    assert output.splitlines() == ["2 runs of 2 configurations", "runs"]
    assert "This is made, and removed at the end" in errors
    assert not list(scratch.glob("thinktime-swap-*"))
    runs = Runs.open(scratch / "runs")
    (alone,), (crowded,) = (cell.replications() for cell in runs.cells)
    assert [cell.levels["processes"] for cell in runs.cells] == [1, 6]
    # One process of 2 MiB in 8 MiB: nothing is read again once it is there, but what others have there.
    assert alone.responses["completed"] > 0.0
    assert alone.responses["pages_in"] < 10.0
    # Six of them: whatever the kernel chooses, pages go out and in again. The device has the speed that was
    # asked for:
    # no more passes in the time than that, and what the throttle's slice gathers.
    many = crowded.responses
    assert many["killed"] == 0.0
    for way in ("read_utilisation", "write_utilisation"):
        assert 0.02 < many[way] < 1.25, many
    assert many["read_utilisation"] > alone.responses["read_utilisation"]
    assert many["swap_busy"] > 0.1
    # What a process takes is its array, and little else.
    for found in (alone.responses, many):
        assert 1.0 < found["process_bytes"] / (2 << 20) < 1.3
    for cell in runs.cells:
        log = cell.log()
        assert log.check() == []
        assert log.interactions().collect()["population"].max() == cell.levels["processes"]
        groups = log.table("groups").collect()
        assert groups["group"].cast(str).str.contains("thinktime-swap-").any()


def test_ctrl_c_keeps_what_is_complete_and_resume_goes_on(scratch: Path) -> None:
    begun = lab(*SMALL, "-o", "runs", scratch=scratch)
    until_swapping(begun)
    begun.send_signal(signal.SIGINT)
    errors = begun.communicate(timeout=PATIENCE_S)[1]
    assert begun.returncode == 130, errors
    held = sum(len(cell.replications()) for cell in Runs.open(scratch / "runs").cells)
    assert f"runs holds {held} of 2 runs; `thinktime lab swap --resume runs` goes on" in errors
    assert not guardian.STATE.exists()
    resumed = lab("--resume", "runs", "--yes", scratch=scratch)
    errors = resumed.communicate(timeout=PATIENCE_S)[1]
    assert resumed.returncode == 0, errors
    assert [len(cell.replications()) for cell in Runs.open(scratch / "runs").cells] == [1, 1]


def test_nothing_remains_when_it_is_killed(scratch: Path) -> None:
    begun = lab(*SMALL, "-o", "runs", scratch=scratch)
    until_swapping(begun)
    group = Path(json.loads(guardian.STATE.read_text())["group"])
    begun.kill()
    begun.communicate(timeout=PATIENCE_S)
    until(lambda: not guardian.STATE.exists())
    assert not group.exists()
    assert not list(scratch.glob("thinktime-swap-*"))


def test_what_a_killed_guardian_leaves_is_removed_by_clean(
    scratch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = traces()
    ground = Ground(wanted(scratch))
    os.kill(ground.pid, signal.SIGKILL)
    ground.close()
    assert len(traces()["swaps"]) == len(before["swaps"]) + 1
    reason = why_not(scratch)
    assert reason is not None
    assert "`thinktime lab swap --clean`" in reason
    assert run(["lab", "swap", "--clean"]) == 0
    assert capsys.readouterr().out == "what an earlier experiment had left is removed\n"
    assert traces() == before
    assert run(["lab", "swap", "--clean"]) == 0
    assert capsys.readouterr().out == "nothing is left of an earlier experiment\n"


def test_processes_that_the_kernel_lets_sleep_for_want_of_memory_are_woken(scratch: Path) -> None:
    """Four times the memory of the group, and too small a swap area: they must sleep again and again."""
    if "memory" not in guardian.hierarchies():
        pytest.skip("control groups of version 2 let no process sleep for want of memory")
    code = (
        "import sys; open(sys.argv[1] + '/cgroup.procs', 'w').write('0'); "
        "b = bytearray(16 << 20); b[::4096] = b'x' * 4096"
    )
    small = replace(wanted(scratch), swap_bytes=2 << 20, memory_bytes=4 << 20)
    with Ground(small) as ground:
        ground.limit(small.memory_bytes)
        line = [sys.executable, "-I", "-S", "-c", code, str(ground.group)]
        with subprocess.Popen(line) as sleeper:
            try:
                until(lambda: ground.woken() > 2)
                assert sleeper.poll() is None
                assert ground.killed() == 0
            finally:
                sleeper.kill()


def test_the_guardian_removes_everything_when_its_time_is_over(scratch: Path) -> None:
    ground = Ground(replace(wanted(scratch), seconds=1.0))
    try:
        until(lambda: not guardian.STATE.exists())
    finally:
        ground.close()
    assert ground.problems == []


def test_a_file_in_memory_and_a_machine_that_nobody_is_asked_for_are_refused(
    scratch: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(scratch)
    memory = next(
        (place for place, kind, _ in guardian.mounts() if kind == "tmpfs" and os.path.isdir(place)), None
    )
    if memory is not None:
        assert run(["lab", "swap", "--yes", "--scratch", memory]) == 2
        assert f"{memory}: is on tmpfs" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert run(["lab", "swap", "--scratch", str(scratch)]) == 2
    errors = capsys.readouterr().err
    assert "This is made, and removed at the end" in errors
    assert "nobody can be asked here; give --yes" in errors
    assert not (scratch / "swapping").exists()


def test_a_swap_area_that_the_processes_would_use_too_is_refused(scratch: Path) -> None:
    file = scratch / "other"
    file.write_bytes(bytes(1 << 20))
    device = guardian.tool("losetup", "--find", "--show", str(file))
    try:
        guardian.tool("mkswap", device)
        guardian.tool("swapon", "--priority", str(guardian.PRIORITY), device)
        try:
            reason = why_not(scratch)
        finally:
            guardian.tool("swapoff", device)
        assert reason is not None
        assert f"{device}: is a swap area of priority {guardian.PRIORITY}" in reason
        assert f"`swapoff {device}`" in reason
    finally:
        guardian.tool("losetup", "--detach", device)
        # It is free when the last that looks at it has closed it.
        until(lambda: not Path("/sys/block", Path(device).name, "loop").exists())
    assert why_not(scratch) is None
