"""Whether the kernel under the tests lets them trace: not all do, whatever is installed."""

import functools
import json
import subprocess
from pathlib import Path

STATIC = Path(__file__).parents[2] / "target" / "static" / "thinktime-recorder"


@functools.cache
def untraceable():
    """Why `record --trace` and the iterator are not permitted here, as the doctor says; empty if they are."""
    command = [STATIC, "doctor", "--format", "json"]
    examined = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    (trace,) = (ability for ability in examined["abilities"] if "--trace" in ability["item"])
    return "" if trace["state"] == "measured" else trace["evidence"]
