"""Writing a log: a sample's block into the journal, beside a C program that writes the same bytes."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from programs import build_c, build_example

SAMPLES = 4000
"""Fewer than fill a journal, so that none is sealed before it is measured."""
ROUNDS = 7


def run() -> list[dict[str, Any]]:
    """CPU time of a sample of all columns, least of several rounds taken in turn."""
    ours, reference = build_example("thinktime-log", "append_rate"), build_c("log_append")
    figures, references = [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            log = str(Path(folder) / "log")
            figures.append(json.loads(subprocess.check_output([ours, log, str(SAMPLES)])))
            size = str(round(figures[-1]["block_bytes"]))
            plain = [reference, str(Path(folder) / "plain"), str(SAMPLES), size]
            references.append(float(subprocess.check_output(plain)))
    append_us, seal_us = (
        1e6 * min(one[name] for one in figures) / SAMPLES for name in ("append_s", "seal_s")
    )
    write_us = 1e6 * min(references) / SAMPLES
    name = f"C: write(2) of the same {size} bytes"
    return [
        {
            "work": work,
            "unit": "us CPU/sample",
            "ours": us,
            "reference": write_us,
            "reference_name": name,
            "ratio": write_us / us,
        }
        for work, us in (("append a sample to the journal", append_us), ("seal it into Parquet", seal_us))
    ]
