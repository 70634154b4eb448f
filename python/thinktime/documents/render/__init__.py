"""Output formats of a document: text, JSON, CSV and HTML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from thinktime.documents.document import Document, Section

__all__ = ["Form", "render", "render_section"]

Form = Literal["html", "text", "json", "csv"]


def render(document: Document, form: Form) -> str:
    """Document in one of the formats."""
    from thinktime.documents.render import csv, html, json, text

    renderers = {"html": html.render, "text": text.render, "json": json.render, "csv": csv.render}
    return renderers[form](document)


def render_section(section: Section, form: Literal["text", "json", "csv"]) -> str:
    """Section in one of the formats, with a final line break; only documents become pages."""
    from thinktime.documents.render import csv, json, text

    renderers = {"text": text.render_section, "json": json.render_section, "csv": csv.render_section}
    rendered = renderers[form](section)
    return rendered if rendered.endswith("\n") else rendered + "\n"
