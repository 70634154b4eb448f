"""Ctrl-C as one KeyboardInterrupt: polars raises one of its own, and leaves the signal to Python as well."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _Interrupt(KeyboardInterrupt):
    """The one that is raised here, once for a signal."""


@contextmanager
def one_for_each_signal() -> Iterator[None]:
    """Context in which whoever handles KeyboardInterrupt is not interrupted again by the same Ctrl-C.

    A signal that polars (2.1) has raised in one of its calls reaches Python afterwards, in the first lines
    that handle the exception. A second Ctrl-C interrupts these, as the user wants.
    """
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_default or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, unless one is being handled that this signal has caused."""
    del number, frame
    handled = sys.exc_info()[1]
    while handled is not None:
        if isinstance(handled, KeyboardInterrupt) and not isinstance(handled, _Interrupt):
            if not hasattr(handled, "is_answered"):
                handled.is_answered = True  # type: ignore[attr-defined]
                return
            break
        handled = handled.__context__
    raise _Interrupt
