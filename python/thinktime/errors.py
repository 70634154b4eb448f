"""The two ways in which thinktime says no."""

from __future__ import annotations

__all__ = ["InputError", "WorkError"]


class InputError(ValueError):
    """What was given cannot be used. The message names file, place, item and remedy; exit status 2."""


class WorkError(RuntimeError):
    """What was asked for is right, but the work failed. The message says what and why; exit status 1."""
