"""The logs below a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

DEPTH = 3
"""Levels of folders that are searched: logs of an experiment lie in its folder."""


def logs_below(folder: Path) -> Iterator[Path]:
    """Folders with a manifest, `folder` itself included, in the order of names; no log contains another.

    Parameters
    ----------
    folder : Path
        It and three levels below it are searched, but for hidden folders.
    """
    for root, folders, files in os.walk(folder):
        here = Path(root)
        if "manifest.json" in files:
            folders.clear()
            yield here
            continue
        is_deepest = len(here.relative_to(folder).parts) >= DEPTH
        folders[:] = [] if is_deepest else sorted(name for name in folders if not name.startswith("."))
