"""What the package and short commands cost, beside Python itself."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from programs import cpu_seconds, least_in_turn

ROUNDS = 7
IMPORTS = ("thinktime", "thinktime.log")
COMMANDS = (
    "--help",
    "--version",
    "record --help",
    "man report",
    "systems",
    "analyse users LOG",
    "report LOG",
    "predict network --station cpu=30ms --station disk=40ms --think-time 5s --users 1..60",
)
"""Commands that people wait for; LOG is a short log of this machine."""
COMPLETED = (
    "thinktime re",
    "thinktime report --f",
    "thinktime analyse ",
    "thinktime analyse users ",
    "thinktime simulate ctss -p ",
    "thinktime analyse throughput --by ",
)
"""Lines with the cursor at the end: a command, an option, a question, a log, a parameter, a column."""
RECORDED = ("--interval", "500ms", "--duration", "8s")


def run() -> list[dict[str, Any]]:
    """CPU seconds of a new process; the reference is a Python that does nothing."""
    with tempfile.TemporaryDirectory() as folder:
        log = str(Path(folder) / "log")
        recorded = ["record", *RECORDED, "-o", log]
        subprocess.run([sys.executable, "-c", _call(recorded)], check=True, capture_output=True)
        work = {
            **{f"import {name}": f"import {name}" for name in IMPORTS},
            **{
                f"thinktime {line}": _call([log if word == "LOG" else word for word in line.split()])
                for line in COMMANDS
            },
            **{f"completion of '{line}'": _completion(line) for line in COMPLETED},
        }
        commands = [[sys.executable, "-c", code] for code in ("pass", *work.values())]
        python_s, *ours = least_in_turn(ROUNDS, *(partial(cpu_seconds, command) for command in commands))
    return [
        {
            "work": name if len(name) <= 58 else f"{name[:55]}...",
            "unit": "s CPU",
            "ours": seconds,
            "reference": python_s,
            "reference_name": "python -c pass",
            "ratio": python_s / seconds,
        }
        for name, seconds in zip(work, ours, strict=True)
    ]


def _call(arguments: list[str]) -> str:
    """Code that calls the program as a shell does."""
    return (
        f"import sys; sys.argv[:] = {['thinktime', *arguments]}; from thinktime.__main__ import main; main()"
    )


def _completion(line: str) -> str:
    """Code that asks as fish does what may follow."""
    asked = {
        "_THINKTIME_COMPLETE": "complete_fish",
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    return f"import os; os.environ.update({asked}); {_call([])}"
