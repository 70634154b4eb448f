"""`thinktime analyse capacity`: what the processors' time went to, of one log or of several side by side."""

from __future__ import annotations

from thinktime.cli.analyse.answering import Form, LogsArgument, names, opened, show

__all__ = ["command"]


def command(logs: LogsArgument, form: Form = "text") -> None:
    """Tell where the CPU capacity went.

    Share of the capacity = overhead per event / mean time between events (Sekino 1971), from meters of the
    events where the source has them, else with the costs of the overhead regression. Several logs stand
    side by side, with the differences to the first.

    Examples:

      thinktime analyse capacity run

      thinktime analyse capacity 1cpu-256k 1cpu-384k 2cpu-384k

      thinktime analyse capacity run --format json | jq '.tables[0].rows'
    """
    from thinktime.analyses.capacity import analysis as capacity
    from thinktime.analyses.capacity import comparison as capacity_comparison
    from thinktime.analyses.capacity import comparison_section as several
    from thinktime.analyses.capacity import section as one

    found = opened(logs)
    if len(found) == 1:
        show(one.section(capacity.analyse(found[0])), form)
    else:
        show(several.section(capacity_comparison.compare(found, names(logs))), form)
