"""The program, called in the process of the tests: one of its own takes half a second for its imports.

What a process adds (its streams, its interrupts, its first imports) is tested where it is the question.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

from thinktime.cli import run


def thinktime(
    *arguments: object, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Exit status of the program with these arguments, and what it printed; raises what no command should.

    What `env` has is added to the environment.
    """
    words = [str(argument) for argument in arguments]
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    here = os.getcwd()
    os.chdir(cwd or here)
    try:
        with (
            mock.patch.dict(os.environ, env or {}),
            contextlib.redirect_stdout(streams[0]),
            contextlib.redirect_stderr(streams[1]),
        ):
            status = run(words)
    finally:
        os.chdir(here)
    for stream in streams:
        stream.seek(0)
    return subprocess.CompletedProcess(words, status, *(stream.read() for stream in streams))
