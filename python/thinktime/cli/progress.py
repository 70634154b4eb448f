"""Progress of long work: a line on the terminal, nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from thinktime.cli import messages
from thinktime.escape import escaped

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from thinktime.sources.terminals import Interruption, Progress


def _bar(*, refreshes_itself: bool = True, tells_times: bool = True) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    # Names of files are no markup.
    words = TextColumn("{task.description}", markup=False)
    times = (TimeElapsedColumn(), TimeRemainingColumn()) if tells_times else ()
    return Progress(
        words,
        BarColumn(30),
        *times,
        console=Console(stderr=True),
        transient=True,
        auto_refresh=refreshes_itself,
    )


def _is_shown() -> bool:
    return sys.stderr.isatty() and not messages.is_quiet()


@contextmanager
def counted(stage: str, total: float | None = None) -> Iterator[Callable[..., None] | None]:
    """Callback ``(done, total=None, stage=None)`` that moves a bar; None where there is no terminal.

    Parameters
    ----------
    stage : str
        Work in progress, shown before the bar.
    total : float, optional
        Amount of work, if it is known in advance.
    """
    if not _is_shown():
        yield None
        return
    with _bar() as bar:
        task = bar.add_task(escaped(stage), total=total)

        def show(done: float, total: float | None = None, stage: str | None = None) -> None:
            words = None if stage is None else escaped(stage)
            bar.update(task, completed=done, total=total, description=words)

        yield show


class StageProgress:
    """Progress of one stage of a play; calling it returns True to continue.

    Parameters
    ----------
    stage : str
        Work in progress, shown first on the line.
    interruption : Interruption
        True once the user has asked to stop.
    before_s, total_s : float
        Time that is over and that of the whole work [s], where the stage is a part of it: the line then
        shows how much is left of all.
    """

    def __init__(
        self, stage: str, interruption: Interruption, *, before_s: float = 0.0, total_s: float | None = None
    ) -> None:
        self._stage = stage
        self._interruption = interruption
        self._before_s, self._total_s = before_s, total_s
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> StageProgress:
        if _is_shown():
            # The play refreshes the line itself: a refreshing thread would be one more load on the machine.
            # How long the rest of a plan takes is known: it need not follow from the speed so far.
            self._bar = _bar(refreshes_itself=False, tells_times=self._total_s is None)
            self._task = self._bar.add_task(self._stage, total=self._total_s)
            self._bar.update(self._task, completed=self._before_s)
            self._bar.start()
            self._bar.refresh()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: Progress) -> bool:
        """True to continue, False if the user has asked to stop; shows `progress`."""
        if self._bar is not None and self._task is not None:
            self._bar.update(
                self._task,
                description=self._line(progress),
                completed=self._before_s + progress.elapsed_s,
                total=self._total_s or progress.end_s or None,
            )
            self._bar.refresh()
        return not self._interruption.requested

    def _line(self, progress: Progress) -> str:
        stage = self._stage
        if self._total_s is not None:
            stage = f"{stage}, {_clock(self._total_s - self._before_s - progress.elapsed_s)} left"
        if progress.users == 0:
            return stage
        response = "-" if progress.response_s is None else f"{1000 * progress.response_s:.1f} ms"
        users = "1 user" if progress.users == 1 else f"{progress.users} users"
        done = "" if self._total_s is not None else f"{progress.completed} interactions, "
        return f"{stage}: {users}, {done}mean response {response}"


def _clock(seconds: float) -> str:
    """Time that is left, in whole seconds: 42 s, 12 min 5 s."""
    minutes, rest = divmod(round(max(seconds, 0.0)), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
