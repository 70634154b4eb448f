r"""Lines that commands print: the only place in which text reaches the terminal.

Whatever a line contains (a path, a key of a manifest, a name from a log), it stays one line and shows its
control characters as ``\x1b``. Answers come complete from a renderer, which escapes them itself.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from thinktime.errors import WorkError
from thinktime.escape import escaped
from thinktime.notation import plain


class _Volume:
    """How much is written on standard error besides errors."""

    quiet = False
    verbose = False


def set_volume(*, quiet: bool, verbose: bool) -> None:
    """Suppress notes and progress, or show details too; answers and errors are always printed."""
    _Volume.quiet, _Volume.verbose = quiet, verbose


def is_quiet() -> bool:
    """True if notes and progress are suppressed."""
    return _Volume.quiet


def is_verbose() -> bool:
    """True if details are shown."""
    return _Volume.verbose


@contextlib.contextmanager
def _written() -> Iterator[None]:
    """A failed write to standard output as a failure of the work; that a pipe was closed is none."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise WorkError(
            f"standard output: cannot be written: {error.strerror or error}; what was printed is incomplete"
        ) from None


def flush() -> None:
    """Hand over everything printed so far, so that a failure becomes an error rather than a lost line."""
    with _written():
        sys.stdout.flush()


def line(text: str) -> None:
    """Print one line of an answer."""
    with _written():
        print(plain(escaped(text)), flush=True)


def lines(texts: Iterable[str]) -> None:
    """Print several lines of an answer."""
    for text in texts:
        line(text)


def note(text: str) -> None:
    """Print one line about the work on standard error, unless it is to be quiet."""
    if not _Volume.quiet:
        failure(text)


def detail(text: str) -> None:
    """Print one line about the work on standard error if details are asked for."""
    if _Volume.verbose:
        failure(f"thinktime: {text}")


def failure(text: str) -> None:
    """Print one line on standard error, always: of a failure, a loss, or a log that was changed.

    On a terminal, a line that is too long is broken between words.
    """
    shown = plain(escaped(text))
    if sys.stderr.isatty():
        import shutil
        import textwrap

        columns = shutil.get_terminal_size().columns
        shown = textwrap.fill(
            shown, columns, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
        )
    print(shown, file=sys.stderr, flush=True)


def rendered(text: str) -> None:
    """Print an answer that a renderer made, as it is."""
    with _written():
        sys.stdout.write(text)


def as_json(kind: str, content: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
    """Print an answer as JSON: an object with the members of `content`, or with a list as its records."""
    from thinktime.documents.render.json import answer, records

    rendered(answer(kind, content) if isinstance(content, Mapping) else records(kind, content))


def status(text: str) -> None:
    """Write `text` over the previous status, on standard error; the terminal must be one."""
    if _Volume.quiet:
        return
    # A closed terminal is no reason to stop the work. The sequence at the end erases the rest of the line.
    with contextlib.suppress(OSError):
        print(f"\r{plain(escaped(text))}\x1b[K", end="", file=sys.stderr, flush=True)
