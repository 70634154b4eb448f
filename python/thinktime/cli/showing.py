"""A line on the terminal that shows how far a play is, and nothing in a pipe."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from thinktime.sources.terminals import Interruption, Progress

__all__ = ["Showing"]


class Showing:
    """Shows the progress of one stage; called with it, says whether to go on.

    Parameters
    ----------
    stage : str
        What is being done, for the line's beginning.
    interruption : Interruption
        Whether the user wants an end.
    """

    def __init__(self, stage: str, interruption: Interruption) -> None:
        self._stage = stage
        self._interruption = interruption
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Showing:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(20), TimeRemainingColumn())
            # The play itself refreshes the line: no thread of rich's beside it.
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
            self._task = self._bar.add_task(self._stage, total=None)
            self._bar.start()
            self._bar.refresh()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: Progress) -> bool:
        """Show `progress`; False when an end is wanted."""
        if self._bar is not None and self._task is not None:
            total = progress.end_s or None
            self._bar.update(
                self._task, description=self._line(progress), completed=progress.elapsed_s, total=total
            )
            self._bar.refresh()
        return not self._interruption.requested

    def _line(self, progress: Progress) -> str:
        if progress.users == 0:
            return self._stage
        response = "-" if progress.response_s is None else f"{1000 * progress.response_s:.1f} ms"
        users = "1 user" if progress.users == 1 else f"{progress.users} users"
        return f"{self._stage}: {users}, {progress.completed} interactions, mean response {response}"
