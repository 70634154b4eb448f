"""Ship the runs of a swapping experiment: `python scripts/swapping_linux.py DIR`.

DIR is the folder of `thinktime lab swap`; `thinktime study swapping-linux` then shows its runs.
"""

from __future__ import annotations

import sys
from pathlib import Path

from thinktime.studies.swapping_linux.data import SHIPPED, Measured

if __name__ == "__main__":
    Measured.of_logs(Path(sys.argv[1])).write(SHIPPED)
    print(SHIPPED)
