"""Documents with every text escaped: the first step of each renderer for people."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

from thinktime.escape import escaped
from thinktime.stats.estimate import Caveat

Item = TypeVar("Item")


def escaped_document(item: Item) -> Item:
    """`item` (a document, a section, or any part of one) with every text in it escaped.

    Charts are escaped when they are made. Keys of their specifications are ours, and stay.
    """
    changed: Item = _escaped(item)
    return changed


def _escaped(item: Any) -> Any:
    if isinstance(item, str):
        return escaped(item)
    if item is None or isinstance(item, (float, int)):
        # Most of what a chart holds.
        return item
    if isinstance(item, (tuple, list)):
        return type(item)(map(_escaped, item))
    if isinstance(item, dict):
        return {key: _escaped(value) for key, value in item.items()}
    if isinstance(item, Caveat):
        # Its words were made with the section; its values are keyword arguments, and no fields.
        return item
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        changes = {
            field.name: new
            for field in dataclasses.fields(item)
            if (new := _escaped(old := getattr(item, field.name))) is not old
        }
        return dataclasses.replace(item, **changes) if changes else item
    if callable(item):
        return lambda: _escaped(item())
    return item
