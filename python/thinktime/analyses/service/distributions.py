"""Fitted distributions in TOML, as a simulation takes them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from thinktime.documents import format as shown

if TYPE_CHECKING:
    from thinktime.analyses.service.fit import ServiceFit
    from thinktime.stats.distributions.fitting import Fits

__all__ = ["toml"]


def toml(result: ServiceFit, source: str) -> str:
    """Write the chosen distribution of all interactions and of each class.

    Each is a table with ``kind`` and parameters in seconds: ``service`` for all interactions,
    ``classes.NAME.service`` beside ``classes.NAME.share`` for each class.

    Parameters
    ----------
    result : ServiceFit
    source : str
        Where the service times come from, for the comment.
    """
    lines = [f"# Service times of {_comment(source)}; times in seconds.", *_table("service", result.overall)]
    for item in result.classes:
        key = f"classes.{_quoted(item.name)}"
        lines += ["", f"[{key}]", f"share = {_value(item.share)}", *_table(f"{key}.service", item.fits)]
    return "\n".join(lines) + "\n"


def _table(key: str, fits: Fits) -> Iterator[str]:
    yield ""
    yield (
        f"# {fits.n} service times, mean {fits.mean:.6g}, coefficient of variation "
        f"{fits.coefficient_of_variation:.4g}."
    )
    if fits.fits and not fits.adequate():
        best = fits.fits[0]
        yield f"# Best family {best.spec['kind']}, but rejected (p {best.ad_p:.2g}): here is the sample."
    yield f"[{key}]"
    yield from (f"{_quoted(name)} = {_value(value)}" for name, value in fits.chosen.items())


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_value(item) for item in value)}]"
    # JSON writes strings and finite floats as TOML reads them, and a float with all its digits.
    return json.dumps(value)


def _quoted(name: str) -> str:
    bare = bool(name) and all(letter.isascii() and (letter.isalnum() or letter in "-_") for letter in name)
    return name if bare else json.dumps(name)


def _comment(text: str) -> str:
    return shown.plain(text)
