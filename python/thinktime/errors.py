"""The two ways in which thinktime says no, and the names that it offers instead."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["InputError", "InterruptedWorkError", "WorkError", "nearest", "offered"]

NAMES_MAX = 24
"""Most names that a message lists."""
SAME = 0.85
"""Similarity from which on a name is a slip of the keyboard, whatever else it may mean."""
SYNONYMS: dict[str, tuple[str, ...]] = {
    "cpus": ("cores", "core", "cpu-count", "ncpu", "nproc", "processors", "processor", "vcpus", "vcpu"),
    "memory": ("ram", "mem", "main-memory", "core-memory"),
    "swap-speed": ("swap", "swap-bandwidth"),
    "cpu-speed": ("clock", "clock-speed", "ghz", "mhz"),
    "disk-speed": ("disk", "disks", "io-speed", "storage", "ssd"),
    "think": ("thinking", "think-time", "pause"),
    "scheduler": ("scheduling", "discipline"),
    "users": ("people", "clients", "sessions", "seats"),
}
"""What people type for a name, by the name: the spelling says nothing there, or leads to another name."""


class InputError(ValueError):
    """What was given cannot be used. The message names file, place, item and remedy; exit status 2."""


class WorkError(RuntimeError):
    """What was asked for is right, but the work failed. The message says what and why; exit status 1."""


class InterruptedWorkError(WorkError):
    """The user ended the work. The message says what is kept and how to go on; exit status 130 or 143."""

    def __init__(self, message: str, status: int = 130) -> None:
        super().__init__(message)
        self.status = status
        """Exit status: 128 and the number of the signal, as shells have it."""


def nearest(given: str, known: Iterable[str]) -> str | None:
    """Known name that `given` was probably meant to be; None if no name is similar.

    Examples
    --------
    >>> nearest("activ-users", ["busy_s", "active_users"])
    'active_users'
    >>> nearest("cores", ["rest", "cpus"])
    'cpus'
    """
    import difflib

    by_shape = {_shape(name): name for name in reversed(list(known))}
    shape = _shape(given)
    meant = [name for name, words in SYNONYMS.items() if shape in words and name in by_shape]
    found = difflib.get_close_matches(shape, by_shape, n=1, cutoff=SAME) or meant
    found = found or difflib.get_close_matches(shape, by_shape, n=1)
    beginning = [name for key, name in by_shape.items() if len(shape) >= 3 and key.startswith(shape)]
    return by_shape[found[0]] if found else beginning[-1] if beginning else None


def offered(given: str, known: Iterable[str]) -> str:
    """End of a message about an unknown name: the nearest name, and those that there are.

    Examples
    --------
    >>> offered("overheads", ["rates", "overhead"])
    'did you mean overhead? there are: rates, overhead'
    """
    names = list(known)
    found = nearest(given, names)
    hint = f"did you mean {found}? " if found else ""
    more = f", ... ({len(names)} in all)" if len(names) > NAMES_MAX else ""
    return f"{hint}there are: {', '.join(names[:NAMES_MAX])}{more}"


def _shape(name: str) -> str:
    """Name as far as similarity counts: neither case nor the kind of joint matters."""
    return name.casefold().replace("_", "-").replace(" ", "-")
