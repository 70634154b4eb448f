"""A judgement in a process of its own, with limits of memory and time."""

from __future__ import annotations

import os
import resource
import select
import signal
import tempfile
import time
from collections.abc import Callable

BYTES = 6 << 30
"""Address space of a process [byte]."""


def outcome(judge: Callable[[], str], *, seconds: float) -> tuple[str, str, float]:
    """Kind of outcome of a judgement, its text, and the time that it took [s].

    The kind is the text of `judge` up to the first colon; ``overtime`` if it took longer than `seconds`,
    ``abort`` if a signal ended it, and ``warning`` if it "ran" but something was written to stderr.
    """
    began = time.monotonic()
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            os.dup2(errors.fileno(), 2)
            resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.write(writing, judge().encode()[:4000])
            os._exit(0)
        os.close(writing)
        ready, _, _ = select.select([reading], [], [], seconds)
        if not ready:
            os.kill(child, signal.SIGKILL)
        text = os.read(reading, 5000).decode() if ready else ""
        os.close(reading)
        _, status = os.waitpid(child, 0)
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
    took = time.monotonic() - began
    if not ready:
        return "overtime", f"over {seconds:g} s", took
    if os.WIFSIGNALED(status):
        return "abort", f"signal {os.WTERMSIG(status)}: {said[:200]}", took
    if text == "ran" and said:
        return "warning", said[-200:], took
    return text.split(":")[0], text, took
