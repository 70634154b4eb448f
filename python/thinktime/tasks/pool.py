"""Pools of this machine, and what every pool does: run tasks, keep results, stop in order."""

from __future__ import annotations

import multiprocessing
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import suppress
from itertools import islice
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from thinktime.errors import WorkError

_T = TypeVar("_T")
_R = TypeVar("_R")

LOOK_S = 0.1
"""Interval at which Ctrl-C is checked and progress is shown [s]."""
AHEAD = 2
"""Tasks given out for each that can run: the next one is there when one ends. More would only fill memory."""


class PoolError(WorkError):
    """What does the work has failed, and nothing is wrong with the work: done again, it goes on."""


class LostError(Exception):
    """The tasks given out are lost, and nothing of what they did: they are to be given out again."""


def nothing(*_: object) -> None:
    """Callback of whoever is not interested."""


class Pool(ABC):
    """What runs tasks; a context manager, at whose end nothing of it is left."""

    is_here: ClassVar[bool] = True
    """True if tasks run on this machine, so that they may read and write its files."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """Tasks that can run at one time, 1 or more."""

    @abstractmethod
    def open(self) -> None:
        """Start now what the first task would start: its errors come before anything is changed."""

    def run(
        self,
        work: Callable[[_T], _R],
        items: Iterable[_T],
        *,
        kept: Callable[[_T, _R], object] = nothing,
        look: Callable[[], object] = nothing,
        stop: Callable[[], object] = nothing,
    ) -> None:
        """Do `work` for each item, several at a time, and have each result kept as soon as it is there.

        If a task fails or the user interrupts, no further ones begin, and those that have ended are kept
        before the error goes on.

        Parameters
        ----------
        work : callable
            Its result depends on the item alone. With a `Pool` of several processes, a function of a module.
        items : iterable
            Read as tasks are given out, so that they need not all exist at one time.
        kept : callable
            Called in this thread with each item and its result, in the order in which they end. If it is
            interrupted, it is called again with the same ones.
        look : callable
            Called every `LOOK_S`; its exceptions end the run.
        stop : callable
            Called before waiting for tasks under way when the run ends early: they are to end soon.
        """
        rest = iter(items)
        next_ones: deque[_T] = deque()
        given: dict[Future[Any], _T] = {}
        try:
            while True:
                room = AHEAD * self.slots - len(given) - len(next_ones)
                next_ones.extend(islice(rest, max(0, room)))
                try:
                    while next_ones:
                        future = self._submit(work, next_ones[0])
                        given[future] = next_ones.popleft()
                    if not given:
                        return
                    done, _ = wait(given, LOOK_S, return_when=FIRST_COMPLETED)
                    for future in done:
                        kept(given[future], self._result(future))
                        del given[future]
                    self._check()
                except LostError:
                    self._recover(look)
                    next_ones.extendleft(given.values())
                    given.clear()
                look()
        except BaseException:
            stop()
            self._end(given)
            for future, item in given.items():
                if self._has_result(future):
                    with suppress(LostError):
                        kept(item, self._result(future))
            raise

    @abstractmethod
    def _submit(self, work: Callable[[_T], _R], item: _T) -> Future[Any]:
        """Give out a task."""

    def _result(self, future: Future[Any]) -> Any:
        """Result of a task that has ended; raises what it raised, or `LostError`."""
        return future.result()

    def _has_result(self, future: Future[Any]) -> bool:
        """True if the task has a result."""
        return future.done() and not future.cancelled() and future.exception() is None

    @abstractmethod
    def _check(self) -> None:
        """Raise `LostError` if tasks given out will not end."""

    @abstractmethod
    def _recover(self, look: Callable[[], object]) -> None:
        """After `LostError`: make the pool usable again."""

    @abstractmethod
    def _end(self, given: Iterable[Future[Any]]) -> None:
        """Withdraw tasks that have not begun; here, wait for the others."""

    @abstractmethod
    def close(self) -> None:
        """End everything that the pool has started."""

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Local(Pool):
    """Executor of the standard library, started with the first task."""

    def __init__(self, slots: int | None = None) -> None:
        self._slots = slots or os.cpu_count() or 1
        self._executor: Executor | None = None

    @property
    def slots(self) -> int:
        return self._slots

    @abstractmethod
    def _start(self) -> Executor:
        """Executor without tasks."""

    def open(self) -> None:
        """Nothing: threads and processes begin with the first task."""

    def _submit(self, work: Callable[[_T], _R], item: _T) -> Future[Any]:
        if self._executor is None:
            self._executor = self._start()
        return self._executor.submit(work, item)

    def _check(self) -> None:
        """Nothing: no task is lost."""

    def _recover(self, look: Callable[[], object]) -> None:
        """Never needed."""
        raise NotImplementedError(look)

    def _end(self, given: Iterable[Future[Any]]) -> None:
        for future in given:
            future.cancel()
        self.close()

    def close(self) -> None:
        """Wait for tasks under way, and end threads or processes."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None


class Threads(_Local):
    """Threads of this process, by default one per core: for work that leaves the interpreter."""

    def _start(self) -> Executor:
        return ThreadPoolExecutor(self.slots)


class Processes(_Local):
    """Processes of this machine, by default one per core: for work in Python."""

    def _start(self) -> Executor:
        # Started afresh: a fork would copy locks that threads of libraries hold.
        return ProcessPoolExecutor(self.slots, mp_context=multiprocessing.get_context("spawn"))
