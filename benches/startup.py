"""How long the command line and the package take to start, beside Python itself."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from programs import cpu_seconds, least_in_turn

ROUNDS = 11
WORK = {
    "import thinktime": "import thinktime",
    "import thinktime.log": "import thinktime.log",
    "thinktime --help": "import sys; sys.argv[1:] = ['--help']; from thinktime.cli import main; main()",
}


def run() -> list[dict[str, Any]]:
    """CPU seconds of a new process; the reference is a Python that does nothing."""
    commands = [[sys.executable, "-c", text] for text in ("pass", *WORK.values())]
    python_s, *ours = least_in_turn(ROUNDS, *(partial(cpu_seconds, command) for command in commands))
    return [
        {
            "work": work,
            "unit": "s CPU",
            "ours": seconds,
            "reference": python_s,
            "reference_name": "python -c pass",
            "ratio": python_s / seconds,
        }
        for work, seconds in zip(WORK, ours, strict=True)
    ]
