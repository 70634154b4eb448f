"""Users who hold memory in a control group with a limit: how many fit, predicted from six and tried.

The limit is reached when the kernel first has to reclaim for the group: it counts that itself
(`memory.failcnt`, or `max` of `memory.events`).
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from validate import PYTHON

from thinktime.log import Log
from thinktime.predictions.size.cliff import cliff
from thinktime.predictions.size.memory import Memory, seen
from thinktime.stats.series import batch_means

LIMIT_BYTES = 900e6
USER_BYTES, SPREAD = 38e6, 0.1
"""What a user holds besides its interpreter, and the standard deviation of that, relative to it."""
SEEN, TRIED, REPETITIONS = 6, 60, 3
"""Users recorded, users tried at most, and how often."""
UID_FIRST = 20_000
DRAWS = 400
HOLD = (
    "import os, sys; os.setgid({uid}); os.setuid({uid}); held = bytearray({size}); "
    "held[::4096] = b'x' * len(held[::4096]); print('ready', flush=True); sys.stdin.read()"
)


@dataclass(slots=True, kw_only=True)
class Group:
    """Control group of the users, of version 1 or 2."""

    folder: Path
    version: int
    users: list[subprocess.Popen[str]] = field(default_factory=list)

    @classmethod
    def made(cls) -> Group | str:
        """A new group, or why there is none."""
        if os.geteuid() != 0:
            return "needs root, for a control group"
        name = f"thinktime-validate-{os.getpid()}"
        for version, root in ((1, Path("/sys/fs/cgroup/memory")), (2, Path("/sys/fs/cgroup"))):
            limit = root / name / ("memory.limit_in_bytes" if version == 1 else "memory.max")
            try:
                (root / name).mkdir()
            except OSError:
                continue
            if limit.exists():
                return cls(folder=root / name, version=version)
            (root / name).rmdir()
        return "no memory controller of control groups is there"

    def limit(self, amount: float) -> None:
        """Set the limit [byte]."""
        name = "memory.limit_in_bytes" if self.version == 1 else "memory.max"
        (self.folder / name).write_text(f"{int(amount)}")

    @property
    def reclaims(self) -> int:
        """Times at which the limit was reached so far."""
        if self.version == 1:
            return int((self.folder / "memory.failcnt").read_text())
        lines = (self.folder / "memory.events").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("max "))

    def add(self, draws: random.Random) -> bool:
        """True if one more user got its memory."""
        size = max(int(draws.gauss(USER_BYTES, SPREAD * USER_BYTES)), 4096)
        code = HOLD.format(uid=UID_FIRST + len(self.users), size=size)
        user = subprocess.Popen(
            [sys.executable, "-S", "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=self._enter,
        )
        self.users.append(user)
        assert user.stdout is not None
        return user.stdout.readline() == "ready\n"

    def _enter(self) -> None:
        (self.folder / "cgroup.procs").write_text(f"{os.getpid()}")

    def empty(self) -> None:
        """End the users."""
        for user in self.users:
            user.kill()
            user.communicate()
        self.users.clear()

    def removed(self) -> None:
        """End the users and remove the group."""
        self.empty()
        # Ended processes leave it a moment later.
        end = time.monotonic() + 5.0
        while (self.folder / "cgroup.procs").read_text() and time.monotonic() < end:
            time.sleep(0.1)
        self.folder.rmdir()


def filled(folder: Path) -> dict[str, Any] | str:
    """Predicted and tried numbers of users, or why they cannot be tried."""
    group = Group.made()
    if isinstance(group, str):
        return group
    try:
        memory = _recorded(group, folder / "memory")
        if isinstance(memory, str):
            return memory
        found = cliff(memory, LIMIT_BYTES, TRIED, DRAWS)
        assert found is not None
        return {
            "seen": SEEN,
            "user_mb": memory.user.value / 1e6,
            "limit_mb": LIMIT_BYTES / 1e6,
            "predicted": round(found.value),
            "low": round(found.low or 0.0),
            "high": round(found.high or TRIED),
            "fitted": [_fitting(group, 100 + repetition) for repetition in range(REPETITIONS)],
        }
    finally:
        group.removed()


def _recorded(group: Group, path: Path) -> Memory | str:
    """Memory of the users recorded, in a group of the limit without anybody else; or why it is not known."""
    draws = random.Random(1)
    shutil.rmtree(path, ignore_errors=True)
    for _ in range(SEEN):
        if not group.add(draws):
            return "a user did not get its memory"
    options = ["--interval", "0.5s", "--gauges-every", "2s", "--by", "uid", "-d", "20s", "-o", str(path)]
    subprocess.run([*PYTHON, "record", *options], check=True, capture_output=True)
    group.empty()
    found = seen(Log.open(path), {f"uid:{UID_FIRST + number}" for number in range(SEEN)})
    if found is None or len(found.means) < SEEN:
        return "the recorder did not see the memory of all users"
    return Memory(
        total_bytes=LIMIT_BYTES,
        base_bytes=0.0,
        user=batch_means.plain_mean(found.means.tolist()).with_unit("byte"),
        user_sd_bytes=float(np.std(found.means, ddof=1)),
        seen=SEEN,
        largest_bytes=found.largest,
        peak=SEEN,
        shared_once=found.shared_once,
    )


def _fitting(group: Group, seed: int) -> int:
    """Users who got their memory before the group reached its limit."""
    draws = random.Random(seed)
    group.limit(LIMIT_BYTES)
    before = group.reclaims
    try:
        for number in range(TRIED):
            if not group.add(draws) or group.reclaims > before:
                return number
        return TRIED
    finally:
        group.empty()
