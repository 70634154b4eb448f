"""Output formats of a document: text, JSON, CSV and HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from thinktime.documents.document import Document, Section

__all__ = ["WIDTH", "Form", "render", "render_section"]

Form = Literal["html", "text", "json", "csv"]
"""Format of a document."""
WIDTH = 100
"""Columns of text whose reader's width is not known."""


def render(document: Document, form: Form, width: int = WIDTH) -> str:
    """Document in one of the formats; text has lines of at most `width` columns where words can be broken."""
    from thinktime.documents.render import csv, html, json, text

    if form == "text":
        return text.render(document, width)
    renderers = {"html": html.render, "json": json.render, "csv": csv.render}
    return renderers[form](document)


def render_section(section: Section, form: Literal["text", "json", "csv"], width: int = WIDTH) -> str:
    """Section in one of the formats, with a final line break; only documents become pages."""
    from thinktime.documents.render import csv, json, text

    if form == "text":
        rendered = text.render_section(section, width)
    else:
        rendered = (json if form == "json" else csv).render_section(section)
    return rendered if rendered.endswith("\n") else rendered + "\n"
