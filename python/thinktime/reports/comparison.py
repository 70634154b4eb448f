"""A comparison as a page of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from thinktime.documents.document import Document, Finding

if TYPE_CHECKING:
    from thinktime.documents.document import Section
    from thinktime.log import Log

__all__ = ["document"]

FINDINGS_MAX = 3


def document(section: Section, logs: Sequence[Log]) -> Document:
    """Page of one comparison; what its first sentences say is what was found."""
    said = (section.not_applicable,) if section.not_applicable else section.summary[:FINDINGS_MAX]
    return Document(
        title=section.title,
        subtitle=" and ".join(str(log.path) for log in logs),
        findings=tuple(Finding(text, section=section.name) for text in said),
        sections=(section,),
        facts=tuple((f"Log {number}", str(log.path)) for number, log in enumerate(logs, start=1)),
        facts_title="What was compared?",
    )
