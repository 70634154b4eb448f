"""Traffic and utilisation of the disks, and who waits for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from thinktime.questions.definition import Question, option, seconds

if TYPE_CHECKING:
    from thinktime.analyses.disks.result import Disks
    from thinktime.documents.document import Section
    from thinktime.log import Log
    from thinktime.stats.estimate import NotApplicable


def _topic(text: str, flag: str) -> str:
    """Name of a topic of the section."""
    from thinktime.analyses.disks.section import TOPICS
    from thinktime.errors import InputError

    if text not in TOPICS:
        raise InputError(f"{flag} {text}: is not a topic; the topics are {', '.join(TOPICS)}")
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class DisksOptions:
    """Options of the question about disks."""

    show: tuple[str, ...] = option(
        (),
        "--show",
        "Show this topic only: cache, queue, drives, busy, cpu, matrix, terminal, swaps or periods. "
        "Repeatable.",
        metavar="TOPIC",
        repeated=True,
        parse=_topic,
    )
    session: int | None = option(
        None,
        "--session",
        "Use only this session (replication) of the log, counted from 0; by default all are pooled.",
        metavar="N",
    )
    start_s: float | None = option(
        None, "--from", "Start this long after the start of the session.", metavar="TIME", parse=seconds
    )
    end_s: float | None = option(
        None, "--to", "End this long after the start of the session.", metavar="TIME", parse=seconds
    )
    every_s: float | None = option(
        None, "--every", "Length of a period of the running report.", metavar="TIME", parse=seconds
    )


class DisksQuestion(Question):
    """What do the disks do, and who waits for them?"""

    name = "disks"
    summary = "Show disk activity, and who waits for the disks."
    examples = ("run --show queue --show matrix --from 30s", "run --show periods --every 10s")
    options = DisksOptions

    def analyse(self, log: Log, options: DisksOptions) -> Disks | NotApplicable:
        """Result for one log."""
        from thinktime.analyses.disks.analysis import analyse

        return analyse(
            log,
            session=options.session,
            start_s=options.start_s or 0.0,
            end_s=options.end_s,
            every_s=options.every_s,
        )

    def section(self, result: Disks | NotApplicable, options: DisksOptions) -> Section:
        """Section of the result."""
        from thinktime.analyses.disks.section import section

        return section(result, options.show)
