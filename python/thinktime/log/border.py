"""The border between a log and what is computed from it: errors of reading, and what a log lacks.

A log may be damaged, or come from anybody. Whatever goes wrong while one is read becomes a `LogError` that
names the file, the place and the remedy, so that a user never meets an error of a library; and whatever is
computed from a log that is not the one that was written says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from thinktime.errors import InputError, WorkError
from thinktime.log.log import LogError, LogWarning

if TYPE_CHECKING:
    from thinktime.log import Defect, Log

BUGS = (AssertionError, AttributeError, ImportError, NameError, NotImplementedError, RecursionError)
"""Errors of a program, not of the values that it was given."""
NAMED_MAX = 3
"""Number of defects that a message names; `thinktime check` lists all."""


@contextmanager
def reading(*logs: Log) -> Iterator[None]:
    """Context in which errors of reading `logs`, and of computing from damaged ones, become `LogError`.

    Values that no recorder writes make computations fail in ways of their own: such an error becomes the
    defects of the log. An error that no value causes (`BUGS`) is a defect of thinktime whatever the log is
    like, as any error is on a log without defects: it stays as it is.

    Raises
    ------
    LogError
        A log cannot be read, or has the defects that the message names.
    """
    import numpy as np
    import polars.exceptions

    overflows: list[str] = []
    try:
        # A warning of NumPy names a line of thinktime, which helps no user: the defects of the log do.
        with np.errstate(over="call", invalid="ignore", call=lambda kind, _: overflows.append(kind)):
            yield
        words = _words(logs) if overflows else None
        if words is not None:
            raise LogError(words)
    except (InputError, WorkError):
        raise
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException, OSError) as error:
        raise LogError(_words(logs) or _unexplained(logs, error)) from error
    except BUGS:
        raise
    except Exception as error:
        words = _words(logs)
        if words is None:
            raise
        raise LogError(f"{words} (it failed with {_in_short(error)})") from error


def _words(logs: Sequence[Log]) -> str | None:
    """The first defects of the logs, in words; None if there are none."""
    for log in logs:
        errors = [defect for defect in log.check() if defect.severity == "error"]
        if errors:
            named = "; ".join(described(defect) for defect in errors[:NAMED_MAX])
            rest = f"; and {len(errors) - NAMED_MAX} more" if len(errors) > NAMED_MAX else ""
            return (
                f"{log.path}: this cannot be computed, since the log has defects: {named}{rest}; "
                f"`thinktime check {log.path}` lists them with remedies"
            )
    return None


def _in_short(error: BaseException) -> str:
    """Kind and first line of an error: whoever reports it has what a developer needs first."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _unexplained(logs: Sequence[Log], error: BaseException) -> str:
    first, *_ = str(error).strip().splitlines() or [type(error).__name__]
    paths = ", ".join(str(log.path) for log in logs)
    return (
        f"{paths}: cannot be read: {first}; `thinktime check` finds no defect: read the log again if a "
        "writer was changing it, and report this otherwise"
    )


def described(defect: Defect) -> str:
    """Defect with its file and place, without the remedy."""
    place = " ".join(text for text in (defect.file, defect.place, defect.item) if text)
    return f"{place}: {defect.message}"


def changes(logs: Sequence[Log]) -> tuple[str, ...]:
    """Sentences on where the logs are not those that were written; empty for sound logs.

    The bytes of every part are read and compared with the ledger (`Log.integrity`). A log of an older format,
    which has no ledger, gets no sentence.
    """
    sentences: list[str] = []
    for log in logs:
        errors = [defect for defect in log.integrity() if defect.severity == "error"]
        sentences.extend(
            "The log is not the one that was written, and the numbers here may be wrong: "
            f"{described(defect)}. To do: {defect.remedy}."
            for defect in errors[:NAMED_MAX]
        )
        if len(errors) > NAMED_MAX:
            sentences.append(
                f"{log.path} has {len(errors) - NAMED_MAX} more such defects: `thinktime check {log.path}` "
                "lists them."
            )
    return tuple(sentences)


def warn_of_changes(logs: Sequence[Log]) -> None:
    """Issue the sentences of `changes` as `LogWarning`, at the place that called the caller."""
    for sentence in changes(logs):
        warnings.warn(sentence, LogWarning, stacklevel=3)
