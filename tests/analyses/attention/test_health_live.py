"""What needs attention, on this very machine: real users, real priorities, a real shortage of memory."""

import os
import subprocess
import sys
import textwrap
from contextlib import contextmanager
from pathlib import Path

import pytest

from thinktime.analyses import analyse
from thinktime.analyses.health.words import sentence
from thinktime.log import Log

CLI = [sys.executable, "-c", "from thinktime.cli import main; main()"]
# It ends with the test run, however that ends.
LOOP = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", "while :; do :; done"]
MANY = 4 * (os.cpu_count() or 1)
"""Loops that fill the CPUs, whatever else runs for a moment."""
ALICE, BOB = 64_811, 64_812
MEMORY = Path("/sys/fs/cgroup/memory")
LIMIT_BYTES, FILE_BYTES = 40 << 20, 64 << 20

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="work of other users needs root")


@contextmanager
def working(*commands):
    """These commands running; they are ended by their own ids.

    Each has a session of its own: where the kernel shares the CPUs among sessions (autogroup), they would
    otherwise compete with the recorder alone.
    """
    running = [subprocess.Popen(command, start_new_session=True) for command in commands]
    try:
        yield
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


def recorded(path):
    """Log of five seconds of this machine."""
    subprocess.run(
        [*CLI, "record", "-o", str(path), "--interval", "0.25s", "--duration", "5s"],
        check=True,
        capture_output=True,
        timeout=120,
    )
    return Log.open(path)


def by_user(uid, *command):
    return ["setpriv", f"--reuid={uid}", "--clear-groups", *command]


@needs_root
def test_a_user_whom_another_holds_up(tmp_path):
    """Alice's loops outnumber whatever else runs here, and Bob's two wait."""
    with working(*[by_user(ALICE, *LOOP)] * MANY, *[by_user(BOB, *LOOP)] * 2):
        result = analyse("health", recorded(tmp_path / "log"))
    check = result.of("held_up")
    assert check is not None
    assert check.values["user"].startswith(("uid:64811", "64811"))
    assert check.values["waited_s"] > check.values["ran_s"]
    assert result.of("cpu_wait") is not None


def test_work_at_low_priority(tmp_path):
    with working(*[["nice", "-n", "10", *LOOP]] * MANY):
        result = analyse("health", recorded(tmp_path / "log"))
    check = result.of("low_priority")
    assert check is not None
    assert check.values["full_without"] < check.values["full"]
    assert check.values["seen"]


@pytest.mark.thorough
def test_work_near_normal_priority_is_not_free(tmp_path):
    """The kernel counts it as nice too, but it keeps nearly half of a CPU that others want."""
    with working(*[["nice", "-n", "1", *LOOP]] * MANY):
        log = recorded(tmp_path / "log")
    assert log.samples().collect()["nice_s"].sum() > 0.0
    assert analyse("health", log).of("low_priority") is None


@pytest.fixture
def little_memory():
    """A control group with little memory, made for the test and removed after it."""
    if os.geteuid() != 0 or not (MEMORY / "memory.limit_in_bytes").exists():
        pytest.skip("a control group of memory needs root and the hierarchy of version 1")
    if not Path("/proc/pressure/memory").exists():
        pytest.skip("this kernel does not account pressure (CONFIG_PSI)")
    group = MEMORY / f"thinktime-test-{os.getpid()}"
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(str(LIMIT_BYTES))
    yield group
    group.rmdir()


def test_memory_that_does_not_suffice(tmp_path, little_memory):
    """Programs that read any page of a file larger than their memory: most were just evicted."""
    file = tmp_path / "file"
    file.write_bytes(b"x" * FILE_BYTES)
    program = f"""
        import mmap, os, random
        open({str(little_memory / "cgroup.procs")!r}, "w").write(str(os.getpid()))
        file = os.open({str(file)!r}, os.O_RDONLY)
        os.fsync(file)
        # Pages that are in memory already are charged to whoever read them.
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        pages = mmap.mmap(file, {FILE_BYTES}, prot=mmap.PROT_READ)
        pages.madvise(mmap.MADV_RANDOM)
        while True:
            pages[random.randrange({FILE_BYTES})]
    """
    with working(*[[sys.executable, "-c", textwrap.dedent(program)]] * 4):
        result = analyse("health", recorded(tmp_path / "log"))
    check = result.of("memory_pressure")
    assert check is not None
    assert "stalled for lack of memory" in sentence(check)
