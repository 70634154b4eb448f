"""Problems of an import, counted and bounded."""

from __future__ import annotations

from collections.abc import Iterator

DETAILS_MAX = 20
"""Different details kept per kind, so that a file of noise cannot fill the manifest."""


class Problems:
    """Incidents of one import, aggregated by kind and detail as in the manifest of the log.

    Kinds in use: ``damaged_record`` (a line or a JSON object that cannot be read; its values are
    null), ``truncated`` (the file ends early), ``reboot``, ``suspend``, ``clock_step``,
    ``counter_wrap``, ``counter_reset``, ``interval_dropped``, ``rounded_input``, ``coarse_clock``,
    ``date_unknown``, ``date_ambiguous``, ``timezone_unknown``, ``time_from_file``, ``unit_unknown``,
    ``unread_activity``, ``unread_series``, ``unread_value``, ``duplicate_series``, ``duplicate_record``,
    ``login_missing``, ``logout_missing``, ``open_session``, ``unread_journal``, ``trace_events_lost``,
    ``unordered_events``, ``wake_up_unseen``,
    ``partial_cpus``, ``first_thread_only``.
    """

    def __init__(self) -> None:
        self._counts: dict[str, dict[str, int]] = {}

    def add(self, kind: str, detail: str, count: int = 1) -> None:
        """Count a problem, or several of one kind and detail."""
        details = self._counts.setdefault(kind, {})
        if detail not in details and len(details) >= DETAILS_MAX:
            detail = f"others of this kind, after the first {DETAILS_MAX}"
        details[detail] = details.get(detail, 0) + count

    def once(self, kind: str, detail: str) -> None:
        """Count a problem that is one of the whole file, however often it shows."""
        if detail not in self._counts.get(kind, {}):
            self.add(kind, detail)

    def __iter__(self) -> Iterator[tuple[str, str, int]]:
        for kind, details in self._counts.items():
            for detail, count in details.items():
                yield kind, detail, count

    def first(self, kind: str) -> str | None:
        """Detail of the first problem of this kind."""
        return next(iter(self._counts.get(kind, ())), None)

    def count(self, kind: str) -> int:
        """Number of problems of this kind."""
        return sum(self._counts.get(kind, {}).values())
