"""Write what the tutorial's commands print on this machine into docs/tutorial/printed.

    python scripts/printed.py --duration 5m

Work on the machine meanwhile: the log of an idle one shows only that it was idle.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import shlex
import tempfile
from pathlib import Path

from thinktime.cli import run

FOLDER = Path(__file__).parents[1] / "docs" / "tutorial" / "printed"


def printed(command: str) -> str:
    """Output of a command of thinktime."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = run(shlex.split(command))
    if status:
        raise SystemExit(f"{command}: status {status}")
    return output.getvalue()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration", default="5m", help="length of the recording")
    chosen = parser.parse_args()
    os.environ["COLUMNS"] = "90"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        texts = {
            "record": printed(f"record -o run --duration {chosen.duration}"),
            "report": printed("report run --short"),
        }
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")
